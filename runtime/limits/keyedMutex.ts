/** Work on each key, one after another: later work waits for earlier work. */
export class KeyedMutex {
  /** The last work on each key. */
  private readonly last = new Map<string, Promise<unknown>>();

  /** Does the work when all earlier work on the key has ended, well or not. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const settled = result.catch(() => {});
    this.last.set(key, settled);
    void settled.then(() => this.last.get(key) === settled && this.last.delete(key));
    return result;
  }
}
