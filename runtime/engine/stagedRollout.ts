// Connects the roll-out of this process's program with the objects, the Lease and the users.
import { monotonicNow } from "../base/clock";
import { conditionsIn, isTrue, type KubernetesObject, keyOf, latestOf, nameOf } from "../base/objects";
import type { Resource } from "../base/resource";
import type { Leadership } from "../leadership/leadership";
import type { Emit } from "../observe/news";
import type { RolloutPolicy } from "../operator/definition";
import type { Outcome } from "../reconcile/report";
import type { RolloutGate } from "../reconcile/rolloutGate";
import type { Outbox } from "../report/outbox";
import { messageWith } from "../report/teller";
import { type Looked, Rollout, type RolloutObject } from "./rollout";

/** How often it checks the pause and the Lease, in milliseconds. */
const TICK_MS = 1_000;
/** The commands for a person when it has halted. */
const HALTED_REMEDY =
  "argosy rollout status shows how far it came; argosy rollout undo, or resume, ends the halt";

/**
 * Runs a {@link Rollout} during a term: begins it with the state in the Lease, keeps its state there, and reports when it halts.
 *
 * Guarantees (tests/unit/rolloutHandlers.test.ts)
 * - While this process leads, only its own state counts. It overwrites what others write into the Lease, except for a resumption.
 * - An Event says on which object the roll-out halted.
 */
export class StagedRollout implements RolloutGate {
  readonly stages: Rollout;
  private timer: NodeJS.Timeout | undefined;
  private isWriting = false;
  /** The program of the roll-out. */
  private begun: string | undefined;

  constructor(
    private readonly parts: {
      readonly policy: RolloutPolicy;
      readonly resource: Resource;
      /** Identifies the program. Undefined: not known yet. */
      readonly program: () => string | undefined;
      readonly objects: () => readonly RolloutObject[];
      /** Whether these are all. Until then none is asked about, but for those that users change. */
      readonly areKnown: () => boolean;
      /** Whether an object that we do not own is ready. Undefined if we own the objects. */
      readonly isReady: ((object: KubernetesObject) => boolean) | undefined;
      readonly leadership: () => Leadership;
      readonly put: Outbox["put"];
      readonly emit: Emit;
      readonly notice: (text: string) => void;
    },
  ) {
    const { policy, objects, emit } = parts;
    this.stages = new Rollout({
      policy,
      objects,
      now: monotonicNow,
      onOpen: () => emit({ kind: "stage opened" }),
      onHalt: (why, object) => this.halted(why, object),
    });
  }

  beginTerm(): void {
    this.begun = undefined;
    this.tick();
  }

  endTerm(): void {
    clearTimeout(this.timer);
  }

  waits(object: KubernetesObject, isByUser: boolean): boolean {
    this.renew();
    const { uid } = object.metadata;
    return this.stages.waits({ uid, key: keyOf(object.metadata) }, isByUser, this.wasReady(object));
  }

  withholds(uid: string): boolean {
    return this.stages.withholds(uid);
  }

  /** A look at an object has ended. */
  looked(key: string, outcome: Outcome): void {
    const { uid } = outcome.report;
    const look = lookOf(outcome);
    if (uid === undefined || look === undefined) return;
    this.stages.looked({ uid, key }, look);
  }

  private tick(): void {
    clearTimeout(this.timer);
    this.renew();
    const { leadership, notice } = this.parts;
    if (this.stages.heed(leadership().rollout)) notice("the roll-out is resumed");
    this.stages.tick();
    void this.keep();
    this.timer = setTimeout(() => this.tick(), TICK_MS);
    this.timer.unref?.();
  }

  /** Begins the roll-out of the program if it is a new one. */
  private renew(): void {
    const program = this.parts.program();
    if (program === undefined || program === this.begun || !this.parts.areKnown()) return;
    const text = this.begun === undefined ? this.parts.leadership().rollout : this.stages.text;
    this.begun = program;
    this.stages.begin(program, text);
    // Those of the first stage waited until it began.
    this.parts.emit({ kind: "stage opened" });
    if (!this.stages.isDone) this.parts.notice(`the roll-out of ${program} goes on`);
  }

  /** Keeps the state in the Lease. */
  private async keep(): Promise<void> {
    const leadership = this.parts.leadership();
    const { text } = this.stages;
    if (this.isWriting || text === undefined || text === leadership.rollout) return;
    this.isWriting = true;
    await leadership.writeRollout(text);
    this.isWriting = false;
  }

  private halted(why: string, { uid, key }: RolloutObject): void {
    const { put, resource, notice } = this.parts;
    const note = `the roll-out of the operator's new version has halted: ${why}. ${HALTED_REMEDY}`;
    notice(note);
    const event = { type: "Warning", reason: "RolloutHalted", note } as const;
    void this.keep();
    put(nameOf(key), messageWith(event, { ...nameOf(key), uid }, resource));
  }

  /** Whether an object was Ready when the roll-out began. A process that has died since may have made it unready. */
  private wasReady(object: KubernetesObject): boolean {
    const { isReady } = this.parts;
    if (isReady) return isReady(object);
    const conditions = conditionsIn(object["status"]);
    const ready = conditions.find(({ type }) => type === "Ready");
    if (isTrue({ conditions }, "Ready")) return true;
    return (latestOf([ready?.lastTransitionTime]) ?? 0) >= this.stages.since;
  }
}

/** What the outcome of a look means for the roll-out. Undefined: nothing, because another look follows. */
function lookOf({ report, settled }: Outcome): Looked | undefined {
  const { skipped, failure, result, ready, problem = "" } = report;
  if (skipped === "gone" || skipped === "paused") return { state: "left" };
  if (settled?.failure) return failedBy(settled.failure);
  if (settled) return { state: settled.isReady ? "ready" : "unready" };
  if (skipped !== undefined && skipped !== "unchanged") return undefined;
  if (failure) return failedBy(failure);
  if (result === "failed") return { state: "failed", why: problem };
  return { state: ready === false ? "unready" : "ready", hasChanged: report.changes.length > 0 };
}

function failedBy({ reason, message }: { readonly reason: string; readonly message: string }): Looked {
  const isWithheld = reason === "DeletionWithheld";
  return { state: "failed", why: `${reason}: ${message}`, isWithheld };
}
