import { CHILDREN_CHANGED_BACK, Contests, CYCLE } from "../../../runtime/when/contests";
import { type ContestsOfObjects, Wakeups } from "../../../runtime/when/wakeups";
import type { Reason, WorkQueue } from "../../../runtime/when/workQueue";

/** A reason that is due at once and ends a backoff, unless it says otherwise. */
export function due(priority: Reason["priority"] = "change", afterMs = 0, endsBackoff = true): Reason {
  return { priority, afterMs, endsBackoff };
}

/** @param now a monotonic clock, in milliseconds */
export function newContests(now?: () => number): ContestsOfObjects {
  return { children: new Contests(CHILDREN_CHANGED_BACK, now), uses: new Contests(CYCLE, now) };
}

/** The wakeups of a leader whose objects are its own, all known, and there to stay. */
export function newWakeups(
  queue: WorkQueue,
  more: Partial<ConstructorParameters<typeof Wakeups>[0]> = {},
): Wakeups {
  return new Wakeups({
    queue,
    wake: () => {},
    objects: { has: () => true, isGoing: () => false },
    names: () => [],
    contests: newContests(more.now),
    isOurs: true,
    isLeading: () => true,
    requests: { has: () => false },
    ...more,
  });
}
