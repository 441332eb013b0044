// What a run means that has ended.
import { ReconcileFailure, UNREPORTED_RUN_REASONS } from "../../base/failure";
import { ENGINE_CONDITIONS } from "../../base/names";
import type { KubernetesObject, ObjectName } from "../../base/objects";
import { BACKOFF, type History, type WorkResult, waitAfter } from "../../base/turn";
import type { KubernetesClient } from "../../kubernetes/client";
import { ifRefused } from "../../kubernetes/errors";
import type { ChildStore } from "../../observe/childStore";
import type { Operator } from "../../operator/definition";
import { consequenceOf } from "../../reconcile/errors";
import type { Run } from "../../reconcile/run";
import { isFailure, specOf, statusOf, WORKFLOW_LABELS, WORKFLOWS } from "../../report/workflows";
import { changeFingerprint } from "./footprint";
import type { LiveRun } from "./liveRun";
import type { LeftByRun, Needs } from "./needs";
import { needIn } from "./places";

/** What this process knows of the runs of one object. */
export interface ObjectRuns {
  readonly uid: string;
  /** The last run that this process began. */
  last?: LastRun | undefined;
  /** The mark of a run whose creation has not been answered: the API server may have created it. */
  unsure?: string | undefined;
  /** The Workflows of its newest runs that failed, the oldest first. */
  readonly failed: (ObjectName & { readonly uid: string })[];
  /** Set if a user has stopped its run: what the run was about, and the time until which no other begins. */
  stopped?: { readonly about: string; readonly until: number };
  /** Its failed runs in a row. */
  failures?: History | undefined;
  /** How often one of its runs has begun, was suspended or resumed, or has ended. */
  runChanges: number;
  /** Whether a child has changed since its last run. */
  isChildNews?: boolean;
  /** What was said about a run of it that does not end. */
  told?: string | undefined;
}

/** The last run of an object that this process began. */
export interface LastRun {
  /** When it began and ended, by the API server's clock, in milliseconds since 1970. */
  readonly at: number;
  readonly endedAt: number;
  /** The object as the run was to see it: see `changeFingerprint`. */
  readonly about: string;
  /** How many children were not ready when it had ended. */
  readonly unready: number;
  /** How many routine runs came one soon after another. */
  readonly routines: number;
}

/** The reasons of conditions that a dispatcher states. A run states others. */
const OF_DISPATCHER = [...UNREPORTED_RUN_REASONS, "AwaitingPod", "RunStopped"];
/** How many failed runs of an object are kept. */
const FAILED_KEPT = 3;
/** How often the state of a run is looked at that changes by time alone, in milliseconds. */
const LOOK_MS = 30_000;

/**
 * Says what a run of ours means that has ended, by its Workflow and by what it left about its object:
 *
 * | the Workflow | verdict on the object since it began | what follows |
 * | --- | --- | --- |
 * | was stopped or deleted | none | an Event says so, and no run begins before the object changes, or before its resync |
 * | failed | none | `RunFailed` with what Argo says, and another run after a backoff |
 * | any | the object failed | another run after a backoff |
 * | any | any other | it counts as done |
 */
export class EndedRuns {
  constructor(
    private readonly parts: {
      readonly operator: Operator;
      /** The namespace of the Workflows. */
      readonly namespace: string;
      readonly children: ChildStore;
      readonly needs: Needs;
    },
  ) {}

  /**
   * Looks at what a run has left.
   * @returns whether the outcome says what comes next. If not, the object may need another run at once
   */
  async judge(
    run: LiveRun,
    object: KubernetesObject,
    left: LeftByRun,
    its: ObjectRuns,
    look: Run,
  ): Promise<boolean> {
    const { operator, namespace, children, needs } = this.parts;
    const { client } = look;
    const { uid } = object.metadata;
    const about = changeFingerprint(object, operator);
    const workflow = await client.get(WORKFLOWS, { namespace, name: run.name });
    const unready = children.of(uid).filter(({ facts }) => !facts.isReady).length;
    const before = its.last ?? { at: run.createdAt, about, routines: 0 };
    its.last = { ...before, unready, endedAt: client.now() };
    const isThere = workflow?.metadata.uid === run.uid;
    // Both are whole seconds.
    const isTold = Date.parse(left.verdictAt ?? "") >= run.createdAt && !isOfDispatcher(left);
    if (!isTold && (!isThere || specOf(workflow).shutdown !== undefined))
      return this.rest(run, before.about, its, look);
    if (isThere && isFailure(statusOf(workflow).phase)) {
      await this.supersede(run, its, client);
      if (!isTold) {
        look.fail(consequenceOf(new ReconcileFailure("RunFailed", whyFailed(workflow)), run.namespace));
        return this.tryAgain(run, left, its, look);
      }
    }
    const need = needs.unfinished(object, left);
    // If the verdict could not even be written, another run at once would end so too.
    const isFailing = need === "retry" || (need === "urgent" && before.about === about);
    if (!isFailing) {
      its.failures = undefined;
      return false;
    }
    const ready = left.conditions.find(({ type }) => type === "Ready");
    look.note({ result: "failed", problem: ready?.message ?? `${run.name} reported nothing` });
    look.dueAfter(needs.dueInMs(object, left.memory, client.now()));
    return this.tryAgain(run, left, its, look);
  }

  /** The object is tried again after a pause, as in a `WorkQueue`. There, the news of the run itself would count as changes. */
  private tryAgain(run: LiveRun, { memory }: LeftByRun, its: ObjectRuns, look: Run): true {
    its.failures ??= { failures: 0, doublings: 0, isPausing: false, repeats: 0 };
    its.failures.isPausing = needIn(run.mark) === "retry";
    const askedMs = Date.parse(memory.retryAt ?? "") - look.client.now();
    const result = { kind: "failed", ...(askedMs > 0 && { retryAfterMs: askedMs }) } as const;
    look.end({ ...result, retryAfterMs: waitAfter(its.failures, result, BACKOFF) ?? 0 });
    return true;
  }

  /** A user has stopped the run, or deleted its Workflow. Another one begins when the object changes, or at its resync. */
  private rest(run: LiveRun, about: string, its: ObjectRuns, look: Run): true {
    const { resyncSeconds } = this.parts.operator;
    its.stopped = { about, until: look.client.now() + resyncSeconds * 1000 };
    const note = `Workflow ${run.name} was stopped or deleted: the object gets another run when it changes, or in ${resyncSeconds} s`;
    look.events.push({ type: "Warning", reason: "RunStopped", note, run: run.name });
    look.verdict = { kind: "stopped", message: note };
    park(look, resyncSeconds * 1000);
    return true;
  }

  /** Of an object's failed runs, the newest are kept: an object that always fails would leave hundreds a day. */
  private async supersede(
    { name, namespace, uid }: LiveRun,
    { failed }: ObjectRuns,
    client: KubernetesClient,
  ): Promise<void> {
    // The look may be repeated, if the API server was away.
    if (failed.at(-1)?.uid !== uid) failed.push({ name, namespace, uid });
    const [before] = failed;
    if (!before || failed.length <= FAILED_KEPT) return;
    const former = await client.get(WORKFLOWS, before);
    const awaitsArchive = former?.metadata.labels?.[WORKFLOW_LABELS.archiving] === "Pending";
    if (former?.metadata.uid === before.uid && !awaitsArchive) {
      const { resourceVersion } = former.metadata;
      const deleting = client.deleteVersion(WORKFLOWS, before, { uid: before.uid, resourceVersion });
      await deleting.catch(ifRefused(409, undefined));
    }
    failed.shift();
  }
}

/** Whether the last verdict is one that no run gives. */
function isOfDispatcher({ conditions }: LeftByRun): boolean {
  return conditions.some(
    ({ type, reason }) => ENGINE_CONDITIONS.includes(type) && OF_DISPATCHER.includes(reason),
  );
}

/** The object is looked at again when its run changes, or after this time in milliseconds. No worker waits for it. */
export function park(look: Run, afterMs = LOOK_MS): void {
  look.note({ result: "skipped", skipped: "awaits its run" });
  look.end({ kind: "again", afterMs } satisfies WorkResult);
}

/**
 * The message of the Workflow, which may only be that its time was up, and then the last message of the engine's
 * container.
 */
function whyFailed(workflow: KubernetesObject): string {
  const { message, nodes = {} } = statusOf(workflow);
  const engine = Object.values(nodes).find((node) => node.displayName === "main" && isFailure(node.phase));
  const words = new Set([message, engine?.message].filter((word) => word));
  return `the object's run failed before it could report a result: ${[...words].join("; ") || "its Workflow does not say why"}`;
}
