import { DueTimes } from "./dueTimes";
import type { KeyState } from "./workQueue";

/** The callback of {@link Alarms}, and their clock. */
export interface AlarmsOptions {
  /** Called once for each key whose time has come. */
  readonly onDue: (key: string) => void;
  /** The wall clock, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
}

/** How long a step of the clock can go unnoticed, in milliseconds. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * Keys with instants of the wall clock. A timer counts only the time that has passed for this process. After the machine slept or
 * the clock was set, a timer would be late or early by hours. So the alarms look at the clock every minute.
 */
export class Alarms {
  private readonly times = new DueTimes();
  private timer: NodeJS.Timeout | undefined;
  private readonly now: () => number;

  constructor(private readonly options: AlarmsOptions) {
    this.now = options.now ?? Date.now;
  }

  /** The key is due at this instant, and at no other. @param at in milliseconds since 1970. Undefined: never */
  set(key: string, at: number | undefined): void {
    if (this.times.of(key) === at) return;
    if (at === undefined) this.times.delete(key);
    else this.times.set(key, at);
    this.sleep();
  }

  /** When the key is due, in milliseconds from now. Undefined: never. */
  dueInMs(key: string): number | undefined {
    const at = this.times.of(key);
    return at === undefined ? undefined : Math.max(0, at - this.now());
  }

  /** The state of a key, as its queue gives it, with the key's alarm: an idle key whose alarm is set is delayed until then. */
  withAlarm(key: string, queued: KeyState): KeyState {
    const dueInMs = this.dueInMs(key);
    return queued.state === "idle" && dueInMs !== undefined
      ? { ...queued, state: "delayed", dueInMs }
      : queued;
  }

  /** Forgets everything. */
  clear(): void {
    this.times.clear();
    this.sleep();
  }

  private look(): void {
    const due: string[] = [];
    for (let { first } = this.times; first && first.at <= this.now(); first = this.times.first) {
      this.times.delete(first.key);
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
