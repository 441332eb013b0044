import { awaitKind } from "../kubernetes/awaitKind";
import type { KubernetesClient } from "../kubernetes/client";
import { UnknownKindError } from "../kubernetes/discovery";
import type { KubernetesObject } from "../kubernetes/objects";
import { Reflector } from "../watch/reflector";
import { openTasksOf, workflowUidOf } from "./taskSet";
import { liveSelector, WORKFLOW_TASK_SETS } from "./workflows";

/** A task that waits for our answer. */
export interface Task {
  /** The Workflow's name, which is the WorkflowTaskSet's too. */
  readonly workflow: string;
  /** The Workflow's uid. Another Workflow may take its name. */
  readonly workflowUid: string | undefined;
  readonly node: string;
  /** The WorkflowTaskSet as it was seen last. */
  seen: { readonly uid: string; readonly resourceVersion: string };
}

/** What a {@link TaskWatch} watches, and who is called. */
export interface TaskWatchOptions {
  readonly client: KubernetesClient;
  /** The name of the operator whose tasks are wanted. */
  readonly operator: string;
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
  /** Called when there are new tasks. */
  readonly onTasks: () => void;
  /** Called with the reason why there is no watch now. */
  readonly onNotice: (notice: string) => void;
}

/**
 * The tasks of an operator in the WorkflowTaskSets of its namespace that nobody has answered yet. If the cluster has no Argo
 * Workflows, there are no tasks, and the watch waits for Argo Workflows.
 */
export class TaskWatch {
  /** By Workflow and node. A task is the same object as long as it is open. */
  private readonly open = new Map<string, Task>();
  private readonly stopping = new AbortController();
  private reflector: Reflector | undefined;

  constructor(private readonly options: TaskWatchOptions) {}

  /** Begins to watch. */
  start(): void {
    // It ends early only by the stop.
    this.run().catch(() => {});
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.reflector?.stop();
  }

  /** The open tasks that the watch has reported. */
  tasks(): Iterable<Task> {
    return this.open.values();
  }

  /** Whether the task still waits for an answer. */
  isOpen(task: Task): boolean {
    return this.open.get(taskKey(task)) === task;
  }

  private async run(): Promise<void> {
    const { client, namespace, instanceId, operator, onNotice } = this.options;
    const { signal } = this.stopping;
    const onWait = (reason: Error) =>
      onNotice(
        reason instanceof UnknownKindError
          ? "Argo Workflows is not in this cluster: no submitted Workflow is answered"
          : `WorkflowTaskSets: ${reason.message}`,
      );
    const { apiVersion, kind } = WORKFLOW_TASK_SETS;
    await awaitKind(client, apiVersion, kind, { signal, onWait });
    signal.throwIfAborted();
    let listed: Set<string> | undefined;
    this.reflector = new Reflector({
      client,
      namespace,
      resource: WORKFLOW_TASK_SETS,
      labelSelector: liveSelector(instanceId),
      sink: {
        listing: () => {
          listed = new Set();
        },
        set: (taskSet) => {
          listed?.add(taskSet.metadata.name);
          this.take(taskSet, openTasksOf(taskSet, operator));
        },
        listed: () => {
          const known = listed;
          listed = undefined;
          for (const [key, { workflow }] of this.open) if (!known?.has(workflow)) this.open.delete(key);
        },
        remove: (taskSet) => this.take(taskSet, []),
      },
      onInterruption: (error) => onNotice(`watch of WorkflowTaskSets: ${error.message}`),
    });
    this.reflector.start();
  }

  /** Takes in which tasks of a WorkflowTaskSet are open now. */
  private take(taskSet: KubernetesObject, nodes: readonly string[]): void {
    const { name: workflow, uid, resourceVersion } = taskSet.metadata;
    const workflowUid = workflowUidOf(taskSet);
    for (const [key, task] of this.open) {
      const isOpen = task.workflowUid === workflowUid && nodes.includes(task.node);
      if (task.workflow === workflow && !isOpen) this.open.delete(key);
    }
    for (const node of nodes) {
      const task: Task = { workflow, workflowUid, node, seen: { uid, resourceVersion } };
      const known = this.open.get(taskKey(task));
      if (known) known.seen = task.seen;
      else this.open.set(taskKey(task), task);
    }
    if (nodes.length > 0) this.options.onTasks();
  }
}

function taskKey({ workflow, node }: Task): string {
  return `${workflow}/${node}`;
}
