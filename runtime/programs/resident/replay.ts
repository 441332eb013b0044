import { setTimeout as pause } from "node:timers/promises";
import { within } from "../../base/clock";
import { type JsonObject, type KubernetesObject, kindAndName } from "../../base/objects";
import type { Engine } from "../../engine/engine";
import type { KubernetesClient } from "../../kubernetes/client";
import { awaitKind, UnknownKindError } from "../../kubernetes/discovery";
import { ApiError, isApiError, isBusy } from "../../kubernetes/errors";
import { NotLeadingError } from "../../leadership/term";
import { Reflector } from "../../observe/reflector";
import { Store } from "../../observe/store";
import type { StoredObject } from "../../observe/storedObject";
import type { Operator } from "../../operator/definition";
import { isOver, liveSelector, WORKFLOW_TASK_SETS, WORKFLOWS } from "../../report/workflows";
import { resultOfError, resultOfReport, resultOfTrial } from "../workflows/runResult";
import { type RunTarget, RunTargetError, resourceOf, runTargetOf } from "../workflows/runTarget";
import { type NodeResult, openTasksOf, workflowUidOf } from "../workflows/taskSet";

/** What is known of a WorkflowTaskSet. */
interface TaskSetFacts {
  /** Another Workflow may take the name of the one that it belongs to. */
  readonly workflowUid: string | undefined;
  /** The ids of its tasks that are ours and have no answer yet. */
  readonly open: readonly string[];
}

/** A task that waits for our answer. */
interface Task {
  /** The Workflow's name, which is the WorkflowTaskSet's too. */
  readonly workflow: string;
  readonly workflowUid: string | undefined;
  readonly node: string;
}

/** How far we are with a task. */
interface Progress {
  state: "working" | "answered" | "failed";
  failures: number;
  /** The task is not tried again before this time on the monotonic clock. */
  notBefore: number;
  /** The answer that could not be written yet. No handler is asked again for it. */
  result?: NodeResult | undefined;
}

/** How often it looks for tasks that could not be answered when they came: a leader may have changed, or an API failed. */
const SWEEP_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Tasks in progress at once. Most of them only wait for their turn in the queue; a trial is asked at once. */
const MOST_AT_ONCE = 16;
/**
 * The Workflow controller writes a WorkflowTaskSet too. An answer is given up after this many conflicts. After each conflict we
 * wait until the watch shows the new version.
 */
const MOST_CONFLICTS = 10;
const CONFLICT_MS = 200;

/**
 * Answers Workflows that users submit, and reconciles the object that each names: a run of the operator's WorkflowTemplate, or a
 * resubmitted recorded run. Its one template is our own plugin, for which the Workflow controller writes a task into a
 * WorkflowTaskSet and waits (workflow/controller/taskset.go of argo-workflows v4.1.2, with `disableAgentPodCreation`); the leader
 * reconciles the object and answers into its status.
 */
export class Replay {
  private readonly taskSets: Store<TaskSetFacts>;
  /** How far we are with each open task. */
  private readonly progress = new Map<string, Progress>();
  private readonly working = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private reflector: Reflector | undefined;
  private sweeper: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: {
      readonly client: KubernetesClient;
      readonly operator: Operator;
      /** The namespace of the operator's Workflows. */
      readonly namespace: string;
      /** The Workflow controller's instance id; "" for none. */
      readonly instanceId: string;
      /** Who reconciles, and tries the handler. */
      readonly engine: Engine;
      /** Called with the reason why nothing is replayed. */
      readonly onNotice: (notice: string) => void;
    },
  ) {
    const { client, operator } = options;
    this.taskSets = new Store<TaskSetFacts>({
      client,
      factsOf: (taskSet) => ({
        workflowUid: workflowUidOf(taskSet),
        open: openTasksOf(taskSet, operator.name),
      }),
      kept: () => ({}),
      onChange: () => this.sweep(),
    });
  }

  /** Begins to watch and to answer, whenever the engine leads. If the cluster has no Argo Workflows, it waits for them. */
  start(): void {
    if (this.stopping.signal.aborted) return;
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    // It ends early only by the stop.
    this.watch().catch(() => {});
  }

  /** Accepts no further task, and waits for those in progress. To be called before the engine is stopped. */
  async stop(graceMs = 5_000): Promise<void> {
    this.stopping.abort();
    clearInterval(this.sweeper);
    await within(graceMs, Promise.all(this.working));
    await this.reflector?.stopWatching();
  }

  private async watch(): Promise<void> {
    const { client, namespace, instanceId } = this.options;
    const { signal } = this.stopping;
    const resource = WORKFLOW_TASK_SETS;
    const onWait = (reason: Error) =>
      this.options.onNotice(
        reason instanceof UnknownKindError
          ? "Argo Workflows is not in this cluster: no submitted Workflow is answered"
          : `WorkflowTaskSets: ${reason.message}`,
      );
    await awaitKind(client, resource.apiVersion, resource.kind, { signal, onWait });
    signal.throwIfAborted();
    this.reflector = new Reflector({
      client,
      namespace,
      resource,
      labelSelector: liveSelector(instanceId),
      sink: this.taskSets.sink(resource, namespace),
      onInterruption: (error) => this.options.onNotice(`watch of WorkflowTaskSets: ${error.message}`),
    });
    this.reflector.startWatching();
  }

  private sweep(): void {
    if (this.stopping.signal.aborted || !this.options.engine.isLeading) return;
    const now = performance.now();
    const tasks = [...this.taskSets.values()].flatMap(({ name, facts: { workflowUid, open } }) =>
      open.map((node): Task => ({ workflow: name, workflowUid, node })),
    );
    const open = new Map(tasks.map((task) => [keyOf(task), task]));
    for (const [key, { state }] of this.progress)
      if (!open.has(key) && state !== "working") this.progress.delete(key);
    for (const [key, task] of open) {
      if (this.working.size >= MOST_AT_ONCE) return;
      const progress = this.progress.get(key) ?? { state: "failed", failures: 0, notBefore: 0 };
      if (progress.state !== "failed" || progress.notBefore > now) continue;
      this.progress.set(key, { ...progress, state: "working" });
      const work = this.work(task, progress).finally(() => {
        this.working.delete(work);
        this.sweep();
      });
      this.working.add(work);
    }
  }

  private async work(task: Task, { failures, result: before }: Progress): Promise<void> {
    let result = before;
    try {
      result ??= await this.resultOf(task);
      if (result) await this.answer(task, result);
      this.progress.set(keyOf(task), { state: "answered", failures, notBefore: 0 });
    } catch (error) {
      const notBefore = performance.now() + Math.min(SWEEP_MS * 2 ** failures, LONGEST_RETRY_MS);
      this.progress.set(keyOf(task), { state: "failed", failures: failures + 1, notBefore, result });
      // If we do not lead any more, the next leader answers the task.
      if (error instanceof NotLeadingError) return;
      this.options.onNotice(`Workflow ${task.workflow} could not be answered: ${(error as Error).message}`);
    }
  }

  /** Does what the task's Workflow asks for. Undefined if the Workflow no longer waits for the answer. */
  private async resultOf(task: Task): Promise<NodeResult | undefined> {
    const { client, namespace } = this.options;
    const workflow = await client.get(WORKFLOWS, { namespace, name: task.workflow });
    const isAnother = task.workflowUid !== undefined && workflow?.metadata.uid !== task.workflowUid;
    if (!workflow || isAnother || isOver(workflow)) return undefined;
    try {
      return await this.replay(workflow);
    } catch (error) {
      // Another try would be refused too.
      const isRefusal = error instanceof ApiError && !isBusy(error);
      if (isRefusal || error instanceof RunTargetError) return resultOfError(error);
      throw error;
    }
  }

  private async replay(workflow: KubernetesObject): Promise<NodeResult> {
    const { client, operator, engine } = this.options;
    const target = runTargetOf(workflow, operator);
    if (target.kind === "trial") return this.trial(target);
    const { name, uid, due } = target;
    if (uid !== undefined) {
      const object = await client.get(resourceOf(operator.customResource), name);
      if (object && object.metadata.uid !== uid) {
        throw new RunTargetError(
          `${kindAndName(operator.customResource.kind, name)} is not the object with uid ${uid}, which is gone. To reconcile the existing object, leave parameter "uid" empty.`,
        );
      }
    }
    return resultOfReport(await engine.reconcileNow(name, due));
  }

  private async trial({ object, used }: Extract<RunTarget, { kind: "trial" }>): Promise<NodeResult> {
    try {
      return resultOfTrial(await this.options.engine.tryHandler(object, used));
    } catch (error) {
      if (error instanceof NotLeadingError) throw error;
      return resultOfError(error);
    }
  }

  /**
   * Answers a task as long as the task waits for that. The answer is for the version of the WorkflowTaskSet that was seen last:
   * the controller takes over no answer to a task that it has removed, and stumbles over such an answer.
   */
  private async answer(task: Task, result: NodeResult): Promise<void> {
    const { client, namespace, engine } = this.options;
    const name = { namespace, name: task.workflow };
    const status = { nodes: { [task.node]: result as unknown as JsonObject } };
    for (let conflicts = 0; ; conflicts++) {
      const seen = this.taskSetOf(task);
      if (!seen) return;
      if (!engine.isLeading) throw new NotLeadingError();
      const { uid, resourceVersion } = seen;
      try {
        await client.mergePatch(
          WORKFLOW_TASK_SETS,
          name,
          { metadata: { uid, resourceVersion }, status },
          "status",
        );
        return;
      } catch (error) {
        if (isApiError(error, 404)) return;
        if (!isApiError(error, 409) || conflicts === MOST_CONFLICTS) throw error;
        await pause(CONFLICT_MS);
      }
    }
  }

  /** The WorkflowTaskSet of a task as it was seen last. Undefined if the task no longer waits for an answer. */
  private taskSetOf({ workflow: name, workflowUid, node }: Task): StoredObject<TaskSetFacts> | undefined {
    const seen = this.taskSets.find(WORKFLOW_TASK_SETS, { namespace: this.options.namespace, name });
    return seen?.facts.workflowUid === workflowUid && seen?.facts.open.includes(node) ? seen : undefined;
  }
}

function keyOf({ workflow, workflowUid, node }: Task): string {
  return `${workflow}/${workflowUid}/${node}`;
}
