import { setTimeout as pause } from "node:timers/promises";
import type { Controller } from "../controller";
import type { HintResult } from "../metrics";
import type { Announcements } from "./announcements";
import type { Hint } from "./hint";
import { addressIn } from "./identity";

/** What a {@link HintDesk} works with. */
export interface HintDeskOptions {
  readonly controller: Pick<Controller, "isLeading" | "isBusy" | "leader" | "hint" | "knows">;
  readonly announcements: Pick<Announcements, "hinted">;
  /** Passes a hint on to the leader at this address. @returns whether it was taken */
  readonly forward: (hint: Hint, address: string) => Promise<boolean>;
}

/**
 * How long the answer to a hint that is no news waits while many objects do. The Sensor sends a trigger's hints one after
 * another, each when the one before is answered, and tells the event bus that it is still at it (argo-events,
 * pkg/eventbus/jetstream/sensor/trigger_conn.go, processMsg): so they stay on the bus, and their way costs nothing now.
 */
const BUSY_ANSWER_MS = 250;

/** Decides what becomes of a hint: the leader takes it, a standby passes it on, once. */
export class HintDesk {
  constructor(private readonly options: HintDeskOptions) {}

  /** @param forwarded whether another replica has passed it on to us */
  async take(hint: Hint, forwarded: boolean): Promise<HintResult> {
    const { controller, announcements, forward } = this.options;
    if (controller.isLeading) {
      const isAwaited = announcements.hinted(hint, hint.resourceVersion);
      // A hint that comes late, as all do in a storm, is not worth another look at the object.
      if (isAwaited || controller.knows(hint, hint.resourceVersion)) {
        if (controller.isBusy) await pause(BUSY_ANSWER_MS);
        return "known";
      }
      return controller.hint(hint) ? "queued" : "full";
    }
    // Two replicas that each take the other for the leader would send it to and fro.
    const address = forwarded || controller.leader === undefined ? undefined : addressIn(controller.leader);
    return address !== undefined && (await forward(hint, address)) ? "forwarded" : "leaderless";
  }
}
