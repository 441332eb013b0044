import { randomUUID } from "node:crypto";
import { ObjectGoneError, ReconcileFailure } from "../../base/failure";
import {
  annotated,
  fieldManagerOf,
  identityOf,
  OPERATOR_LABEL,
  objectLabelsOf,
  PAUSED_ANNOTATION,
  RUN_ANNOTATION,
  WITHHOLD_ANNOTATION,
} from "../../base/names";
import {
  conditionsIn,
  type KubernetesObject,
  keyOf,
  type Manifest,
  type ObjectName,
} from "../../base/objects";
import { isListed } from "../../base/resource";
import { isCausedBy } from "../../base/turn";
import type { KubernetesClient } from "../../kubernetes/client";
import { isApiError } from "../../kubernetes/errors";
import { applyEntry } from "../../kubernetes/managedFields";
import type { Emit } from "../../observe/news";
import { hasElsewhere } from "../../observe/ownership";
import { notSyncedError } from "../../reconcile/completeness";
import { clearUpAfterGone } from "../../reconcile/departures";
import { consequenceOf, WatchLateError } from "../../reconcile/errors";
import { isTaken, remember } from "../../reconcile/remember";
import type { Outcome, ReconcileIdentity, Settled } from "../../reconcile/report";
import { isByUser } from "../../reconcile/rolloutGate";
import {
  failedOutcome,
  type ReconcileContext,
  type ReconcilerOptions,
  Run,
  whyEnded,
} from "../../reconcile/run";
import { deletePredecessors } from "../../reconcile/writeChildren";
import { isWaitingReason } from "../../remember/composeStatus";
import { conditionsOfObject } from "../../remember/memoryKind";
import { instanceLabel, RUN_PARAMETERS, WORKFLOWS, workflowTemplateOf } from "../../report/workflows";
import { Sweep } from "../../write/sweep";
import { EndedRuns, type LastRun, type ObjectRuns, park } from "./endedRuns";
import { changeFingerprint, usedFingerprint } from "./footprint";
import { isReplaced, type LiveRun, nameOfRun, stateOfRun, whyStuck } from "./liveRun";
import { type LeftByRun, type Need, Needs } from "./needs";
import { markOf, Places } from "./places";
import { RunStore, type RunStoreOptions } from "./runStore";

/** What a {@link Dispatcher} works with. */
export interface DispatcherOptions
  extends Omit<ReconcilerOptions, "pool" | "whyUnknown">,
    Omit<RunStoreOptions, "onChanged" | "onProgram"> {
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
  readonly emit: Emit;
  readonly isLeading: () => boolean;
}

/** An object waits for this long, in milliseconds, until it says that its run waits. */
const AWAITING_SAID_AFTER_MS = 10_000;
/** Watches may show the children later than their run ended. Nothing is concluded from them before that, in milliseconds. */
const SETTLING_MS = 2_000;
/** The first pause between two routine runs of an object. Each further one is twice as long, up to `resyncSeconds`. */
const FIRST_PAUSE_MS = 1_000;
/** A routine run that begins this much later than the pause after the one before is not in a row with it. In milliseconds. */
const ROW_MS = 30_000;
/** In a staged roll-out, an object with this many routine runs in a row never comes to rest. */
const MOST_ROUTINES = 5;

/**
 * Has runs in pods do what a `Reconciler` does: says which objects need a run, makes a Workflow for each, and watches it to its
 * end, as any controller does with its Job. What a run leaves for the next look is in the object.
 *
 * Guarantees, each with a test in tests/integration/pod*.test.ts:
 * - No object has two runs of ours at once, and the operator has at most `concurrency`. So it is also after another process led, because
 *   nothing begins before the Workflows were listed.
 * - A run that was begun ends with the program with which it began, whichever process leads by then.
 * - A run that will not begin, or will not end by itself, is replaced, or its object says so: see `stateOfRun`.
 * - Users may submit, resubmit, retry, stop and suspend runs. None of these counts as a run of ours.
 *
 * Assumption: one look at an object at a time, by one leader.
 */
export class Dispatcher {
  private readonly needs: Needs;
  private readonly endedRuns: EndedRuns;
  readonly places: Places;
  readonly runs: RunStore;
  private readonly sweep: Sweep;
  /** By the objects' keys. */
  private readonly known = new Map<string, ObjectRuns>();
  /** Runs that have ended, by their objects' keys. */
  private readonly ended = new Map<string, LiveRun>();
  /**
   * The keys of the objects of which a run has ended since they were last read, also of runs that users submitted: a run may have
   * written them.
   */
  private readonly written = new Set<string>();
  /** The keys of the objects that an event from outside has named since their last run began. */
  private readonly woken = new Set<string>();
  /** The uids of the Workflows that the dispatcher has deleted. */
  private readonly replaced = new Set<string>();
  /** When the term began. Undefined until the first look. */
  private since: number | undefined;

  constructor(private readonly options: DispatcherOptions) {
    const { operator, resource, namespace, children, emit, isLeading } = options;
    const needs = new Needs(operator, resource);
    this.needs = needs;
    this.endedRuns = new EndedRuns({ operator, namespace, children, needs });
    this.sweep = new Sweep(options);
    this.runs = new RunStore({
      ...options,
      onChanged: (run, hasEnded) => this.runChanged(run, hasEnded),
      onProgram: () => isLeading() && emit({ kind: "program renewed" }),
    });
    this.places = new Places({
      most: operator.concurrency,
      live: () => [...this.runs.own()].filter(({ isSuspended }) => !isSuspended),
      onFree: (key) => emit({ kind: "place free", key }),
    });
  }

  /** A term begins. What this process has seen in an earlier one does not count: another has led since. */
  async beginTerm(): Promise<void> {
    this.known.clear();
    this.ended.clear();
    this.written.clear();
    this.woken.clear();
    this.places.clear();
    this.since = undefined;
    await this.runs.refresh();
  }

  /** A text as it is: no handler answers this process. */
  readonly masked = (text: string): string => text;

  /** An object is gone. Nothing is kept of it. */
  forgetObject(name: ObjectName): void {
    const key = keyOf(name);
    this.known.delete(key);
    this.ended.delete(key);
    this.written.delete(key);
    this.woken.delete(key);
    this.places.leave(key);
  }

  /** Looks at one object, and begins a run if it needs one. Never throws: every error is in the outcome. */
  async reconcile(name: ObjectName, attempt: number, context: ReconcileContext): Promise<Outcome> {
    const { objects } = this.options;
    const key = keyOf(name);
    const before = this.runChangesOf(key);
    // Whatever this look leads to: it may meet a run that began before the event.
    if (isCausedBy(context.arrival, "event")) this.woken.add(key);
    const look = new Run(this.options, name, attempt, context, this.masked);
    try {
      await this.look(look);
    } catch (error) {
      const late =
        error instanceof ObjectGoneError && objects.isShown(name) ? new WatchLateError() : undefined;
      const consequence = consequenceOf(whyEnded(context) ?? late ?? error, name.namespace);
      const isGone = consequence.report.skipped === "gone";
      if (consequence.again.kind === "again" || isGone) objects.invalidate(name);
      if (isGone) this.forgetObject(name);
      look.fail(consequence);
    }
    return { ...look.outcome(), isOver: () => this.runChangesOf(key) !== before };
  }

  /** The outcome of a look in which something threw that never should. */
  fault(error: unknown, about: ReconcileIdentity): Outcome {
    const message = error instanceof Error ? error.message : String(error);
    const failure = new ReconcileFailure("InternalError", message);
    return failedOutcome(this.options, failure, about);
  }

  /** How often a run of an object has begun, was suspended or resumed, or has ended. */
  private runChangesOf(key: string): number {
    return this.known.get(key)?.runChanges ?? 0;
  }

  /** A run of an object has changed. @param hasEnded whether it has ended or is gone */
  private runChanged(run: LiveRun, hasEnded: boolean): void {
    const { emit, isLeading } = this.options;
    if (!isLeading()) return;
    const its = this.known.get(run.object);
    if (its) its.runChanges++;
    if (hasEnded) this.written.add(run.object);
    if (hasEnded && run.mark !== undefined && !this.replaced.delete(run.uid)) this.ended.set(run.object, run);
    emit({ kind: "run changed", key: run.object });
    if (hasEnded) this.places.freed();
  }

  private async look(look: Run): Promise<void> {
    const { options, runs } = this;
    const { operator, objects } = options;
    const { name, context, client } = look;
    const key = keyOf(name);
    const unknown = runs.notListed();
    if (unknown) throw notSyncedError(unknown, "in which every run of the operator is");
    // Before the object is read: a run that ends during the read has written a later version, and calls for another look.
    const [own, ended] = [runs.ownOf(key), this.ended.get(key)];
    const isWritten = this.written.delete(key);
    if (isWritten) objects.invalidate(name);
    const object = await look.timeline.step("read", () => objects.readToReconcile(name));
    if (isWritten && object) options.others?.memories.invalidate(object.metadata.uid);
    look.begin(object);
    if (options.others)
      await clearUpAfterGone(options.others, options.children, this.sweep, look, object?.metadata.uid);
    if (!object) throw new ObjectGoneError();
    const { namespace, deletionTimestamp } = object.metadata;
    if (annotated(object.metadata, PAUSED_ANNOTATION)) return look.skip("paused");
    if (deletionTimestamp === undefined && !isListed(operator.namespaces, namespace))
      return look.skip("gone");
    if (this.needs.isNotOurs(object)) return look.skip("gone");
    const now = client.now();
    this.since ??= now;
    const its = this.its(object);
    if (own && isReplaced(own, stateOfRun(own, now, runs.program))) return this.replace(own, look);
    if (own) {
      if (!this.saysStuck(key, its, now, look)) this.attend(own, look);
      return;
    }
    const left = await this.leftAbout(object);
    if (ended) {
      // It may have been about an object that had the name before.
      const isIts = ended.objectUid === object.metadata.uid;
      const isDecided = isIts && (await this.endedRuns.judge(ended, object, left, its, look));
      this.ended.delete(key);
      if (isDecided) return;
    }
    if (this.saysStuck(key, its, now, look)) return;
    if (isCausedBy(context.arrival, "child")) its.isChildNews = true;
    // Each object of others that is gone is cleared up after by itself.
    if (!operator.watch && deletionTimestamp === undefined) {
      const { isFollowed = () => true } = options;
      await deletePredecessors({ ...options, isFollowed }, object, look, look.changes);
    }
    await this.dispatch(object, left, its, look);
  }

  /** What is known of the runs of an object. */
  private its({ metadata }: KubernetesObject): ObjectRuns {
    const key = keyOf(metadata);
    const known = this.known.get(key);
    if (known?.uid === metadata.uid) return known;
    const its: ObjectRuns = { uid: metadata.uid, failed: [], runChanges: 0 };
    this.known.set(key, its);
    return its;
  }

  /** An object has a run that has not ended. If its pod does not begin soon, the object says so. */
  private attend(run: LiveRun, look: Run): void {
    const waitedMs = look.client.now() - run.createdAt;
    if (run.hasBegun) return park(look);
    if (waitedMs < AWAITING_SAID_AFTER_MS) return park(look, AWAITING_SAID_AFTER_MS - waitedMs + 100);
    park(look);
    look.verdict = { kind: "awaiting", run: run.name, message: run.message };
  }

  /** A run that will never begin or end is deleted, in the version that was seen: it may have begun since. */
  private async replace(run: LiveRun, look: Run): Promise<void> {
    this.replaced.add(run.uid);
    try {
      await look.client.deleteVersion(WORKFLOWS, run, { uid: run.uid, resourceVersion: run.resourceVersion });
    } catch (error) {
      this.replaced.delete(run.uid);
      if (!isApiError(error, 409)) throw error;
    }
    park(look);
  }

  /**
   * Says on an object that a run of it, also one that a user submitted, does not end by itself. @returns whether there is such a
   * run
   */
  private saysStuck(key: string, its: ObjectRuns, now: number, look: Run): boolean {
    const { runs } = this;
    const all = runs.of(key).map((run) => whyStuck(run, stateOfRun(run, now, runs.program)));
    const failure = all.find((each) => each !== undefined);
    if (failure) {
      park(look);
      look.verdict = { kind: "failed", failure };
      if (its.told !== failure.message)
        look.events.push({ type: "Warning", reason: failure.reason, note: failure.message });
    }
    its.told = failure?.message;
    return failure !== undefined;
  }

  /** Begins a run if the object needs one and there is a place for it. */
  private async dispatch(
    object: KubernetesObject,
    left: LeftByRun,
    its: ObjectRuns,
    look: Run,
  ): Promise<void> {
    const { children, used, whyNot, rollout } = this.options;
    const { metadata } = object;
    const event = metadata.deletionTimestamp === undefined ? "reconcile" : "finalize";
    look.note({ event });
    // A run knows only what is written.
    if (!this.options.others && isTaken(object, left.memory))
      await remember(this.options, look, object, left.memory);
    const isElsewhere = hasElsewhere(object, left.memory, children.of(metadata.uid));
    const refused = whyNot(event, object, left.memory, isElsewhere);
    if (refused) throw refused;
    const gathered = await used(object, event);
    const now = look.client.now();
    const { last, isChildNews = false } = its;
    const need = this.needs.of(object, left, {
      children: children.of(metadata.uid),
      used: usedFingerprint(gathered.used),
      program: this.runs.program,
      isChildNews,
      isWoken: this.woken.has(keyOf(metadata)),
      last,
      since: this.since ?? now,
      now,
    });
    look.settled = this.settledBy(left, last);
    const byUser = need === "urgent" || isByUser(object, look.context.arrival, false);
    const waits = rollout?.waits(object, byUser) ?? false;
    if (waits && need !== undefined) {
      this.places.leave(keyOf(metadata));
      return look.skip("waits for its stage");
    }
    look.dueAfter(this.needs.dueInMs(object, left.memory, now));
    // A child of the object has reported, and nothing else has happened: the object gets a run at its resync. 0: it gets none.
    const resyncAt = (last?.at ?? this.since ?? now) + this.options.operator.resyncSeconds * 1000;
    const restMs = isChildNews ? resyncAt - now : 0;
    const pauseMs = need === undefined ? restMs : this.pauseBefore(object, its, need, now);
    const key = keyOf(metadata);
    if (need !== undefined && pauseMs <= 0) {
      await this.places.take(key, need, () => this.create(object, its, need, look.client));
      return park(look, AWAITING_SAID_AFTER_MS);
    }
    this.places.leave(key);
    if (need !== undefined) park(look, pauseMs);
    else if (pauseMs > 0) look.end({ kind: "done", againAfterMs: pauseMs });
  }

  /** How a run with this program has left the object. Undefined: none has. */
  private settledBy({ memory, conditions }: LeftByRun, last: LastRun | undefined): Settled | undefined {
    if (memory.program === undefined || memory.program !== this.runs.program) return undefined;
    const ready = conditions.find(({ type }) => type === "Ready");
    if (last && last.routines >= MOST_ROUTINES)
      return {
        isReady: false,
        failure: { reason: "AnswersDiffer", message: "it gets one run after another" },
      };
    const isFailing = ready?.status !== "True" && ready && !isWaitingReason(ready.reason);
    return { isReady: ready?.status === "True", ...(isFailing && { failure: ready }) };
  }

  /** How long an object that needs a run waits for it, in milliseconds. */
  private pauseBefore(object: KubernetesObject, its: ObjectRuns, need: Need, now: number): number {
    const { stopped, last } = its;
    if (stopped && stopped.until > now && stopped.about === changeFingerprint(object, this.options.operator))
      return stopped.until - now;
    delete its.stopped;
    return need === "routine" && last ? last.endedAt + this.pauseAfter(last) - now : 0;
  }

  /** The pause between the end of a run and a routine run after it, in milliseconds. */
  private pauseAfter({ routines }: LastRun): number {
    const longestMs = this.options.operator.resyncSeconds * 1000;
    return Math.max(SETTLING_MS, Math.min(longestMs, FIRST_PAUSE_MS * 2 ** routines));
  }

  /** Creates the Workflow of a run. If the answer is lost, the next look creates it under the same name. */
  private async create(
    object: KubernetesObject,
    its: ObjectRuns,
    need: Need,
    client: KubernetesClient,
  ): Promise<void> {
    const { options, runs } = this;
    const { namespace } = options;
    const mark = its.unsure ?? markOf(need, randomUUID());
    its.unsure = mark;
    const manifest = this.manifestOf(object, mark);
    let workflow: KubernetesObject | undefined;
    try {
      workflow = await client.create(WORKFLOWS, manifest);
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      workflow = await client.get(WORKFLOWS, { namespace, name: manifest.metadata.name });
    }
    its.unsure = undefined;
    its.isChildNews = false;
    this.woken.delete(keyOf(object.metadata));
    const [at, before] = [client.now(), its.last];
    const isInRow = before && at - before.endedAt < 2 * this.pauseAfter(before) + ROW_MS;
    const routines = need !== "routine" ? 0 : 1 + (isInRow ? before.routines : 0);
    its.last = {
      at,
      endedAt: at,
      about: changeFingerprint(object, this.options.operator),
      unready: before?.unready ?? 0,
      routines,
    };
    if (workflow) runs.learn(workflow);
  }

  private manifestOf(object: KubernetesObject, mark: string): Manifest {
    const { operator, namespace, instanceId } = this.options;
    const { uid, name, namespace: home = "" } = object.metadata;
    return {
      apiVersion: WORKFLOWS.apiVersion,
      kind: WORKFLOWS.kind,
      metadata: {
        name: nameOfRun(operator.name, object.metadata, mark),
        namespace,
        labels: {
          ...instanceLabel(instanceId),
          [OPERATOR_LABEL]: identityOf(operator),
          ...objectLabelsOf(uid),
        },
        annotations: {
          [RUN_ANNOTATION]: mark,
          ...(this.options.rollout?.withholds(uid) && { [WITHHOLD_ANNOTATION]: "true" }),
        },
      },
      spec: {
        workflowTemplateRef: { name: workflowTemplateOf(operator.name) },
        arguments: {
          parameters: [
            { name: RUN_PARAMETERS.namespace, value: home },
            { name: RUN_PARAMETERS.name, value: name },
            { name: RUN_PARAMETERS.uid, value: uid },
          ],
        },
      },
    };
  }

  /** What the last run left about the object, in its status or in a Memory object: see `Memories`. */
  private async leftAbout(object: KubernetesObject): Promise<LeftByRun> {
    const { operator, memories, others } = this.options;
    const manager = fieldManagerOf(operator);
    const memory = await memories.of(object);
    if (!others) {
      const verdictAt = applyEntry(object, manager, "status")?.time;
      return { memory, conditions: conditionsIn(object["status"]), verdictAt };
    }
    const [found] = await others.memories.read(object.metadata.uid);
    const verdictAt = found && applyEntry(found, manager)?.time;
    return { memory, conditions: conditionsOfObject(found), verdictAt };
  }
}
