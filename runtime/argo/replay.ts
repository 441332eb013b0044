import { setTimeout as pause } from "node:timers/promises";
import type { Operator } from "../definition/definition";
import type { Engine } from "../engine/engine";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError, isBusy } from "../kubernetes/errors";
import { type JsonObject, type KubernetesObject, kindAndName } from "../kubernetes/objects";
import { NotLeadingError } from "../leadership/term";
import { within } from "../limits/within";
import { withoutRepeats } from "../text/notices";
import { resultOfError, resultOfReport, resultOfTrial } from "./runResult";
import { type RunTarget, RunTargetError, resourceOf, runTargetOf } from "./runTarget";
import type { NodeResult } from "./taskSet";
import { type Task, TaskWatch } from "./taskWatch";
import { isOver, WORKFLOW_TASK_SETS, WORKFLOWS } from "./workflows";

/** What a {@link Replay} works with. */
export interface ReplayOptions {
  readonly client: KubernetesClient;
  readonly operator: Pick<Operator, "name" | "customResource" | "namespaces" | "schedules">;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
  /** Who reconciles, and tries the handler. */
  readonly engine: Pick<Engine, "isLeading" | "reconcileNow" | "tryHandler">;
  /** Called with the reason why nothing is replayed. Not called twice in a row with the same reason. */
  readonly onNotice?: (notice: string) => void;
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
 * Answers Workflows that people submit, and reconciles the object that each names: a run of the operator's WorkflowTemplate, or a
 * recorded run that somebody resubmits. Its one template is our own plugin, for which the Workflow controller writes a task into
 * a WorkflowTaskSet and waits (workflow/controller/taskset.go of argo-workflows v4.1.2, with `disableAgentPodCreation`); the
 * leader reconciles the object and answers into its status.
 */
export class Replay {
  private readonly watch: TaskWatch;
  private readonly progress = new WeakMap<Task, Progress>();
  private readonly working = new Set<Promise<void>>();
  private sweeper: NodeJS.Timeout | undefined;
  private stopped = false;
  private readonly notice: (text: string) => void;

  constructor(private readonly options: ReplayOptions) {
    this.notice = withoutRepeats((text) => options.onNotice?.(text));
    const { client, operator, namespace, instanceId } = options;
    this.watch = new TaskWatch({
      client,
      operator: operator.name,
      namespace,
      instanceId,
      onTasks: () => this.sweep(),
      onNotice: this.notice,
    });
  }

  /** Begins to watch and to answer, whenever the engine leads. */
  start(): void {
    if (this.stopped) return;
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    this.watch.start();
  }

  /** Takes no further task, and waits for those in progress. To be called before the engine is stopped. */
  async stop(graceMs = 5_000): Promise<void> {
    this.stopped = true;
    clearInterval(this.sweeper);
    await within(graceMs, Promise.all(this.working));
    await this.watch.stop();
  }

  private sweep(): void {
    if (this.stopped || !this.options.engine.isLeading) return;
    const now = performance.now();
    for (const task of this.watch.tasks()) {
      if (this.working.size >= MOST_AT_ONCE) return;
      const progress = this.progress.get(task) ?? { state: "failed", failures: 0, notBefore: 0 };
      if (progress.state !== "failed" || progress.notBefore > now) continue;
      this.progress.set(task, { ...progress, state: "working" });
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
      this.progress.set(task, { state: "answered", failures, notBefore: 0 });
    } catch (error) {
      const notBefore = performance.now() + Math.min(SWEEP_MS * 2 ** failures, LONGEST_RETRY_MS);
      this.progress.set(task, { state: "failed", failures: failures + 1, notBefore, result });
      // If we do not lead any more, the next leader answers the task.
      if (error instanceof NotLeadingError) return;
      this.notice(`Workflow ${task.workflow} could not be answered: ${(error as Error).message}`);
    }
  }

  /** Does what the task's Workflow asks for. Undefined if nobody waits for the answer any more. */
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
    for (let conflicts = 0; this.watch.isOpen(task); conflicts++) {
      if (!engine.isLeading) throw new NotLeadingError();
      try {
        await client.mergePatch(WORKFLOW_TASK_SETS, name, { metadata: { ...task.seen }, status }, "status");
        return;
      } catch (error) {
        if (isApiError(error, 404)) return;
        if (!isApiError(error, 409) || conflicts === MOST_CONFLICTS) throw error;
        await pause(CONFLICT_MS);
      }
    }
  }
}
