import { setTimeout as pause } from "node:timers/promises";
import { isRecorded, messageOf } from "../argo/recordedRun";
import { resultOfError, triedAnswer } from "../argo/runResult";
import { type RunTarget, resourceOf, runTargetOf } from "../argo/runTarget";
import { WORKFLOWS } from "../argo/workflows";
import type { Operator } from "../definition/definition";
import type { DueSchedule } from "../handler/contract";
import { HandlerPool } from "../handler/handlerPool";
import type { HandlerTransport } from "../handler/handlerTransport";
import type { KubernetesClient } from "../kubernetes/client";
import { discover } from "../kubernetes/discovery";
import { ApiUnreachableError } from "../kubernetes/errors";
import { formatName, type KubernetesObject, type ManagedFieldsEntry } from "../kubernetes/objects";
import { isListed } from "../kubernetes/resource";
import { MANAGER_PREFIX } from "../names";
import type { ReconcileReport } from "../reconcile/report";
import { tryHandler } from "../reconcile/trial";
import type { Tracing } from "../traces/tracing";
import { programOfRun } from "./footprint";
import { formerUidsIn } from "./formers";
import { deleteNeedlessRuns } from "./needlessRuns";
import { OneObject, type OneObjectOptions } from "./oneObject";
import { RunFence } from "./runFence";
import { runSeconds } from "./runSeconds";
import { RunTrace } from "./runTrace";
import { servedKinds } from "./servedKinds";
import { withServedKind } from "./watchedObjects";

/** What a run in a pod of its own works with. */
export interface RunOnceOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  readonly transport: HandlerTransport;
  /** Called at the beginning. Resolves when a handler can be started. If it rejects, the run fails. @default at once */
  readonly handlerReady?: () => Promise<void>;
  /** The Workflow that this pod belongs to: its parameters say what is to be done. */
  readonly namespace: string;
  readonly workflow: string;
  /** The pod's name. */
  readonly instance: string;
  /** Called after each reconcile. */
  readonly onReport?: (report: ReconcileReport) => void;
  /**
   * How long a run waits for something that is about to happen, in milliseconds: children that become ready, a handler
   * that wants to be asked again, an API server that comes back. @default 30000
   */
  readonly patienceMs?: number;
  /** How long a run follows an object that changes, in milliseconds. @default what one try may take: see runSeconds */
  readonly changesPatienceMs?: number;
  /** How often it looks whether its Workflow goes on: see {@link RunFence}, in milliseconds. @default 10000 */
  readonly lookMs?: number;
  /** Traces the run. @default it is not traced */
  readonly traces?: Tracing | undefined;
  /** Ends such waits. A reconcile in progress is completed. */
  readonly signal?: AbortSignal;
}

/** How a run ended. */
export interface RunOutcome {
  /** 0, or 1 if it failed. Argo then shows the pod, the node and the Workflow as failed. */
  readonly exitCode: 0 | 1;
  /** The last word of the log. */
  readonly message: string;
  /** The handler's answer as JSON, if it was only tried. */
  readonly answer?: string;
}

const PATIENCE_MS = 30_000;
/** How long a run waits before it asks an API server again that was busy or out of reach. */
const LOOK_MS = 1_000;
/** The shortest wait, so that nothing becomes a busy loop. Each further wait for the same reason is twice as long. */
const SOON_MS = 100;

/**
 * Does what the pod's Workflow asks for: reconciles the object that it names, with the same code as a resident runner,
 * or tries the handler on an example.
 *
 * `requeueAfterSeconds` is honoured if that time falls within the run's patience. A later time is remembered and left
 * to the next resync.
 */
export async function runOnce(given: RunOnceOptions): Promise<RunOutcome> {
  const { client, transport, handlerReady, namespace, workflow: name, traces } = given;
  const from = performance.now();
  const pool = new HandlerPool({ transport, timeoutMs: given.operator.timeoutSeconds * 1000 });
  let fence: RunFence | undefined;
  try {
    const operator = await withServedKind(given.operator, client);
    const readAt = performance.now();
    const [workflow, childResources] = await Promise.all([
      client.get(WORKFLOWS, { namespace, name }),
      servedKinds(operator, client),
      // This begins while the object is read.
      handlerReady?.().then(() => pool.warm()),
    ]);
    if (!workflow) return failed(`there is no Workflow ${name} in namespace ${namespace}`);
    fence = new RunFence({ client, workflow, readAt, lookMs: given.lookMs });
    const options = fenced({ ...given, operator }, fence);
    const fencedPool = fence.guard(pool);
    // Whether the operator handles it outside of its namespaces shows when the object is read.
    const target = runTargetOf(workflow, { ...operator, namespaces: "all" });
    if (target.kind === "trial") {
      const trial = { operator, childResources, pool: fencedPool };
      const { answer } = await tryHandler(trial, target.object, target.used);
      const { text, message } = triedAnswer(answer);
      return { exitCode: 0, message, answer: text };
    }
    const { kind } = operator.customResource;
    const trace = traces && new RunTrace({ traces, operator: operator.name, kind, workflow, from });
    const run = new Run(target, options, {
      trace,
      resource: resourceOf(operator.customResource),
      childResources,
      pool: fencedPool,
      fence,
      // As in a resident runner, the status names a run that changed something. Any other run leaves the name as it
      // is.
      runName: (report) => (isRecorded(report, "changes") ? name : undefined),
      program: programOfRun(workflow),
      formerUids: formerUidsIn(workflow),
    });
    const outcome = await run.finish().catch((error: unknown) => {
      trace?.finish(resultOfError(error).message);
      throw error;
    });
    trace?.finish(outcome.exitCode === 0 ? undefined : outcome.message);
    // This would only save pods. If it fails, the run does not.
    const needless = run.mayHaveFollowers(workflow)
      ? await deleteNeedlessRuns(target, options).catch(() => 0)
      : 0;
    if (needless === 0) return outcome;
    return { ...outcome, message: `${outcome.message}; ${needless} further runs were not needed any more` };
  } catch (error) {
    return failed(resultOfError(error).message);
  } finally {
    fence?.close();
    await pool.close();
  }
}

/** The same, with requests that leave only as long as the fence is open, and waits that end with it. */
function fenced(options: RunOnceOptions, { assert, signal: ending }: RunFence): RunOnceOptions {
  const { client, signal } = options;
  return {
    ...options,
    client: client.with({ fence: assert }),
    signal: signal ? AbortSignal.any([signal, ending]) : ending,
  };
}

/** The run of one object. */
class Run {
  private readonly until: number;
  private readonly changesUntil: number;
  private attempt = 1;
  private due: readonly DueSchedule[] | undefined;
  private paceMs = SOON_MS;

  private readonly object: OneObject;
  /** The object as it was last known. */
  private last: KubernetesObject | undefined;

  constructor(
    private readonly target: Extract<RunTarget, { kind: "object" }>,
    private readonly options: RunOnceOptions,
    private readonly parts: Pick<
      OneObjectOptions,
      "resource" | "childResources" | "pool" | "fence" | "runName" | "program" | "formerUids" | "trace"
    >,
  ) {
    const { patienceMs = PATIENCE_MS, changesPatienceMs = runSeconds(options.operator) * 1000 } = options;
    this.until = performance.now() + patienceMs;
    this.changesUntil = performance.now() + changesPatienceMs;
    const { operator, client, instance, namespace } = options;
    const isBeyondRun = (afterMs: number) => performance.now() + afterMs > this.until;
    this.due = target.due && [target.due];
    const { name, uid } = target;
    const object = { operator, client, instance, namespace, name, uid };
    this.object = new OneObject({ ...parts, ...object, isBeyondRun });
  }

  /**
   * Whether others may have written to the object since the run's Workflow was made, so that further Workflows may
   * wait. The times in `managedFields` are whole seconds. A change that only removes something leaves no time. Then a
   * run is made that is not needed.
   */
  mayHaveFollowers(workflow: KubernetesObject): boolean {
    const { creationTimestamp: since = "" } = workflow.metadata;
    const { managedFields = [] } = this.last?.metadata ?? {};
    const isOurs = ({ manager = "" }: ManagedFieldsEntry) => manager.startsWith(MANAGER_PREFIX);
    // RFC 3339 in UTC sorts as text.
    return managedFields.some((entry) => !entry.subresource && !isOurs(entry) && (entry.time ?? "") > since);
  }

  /** Reconciles until nothing is expected soon and the object has not changed since its last reconcile. */
  async finish(): Promise<RunOutcome> {
    try {
      const outcome = await this.reconcile();
      const { problem } = this.parts.fence;
      return problem === undefined ? outcome : failed(problem);
    } finally {
      await this.object.close();
    }
  }

  private async reconcile(): Promise<RunOutcome> {
    for (;;) {
      const found = await this.retried(() => this.object.read());
      const what = `${this.options.operator.customResource.kind} ${formatName(this.target.name)}`;
      if (!found) {
        const { apiVersion, kind } = resourceOf(this.options.operator.customResource);
        // It throws if the kind itself is gone.
        await this.retried(() => discover(this.options.client, apiVersion, kind));
        return this.clearUp(what);
      }
      const { uid } = this.target;
      if (uid !== undefined && uid !== found.metadata.uid) {
        // What is left of the one before is cleared up by a run of its name.
        if (this.options.operator.watch) await this.clearUp(what);
        return done(`nothing to do: ${what} is another one by now`);
      }
      const refusal = this.whyNotHandled(found);
      if (refusal !== undefined) return failed(refusal);
      const report = await this.retried(() => this.object.reconcile(found, this.attempt, this.due));
      // What somebody starts by hand is started once.
      if (report.result === "succeeded") this.due = undefined;
      this.options.onReport?.(report);
      this.last = this.object.known ?? found;
      if (await this.comesAgain(report)) {
        if (report.failure) this.attempt++;
      } else if (await this.hasChanged(report)) this.attempt = 1;
      else return outcomeOf(report);
    }
  }

  /** Outside of the namespaces that the operator lists, an object is finalized, and nothing else. */
  private whyNotHandled({
    metadata: { namespace, deletionTimestamp },
  }: KubernetesObject): string | undefined {
    const { namespaces, customResource } = this.options.operator;
    if (isListed(namespaces, namespace) || deletionTimestamp !== undefined) return undefined;
    return `this operator handles no ${customResource.kind} in namespace ${namespace}, only in ${[...namespaces].join(", ")}`;
  }

  /** The object is gone, or no longer one of those that are watched. Nothing on it says what is left of it. */
  private async clearUp(what: string): Promise<RunOutcome> {
    const isNothing = done(`nothing to do: ${what} is gone`);
    if (!this.options.operator.watch) return isNothing;
    this.object.forget();
    const report = await this.retried(() => this.object.reconcile(undefined, this.attempt));
    this.options.onReport?.(report);
    if (report.failure || report.problem !== undefined) return outcomeOf(report);
    return report.changes.length > 0 ? done(`cleared up after ${what}: ${messageOf(report)}`) : isNothing;
  }

  /** Waits for what is about to happen. False if nothing is, or if it is too late. */
  private async comesAgain(report: ReconcileReport): Promise<boolean> {
    const { skipped, failure, againAfterMs, ready } = report;
    if (skipped === "changed meanwhile") return this.waitForChanges();
    if (skipped === "API server away") {
      if (!(await this.wait(LOOK_MS))) return false;
      this.object.forget();
      return true;
    }
    if (failure || skipped !== undefined) return false;
    const dueAt = performance.now() + Math.max(SOON_MS, againAfterMs ?? Number.POSITIVE_INFINITY);
    if (ready !== false && dueAt > this.until) return false;
    const { signal } = this.options;
    const ms = Math.min(dueAt, this.until) - performance.now();
    // Waits first: somebody may delete a child again and again.
    if (await this.object.awaitNews(ms, mostUnreadyAfter(report), signal)) return this.waitForChanges();
    if (dueAt > this.until || signal?.aborted) return false;
    // A handler that wants to be asked again wants to see the state of then.
    this.object.forget();
    return true;
  }

  /**
   * Whether a write of our own found the object changed. This run then goes on. A change after our last write has a
   * Workflow of its own, which waits for the end of this one. Also false if this run has followed the object for so
   * long that it leaves the rest to the next run.
   */
  private async hasChanged({ uid, generation }: ReconcileReport): Promise<boolean> {
    const now = this.object.known?.metadata;
    if (uid === undefined || now?.uid !== uid || now.generation === generation) return false;
    return performance.now() <= this.changesUntil && this.waitForChanges();
  }

  private waitForChanges(): Promise<boolean> {
    const ms = this.paceMs;
    this.paceMs = Math.min(2 * ms, LOOK_MS);
    return this.wait(ms, this.changesUntil);
  }

  /** Waits. False if that would take longer than our patience, or the pod is to end. */
  private async wait(ms: number, until = this.until): Promise<boolean> {
    const { signal } = this.options;
    if (performance.now() + ms > until || signal?.aborted) return false;
    await pause(Math.max(0, ms), undefined, { ...(signal && { signal }) }).catch(() => {});
    return !signal?.aborted;
  }

  /** An API server that is away for a moment is no reason to fail. */
  private async retried<Result>(action: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof ApiUnreachableError) || !(await this.wait(LOOK_MS))) throw error;
      }
    }
  }
}

/** How many children may still not be ready when another reconcile finds something new. Undefined: it waits for no child. */
function mostUnreadyAfter({ ready, unready = 0, waits }: ReconcileReport): number | undefined {
  if (ready !== false) return undefined;
  if (!waits) return 0;
  // With each child that is ready, the wait of others may end. If none is left to become ready, none will end.
  return unready > 0 ? unready - 1 : undefined;
}

function outcomeOf(report: ReconcileReport): RunOutcome {
  const { failure, skipped, ready, againAfterMs } = report;
  if (failure) return failed(messageOf(report));
  if (report.problem !== undefined) return failed(report.problem);
  if (skipped === "paused") return done("nothing to do: the object is paused");
  if (skipped === "gone") return done("nothing to do: the object is gone");
  // The object goes on changing. Another run waits, and this one has tried for long enough.
  if (skipped !== undefined) return done(messageOf(report));
  const rest = [
    ready === false ? "not every child is ready yet: the next resync looks again" : "",
    againAfterMs === undefined ? "" : `to be asked again after ${againAfterMs / 1000} s: by the next resync`,
  ];
  return done([messageOf(report), ...rest].filter((part) => part !== "").join("; "));
}

function done(message: string): RunOutcome {
  return { exitCode: 0, message };
}

function failed(message: string): RunOutcome {
  return { exitCode: 1, message };
}
