// The staged roll-out of this process's program: between the objects, the Lease and people.
import { monotonicNow } from "../base/clock";
import { conditionsIn, isTrue, type KubernetesObject, keyOf, latestOf, nameOf } from "../base/objects";
import type { Resource } from "../base/resource";
import type { Emit } from "../observe/news";
import type { RolloutPolicy } from "../operator/definition";
import type { Outcome } from "../reconcile/report";
import type { RolloutGate } from "../reconcile/rolloutGate";
import type { Outbox } from "../report/outbox";
import { messageWith } from "../report/teller";
import { type Looked, Rollout, type RolloutObject } from "./rollout";

/** How often the pause and the Lease are looked at, in milliseconds. */
const TICK_MS = 1_000;
/** Where the commands stand that a person needs when it has halted. */
const HALTED_REMEDY =
  "argosy rollout status shows how far it came; argosy rollout undo, or resume, ends the halt";

/**
 * Leads a {@link Rollout} during a term: begins it with what the Lease says, keeps its state there, and says when it halts.
 *
 * Guarantees (tests/unit/rolloutHandlers.test.ts)
 * - What this process knows counts while it leads: what others write into the Lease is written over, but for a resumption.
 * - An object on which the roll-out halted says so by an Event.
 */
export class StagedRollout implements RolloutGate {
  private readonly rollout: Rollout;
  private timer: NodeJS.Timeout | undefined;
  private isWriting = false;
  /** The program of the roll-out. */
  private begun: string | undefined;

  constructor(
    private readonly parts: {
      readonly policy: RolloutPolicy;
      readonly resource: Resource;
      /** What tells the program from every other. Undefined: nobody knows yet. */
      readonly program: () => string | undefined;
      readonly objects: () => readonly RolloutObject[];
      /** Whether these are all. Until then none is asked about, but for those that users change. */
      readonly areKnown: () => boolean;
      /** Whether an object that we do not own is ready. Undefined if the objects are our own. */
      readonly isReady: ((object: KubernetesObject) => boolean) | undefined;
      readonly lease: () => {
        readonly rollout: string | undefined;
        writeRollout(text: string): Promise<boolean>;
      };
      readonly put: Outbox["put"];
      readonly emit: Emit;
      readonly notice: (text: string) => void;
    },
  ) {
    const { policy, objects, emit } = parts;
    this.rollout = new Rollout({
      limits: policy,
      objects,
      now: monotonicNow,
      onOpen: () => emit({ kind: "stage opened" }),
      onHalt: (why, object) => this.halted(why, object),
    });
  }

  /** A term begins. */
  beginTerm(): void {
    this.begun = undefined;
    this.tick();
  }

  /** The term has ended. */
  endTerm(): void {
    clearTimeout(this.timer);
  }

  /** Whether the roll-out is halted. */
  get isHalted(): boolean {
    return this.rollout.isHalted;
  }

  /** How many objects wait until they are asked. */
  get pending(): number {
    return this.rollout.pending;
  }

  waits(object: KubernetesObject, isByUser: boolean): boolean {
    this.renew();
    const { uid } = object.metadata;
    return this.rollout.waits({ uid, key: keyOf(object.metadata) }, isByUser, this.wasReady(object));
  }

  withholds(uid: string): boolean {
    return this.rollout.withholds(uid);
  }

  /** A look at an object has ended. */
  looked(key: string, outcome: Outcome): void {
    const { uid } = outcome.report;
    const look = lookOf(outcome);
    if (uid === undefined || look === undefined) return;
    this.rollout.looked({ uid, key }, look);
  }

  forget(uid: string): void {
    this.rollout.forget(uid);
  }

  private tick(): void {
    clearTimeout(this.timer);
    this.renew();
    const { lease, notice } = this.parts;
    if (this.rollout.heed(lease().rollout)) notice("the roll-out is resumed");
    this.rollout.tick();
    void this.keep();
    this.timer = setTimeout(() => this.tick(), TICK_MS);
    this.timer.unref?.();
  }

  /** Begins the roll-out of the program, if that is another one than before. */
  private renew(): void {
    const program = this.parts.program();
    if (program === undefined || program === this.begun || !this.parts.areKnown()) return;
    const text = this.begun === undefined ? this.parts.lease().rollout : this.rollout.text;
    this.begun = program;
    this.rollout.begin(program, text);
    // Those of the first stage waited until it began.
    this.parts.emit({ kind: "stage opened" });
    if (!this.rollout.isDone) this.parts.notice(`the roll-out of ${program} goes on`);
  }

  /** Keeps the state in the Lease. */
  private async keep(): Promise<void> {
    const { lease } = this.parts;
    const { text } = this.rollout;
    if (this.isWriting || text === undefined || text === lease().rollout) return;
    this.isWriting = true;
    await lease().writeRollout(text);
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

  /** Whether an object was Ready when the roll-out began. A process that died in between may have taken that from it. */
  private wasReady(object: KubernetesObject): boolean {
    const { isReady } = this.parts;
    if (isReady) return isReady(object);
    const conditions = conditionsIn(object["status"]);
    const ready = conditions.find(({ type }) => type === "Ready");
    if (isTrue({ conditions }, "Ready")) return true;
    return (latestOf([ready?.lastTransitionTime]) ?? 0) >= this.rollout.since;
  }
}

/** What a look means for the roll-out. Undefined: nothing, it comes again. */
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
