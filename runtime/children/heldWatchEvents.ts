/** The writes of one object. */
interface WritesInProgress {
  /** How many there are: a child of a deleted object may be deleted while another object applies one of its name. */
  count: number;
  readonly events: (() => void)[];
}

/**
 * The events of a watch about objects that we are writing. An event may be the echo of our own write, so it waits until all our
 * writes of its object have been answered.
 */
export class HeldWatchEvents {
  private readonly writing = new Map<string, WritesInProgress>();

  /** Writes the object with that key. Events about it wait meanwhile. */
  async during<Result>(key: string, write: () => Promise<Result>): Promise<Result> {
    const writing = this.writing.get(key) ?? { count: 0, events: [] };
    this.writing.set(key, writing);
    writing.count++;
    try {
      return await write();
    } finally {
      if (--writing.count === 0) {
        this.writing.delete(key);
        for (const takeIn of writing.events) takeIn();
      }
    }
  }

  /** Takes in an event about the object with that key, now or when our writes of the object have been answered. */
  take(key: string, takeIn: () => void): void {
    const writing = this.writing.get(key);
    if (writing) writing.events.push(takeIn);
    else takeIn();
  }
}
