import { DueTimes } from "./dueTimes";

/** What {@link Alarms} do, and by which clock. */
export interface AlarmsOptions {
  /** The time of a key has come. */
  readonly onDue: (key: string) => void;
  /** The clock on the wall, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
}

/** How long a step of the clock can go unnoticed, in milliseconds. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * Keys with instants of the clock on the wall. A timer counts only the time that has passed for this process: a machine that
 * slept, or a clock that was set, would make it late or early by hours. So the clock is looked at every minute.
 */
export class Alarms {
  private readonly times = new DueTimes();
  private readonly instants = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private readonly now: () => number;

  constructor(private readonly options: AlarmsOptions) {
    this.now = options.now ?? Date.now;
  }

  /** The key is due at this instant, and at no other. @param at in milliseconds since 1970. Undefined: never */
  set(key: string, at: number | undefined): void {
    if (this.instants.get(key) === at) return;
    if (at === undefined) {
      this.instants.delete(key);
      this.times.delete(key);
    } else {
      this.instants.set(key, at);
      this.times.set(key, at);
    }
    this.sleep();
  }

  /** When the key is due, in milliseconds from now. Undefined: never. */
  dueInMs(key: string): number | undefined {
    const at = this.instants.get(key);
    return at === undefined ? undefined : Math.max(0, at - this.now());
  }

  /** Forgets everything. */
  clear(): void {
    for (const key of this.instants.keys()) this.times.delete(key);
    this.instants.clear();
    this.sleep();
  }

  private look(): void {
    const due: string[] = [];
    for (let { first } = this.times; first && first.at <= this.now(); first = this.times.first) {
      this.times.delete(first.key);
      this.instants.delete(first.key);
      due.push(first.key);
    }
    this.sleep();
    for (const key of due) this.options.onDue(key);
  }

  private sleep(): void {
    clearTimeout(this.timer);
    const { first } = this.times;
    if (!first) return;
    const ms = Math.min(Math.max(0, first.at - this.now()), LONGEST_SLEEP_MS);
    this.timer = setTimeout(() => this.look(), ms);
  }
}
