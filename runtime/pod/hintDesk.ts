import type { Controller } from "../controller";
import type { ObjectName } from "../kubernetes/objects";
import type { HintResult } from "../metrics";
import type { Announcements } from "./announcements";
import { addressIn } from "./identity";

/** What a {@link HintDesk} works with. */
export interface HintDeskOptions {
  readonly controller: Pick<Controller, "isLeading" | "leader" | "hint">;
  readonly announcements: Pick<Announcements, "hinted">;
  /** Passes a hint on to the leader at this address. @returns whether it was taken */
  readonly forward: (name: ObjectName, address: string) => Promise<boolean>;
}

/** Decides what becomes of a hint: the leader takes it, a standby passes it on, once. */
export class HintDesk {
  constructor(private readonly options: HintDeskOptions) {}

  /** @param forwarded whether another replica has passed it on to us */
  async take(name: ObjectName, forwarded: boolean): Promise<HintResult> {
    const { controller, announcements, forward } = this.options;
    if (controller.isLeading) {
      if (announcements.hinted(name)) return "known";
      return controller.hint(name) ? "queued" : "full";
    }
    // Two replicas that each take the other for the leader would send it to and fro.
    const address = forwarded || controller.leader === undefined ? undefined : addressIn(controller.leader);
    return address !== undefined && (await forward(name, address)) ? "forwarded" : "leaderless";
  }
}
