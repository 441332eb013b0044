import assert from "node:assert/strict";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import { ApiUnreachableError } from "../../../runtime/kubernetes/errors";
import type { ObjectEvent } from "../../../runtime/reconcile/report";
import type { Verdict } from "../../../runtime/remember/composeStatus";
import { Outbox } from "../../../runtime/report/outbox";
import type { RunRecord } from "../../../runtime/report/runRecorder";
import type { Message, Unreported } from "../../../runtime/report/teller";
import { FakeClock } from "./fakeClock";
import { widget } from "./objects";

export const UNREACHABLE = new ApiUnreachableError("PATCH", new Error("refused"));
export const READY: Verdict = { kind: "ready" };
export const progressing = (message: string): Verdict => ({ kind: "progressing", message });
export const warning = (note: string): ObjectEvent => ({ type: "Warning", reason: "HandlerError", note });
export const normal = (note: string): ObjectEvent => ({ type: "Normal", reason: "Reconciled", note });
/** What becomes of a message that cannot be reported. */
export const fails = (error: unknown) => async (left: Message) => ({ left, error });

/** An outbox that is open, its clock, and what it tells. */
export class OutboxBench {
  readonly clock = FakeClock.install();
  readonly client = new KubernetesClient({ server: "https://127.0.0.1:1" });
  readonly told: Message[] = [];
  dropped: string[] = [];
  readonly faults: string[] = [];
  /** What becomes of the next message: by default it is reported. */
  answer: (message: Message) => Promise<Unreported | undefined> = async () => undefined;
  outbox = this.make();

  constructor() {
    this.outbox.open(() => this.client);
  }

  make(mostWaiting?: number): Outbox {
    return new Outbox({
      teller: {
        tell: async (_, __, message) => {
          const unreported = await this.answer(message);
          if (!unreported) this.told.push(message);
          return unreported;
        },
      },
      join: (earlier, later) => ({ ...later, name: `${earlier.name}+${later.name}` }),
      onDrop: (what, reason) => void this.dropped.push(`${what}: ${reason}`),
      onFault: (uid, frames) => void this.faults.push(`${uid}: ${frames}`),
      ...(mostWaiting !== undefined && { mostWaiting }),
    });
  }

  put(more: { uid?: string; verdict?: Verdict; events?: ObjectEvent[]; records?: RunRecord[] }): void {
    const { uid = "widget-uid", verdict, events = [], records = [] } = more;
    this.outbox.put(
      { namespace: "shop", name: uid },
      { regarding: widget({ uid }), verdict: verdict && { verdict, generation: 3 }, events, records },
    );
  }

  /** Lets the next message wait for its report, which fails when the test says so. */
  hold(): { fail: () => void } {
    const held: { fail: () => void } = { fail: () => assert.fail("nothing is being reported") };
    this.answer = (left) =>
      new Promise((resolve) => {
        held.fail = () => resolve({ left, error: UNREACHABLE });
      });
    return held;
  }

  verdicts(): (Verdict | undefined)[] {
    return this.told.map(({ verdict }) => verdict?.verdict);
  }

  idle(): Promise<void> {
    return this.clock.tick(60_000);
  }

  close(): void {
    this.outbox.discard();
    this.client.close();
    this.clock.uninstall();
  }
}
