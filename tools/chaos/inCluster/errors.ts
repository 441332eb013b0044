/** The cluster already has something that the run would change and remove. */
export class OccupiedError extends Error {}

/** An option asks for something that does not exist. This is reported before anything is created. */
export class ChaosOptionError extends Error {
  /** @param option the option as in the help, "--faults <text>" */
  constructor(option: string, why: string, options?: ErrorOptions) {
    super(`error: option '${option}' is invalid: ${why}`, options);
  }
}

/** Pulumi has failed in every try. */
export class PulumiError extends Error {}
