/** What is asked for is being listed, so it is not known yet which objects there are. */
export class StillListingError extends Error {
  constructor(what: string) {
    super(`${what} is being listed`);
    this.name = "StillListingError";
  }
}
