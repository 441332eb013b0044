// What is done for an object, and what becomes of an error. Begin here.

import { statusChecker } from "../base/contentSchema";
import { ObjectGoneError, ReconcileFailure } from "../base/failure";
import { annotated, PAUSED_ANNOTATION } from "../base/names";
import { type KubernetesObject, keyOf, type ObjectName } from "../base/objects";
import { isListed } from "../base/resource";
import { named } from "../kubernetes/list";
import { isExpired } from "../operator/eventMarks";
import { Scrubber } from "../secrets/scrubber";
import { Finalizers } from "../write/finalizers";
import { Outages } from "../write/outages";
import { Sweep } from "../write/sweep";
import { QuestionSecrets } from "./ask";
import { converge } from "./converge";
import { clearUpAfterGone } from "./departures";
import { consequenceOf, WatchLateError } from "./errors";
import { finalize } from "./finalize";
import type { Outcome, ReconcileIdentity } from "./report";
import { isByUser } from "./rolloutGate";
import {
  failedOutcome,
  type Parts,
  type ReconcileContext,
  type ReconcilerOptions,
  Run,
  whyEnded,
} from "./run";

/**
 * Makes one object and its children as the handler wants them: reads the newest object, asks the handler, checks the whole answer,
 * and only then writes. This class says what is done for an object: {@link converge}, {@link finalize} or nothing. It also says
 * what becomes of an error.
 *
 * Guarantees, each with a test, in tests/integration if nothing else is named:
 * - Nothing is applied of an answer that breaks the contract (security.test.ts).
 * - If `finalize` is declared, the finalizer is on the object before the handler is asked (tests/unit/reconcileFinalizers.test.ts).
 * - The handler is asked with all children or not at all, also when it finalizes (hostile/unlistedKinds.test.ts).
 * - The other finalizer is on the object before its first child that no owner reference can cover
 *   (tests/unit/reconcileFinalizers.test.ts), and comes back as long as there is one (hostile/lostMarks.test.ts).
 * - If another client empties the engine's memory in the status, it is written back (hostile/emptiedStatus.test.ts).
 * - No child is written for an object that is known to be gone or to be being deleted (hostile/orphanDeletion.test.ts).
 * - The handler's status fields and the engine's memory are written before the reconcile ends (tests/unit/reconcile.test.ts).
 * - Outside of the namespaces that the operator lists, an object is finalized, and nothing else (hostile/namespaces.test.ts).
 * - Nothing is written on an object that we do not own, no finalizer either (engineWatch.test.ts).
 *
 * Assumption: one reconcile of an object at a time, by one leader.
 *
 * Caveat: if the API server refuses a part of an answer, the parts that were applied before stay.
 */
export class Reconciler {
  private readonly parts: Parts;
  private readonly outages: Outages;

  constructor(options: ReconcilerOptions) {
    const { operator, resource, pool, others, outages = new Outages("ApiError") } = options;
    this.outages = outages;
    this.parts = {
      isFollowed: () => true,
      ...options,
      finalizers: others ? undefined : new Finalizers(resource, operator),
      sweep: new Sweep(options),
      scrubber: new Scrubber(),
      checkStatus: statusChecker(operator.customResource.statusSchema),
    };
    // A handler may write before its first question.
    new QuestionSecrets(this.parts.scrubber, pool, [], []);
  }

  /** A text of a handler that is in no report, without the values of the Secrets that handlers were given. */
  readonly masked = (text: string): string => this.parts.scrubber.text(text);

  /** An object is gone. Nothing is kept of it. If it is being reconciled, its last reconcile ends by itself. */
  forgetObject(name: ObjectName): void {
    this.outages.ended(keyOf(name));
    this.outages.ended(unreadKey(name));
    this.parts.standing?.forget(keyOf(name));
  }

  /** Reconciles one object. Never throws: every error is in the outcome. Reports nothing itself. See tests/unit/objectWork.test.ts. */
  async reconcile(name: ObjectName, attempt: number, context: ReconcileContext): Promise<Outcome> {
    const run = new Run(this.parts, name, attempt, context, this.masked);
    try {
      await this.handle(run);
      this.outages.ended(keyOf(name));
    } catch (error) {
      await this.fail(error, run).catch((fault: unknown) => run.fail(consequenceOf(fault, name.namespace)));
    }
    try {
      const outcome = run.outcome();
      const { uid } = outcome.report;
      const isLook = outcome.again.kind !== "again" && outcome.report.skipped !== "waits for its stage";
      if (uid !== undefined && isLook)
        this.parts.standing?.looked(keyOf(name), uid, run.digest, run.remembered);
      return this.parts.scrubber.outcome(outcome);
    } catch (error) {
      return this.fault(error, run.report);
    }
  }

  /**
   * The outcome of a run in which something threw that never should, or in which the object could not be read. It has nothing of the run
   * but whose it was, since all else may be the cause, or have values of Secrets.
   * @param error a `ReconcileFailure` is one of an outcome, so its text is masked
   */
  fault(error: unknown, about: ReconcileIdentity): Outcome {
    const isTold = error instanceof ReconcileFailure;
    const failure = isTold ? error : new ReconcileFailure("InternalError", this.safelyMasked(error));
    return failedOutcome(this.parts, failure, about);
  }

  private safelyMasked(error: unknown): string {
    try {
      return this.masked(error instanceof Error ? error.message : String(error));
    } catch {
      return "what failed is withheld, because the values of Secrets could not be masked in it";
    }
  }

  private async handle(run: Run): Promise<void> {
    const { parts } = this;
    const { name } = run;
    const object = await run.timeline.step("read", () => parts.objects.readToReconcile(name));
    this.outages.ended(unreadKey(name));
    run.begin(object);
    if (parts.others)
      await clearUpAfterGone(parts.others, parts.children, parts.sweep, run, object?.metadata.uid);
    if (!object) throw new ObjectGoneError();
    const memory = await parts.memories.of(object);
    run.remembered = memory.digest;
    const { namespace, deletionTimestamp } = object.metadata;
    const byUser = isByUser(object, run.context.arrival, !parts.others);
    if (annotated(object.metadata, PAUSED_ANNOTATION)) return run.skip("paused");
    const isListedHere = isListed(parts.operator.namespaces, namespace);
    if (isListedHere && parts.rollout?.waits(object, byUser)) return run.skip("waits for its stage");
    if (deletionTimestamp) await finalize(parts, run, object, memory);
    // We no longer own the object. When it is deleted, we only remove our finalizers.
    else if (!isListedHere) run.skip("gone");
    else if (parts.operator.eventTtls && (await this.deleteIfExpired(object, run))) run.skip("gone");
    else await converge(parts, run, object, memory);
  }

  /**
   * Deletes an object that was created from an event and has lasted long enough, by our clock and by the API server's. The clock of
   * one machine may be wrong by years, and what is deleted does not come back. So the object is deleted in exactly the version that
   * was seen to have lasted long enough.
   * @returns whether it was deleted
   */
  private async deleteIfExpired(object: KubernetesObject, { client }: Run): Promise<boolean> {
    const { operator, resource, objects, machineNow = Date.now } = this.parts;
    if (![machineNow(), client.now()].every((now) => isExpired(object, operator, now))) return false;
    const { uid, resourceVersion } = object.metadata;
    await client.deleteVersion(resource, object.metadata, { uid, resourceVersion });
    objects.invalidate(object.metadata);
    return true;
  }

  /** Puts the consequences of an error into the outcome. */
  private async fail(error: unknown, run: Run): Promise<void> {
    const { objects } = this.parts;
    const { name } = run;
    const outage = whyEnded(run.context) ? undefined : await this.outageOf(error, run);
    const late = error instanceof ObjectGoneError && objects.isShown(name) ? new WatchLateError() : undefined;
    const consequence = consequenceOf(whyEnded(run.context) ?? outage ?? late ?? error, name.namespace);
    const { report, again } = consequence;
    // If the answer to a write was lost, the write may still have been done.
    if (again.kind === "again" || report.skipped === "gone" || outage) objects.invalidate(name);
    // Perhaps no later reconcile comes for this object, so forget it now.
    if (report.skipped === "gone") this.forgetObject(name);
    run.fail(consequence);
  }

  /** What {@link Outages.met} says of an error. */
  private outageOf(error: unknown, { name, client, isRead, masked }: Run) {
    const { resource } = this.parts;
    // The API server answers for the object, whatever it answers.
    const confirmOwner = async () => void (await client.get(resource, name));
    if (isRead) return this.outages.met(error, keyOf(name), { confirmOwner, masked });
    // Not even the object was read: what failed before failed because the API server was away.
    this.outages.ended(keyOf(name));
    const selection = { namespace: name.namespace, ...named(name.name), metadataOnly: true };
    const confirmKind = async () => void (await client.list(resource, selection, () => {}));
    return this.outages.met(error, unreadKey(name), { confirmOwner: confirmKind, masked });
  }
}

/** The key of failures to read an object. */
function unreadKey(name: ObjectName): string {
  return `read ${keyOf(name)}`;
}
