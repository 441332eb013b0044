import { monotonicNow } from "../base/clock";

/** How long this process has worked, and how long it has had nothing to do, in milliseconds so far. */
export interface Load {
  readonly active: number;
  readonly idle: number;
}

/** The part of the time that routine work may take of a process that has nothing else to do. */
const SHARE = 0.5;
/** If the process always has something else to do, a piece of routine work still begins this often, in milliseconds. */
const LONGEST_WAIT_MS = 1_000;
/** How often it is asked again whether something else still waits, in milliseconds. */
const ASK_AGAIN_MS = 10;

/**
 * Says when the next piece of routine work may begin. It begins when nothing else waits, and when the process has rested since the
 * beginning of the piece before for as long as it has worked. So routine work is bounded by what it costs, whatever that is, and a change
 * that comes meanwhile finds the process at rest as often as not.
 *
 * Guarantees (tests/unit/resync.test.ts):
 * - Routine work takes at most half of the time, if a piece takes less than half a second.
 * - A piece begins at least once a second, however busy the process is.
 */
export class Pace {
  private begun = { active: 0, idle: 0, at: Number.NEGATIVE_INFINITY };

  /**
   * @param waiting how many objects wait for their turn
   * @param load @default that of the event loop
   * @param now a monotonic clock, in milliseconds
   */
  constructor(
    private readonly waiting: () => number,
    private readonly load: () => Load = () => performance.eventLoopUtilization(),
    private readonly now = monotonicNow,
  ) {}

  /** A piece begins. */
  begin(): void {
    const { active, idle } = this.load();
    this.begun = { active, idle, at: this.now() };
  }

  /** How long the next piece has to wait, in milliseconds, before this is asked again. 0: it may begin. */
  get waitMs(): number {
    const { active, idle } = this.load();
    const leftMs = LONGEST_WAIT_MS - (this.now() - this.begun.at);
    if (leftMs <= 0) return 0;
    const restMs = ((active - this.begun.active) * (1 - SHARE)) / SHARE - (idle - this.begun.idle);
    return Math.min(leftMs, Math.max(restMs, this.waiting() > 0 ? ASK_AGAIN_MS : 0));
  }
}
