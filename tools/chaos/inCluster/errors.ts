/** The cluster has something already that the run would change and take away. */
export class OccupiedError extends Error {}

/** An option asks for something that is not there: told before anything is made. */
export class ChaosOptionError extends Error {
  /** @param option as the help has it, "--faults <text>" */
  constructor(option: string, why: string, options?: ErrorOptions) {
    super(`error: option '${option}' is invalid: ${why}`, options);
  }
}

/** Pulumi has failed, as often as it was tried. */
export class PulumiError extends Error {}
