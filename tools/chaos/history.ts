/** Something that happened, in seconds since the run began. */
export interface Happening {
  readonly at: number;
  readonly what: string;
}

/** How many of an object's changes are told. */
const MOST_CHANGES = 6;

/** The changes of every object, and the faults between them, which show why an object was lost. */
export class History {
  private readonly startedAt = performance.now();
  private readonly changes = new Map<string, Happening[]>();
  private readonly faults: Happening[] = [];

  /** Seconds since the run began. */
  now(): number {
    return Math.round((performance.now() - this.startedAt) / 10) / 100;
  }

  changed(object: string, what: string): void {
    const known = this.changes.get(object) ?? [];
    known.push({ at: this.now(), what });
    this.changes.set(object, known);
  }

  fault(what: string): void {
    this.faults.push({ at: this.now(), what });
  }

  /** An object's changes, and the faults since the first of the last few of them, in their order. */
  of(object: string): Happening[] {
    const changes = (this.changes.get(object) ?? []).slice(-MOST_CHANGES);
    const since = changes[0]?.at ?? 0;
    return [...changes, ...this.faults.filter(({ at }) => at >= since)].sort((a, b) => a.at - b.at);
  }
}
