/** Work on each key in turn: later work waits for earlier work. */
export class Turns {
  /** The last work on each key. */
  private readonly turns = new Map<string, Promise<unknown>>();

  /** Does the work when all earlier work on the key has ended, well or not. */
  take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.turns.get(key) ?? Promise.resolve();
    const turn = before.then(work);
    const settled = turn.catch(() => {});
    this.turns.set(key, settled);
    void settled.then(() => this.turns.get(key) === settled && this.turns.delete(key));
    return turn;
  }
}
