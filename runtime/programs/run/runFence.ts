import type { KubernetesObject } from "../../base/objects";
import type { Asked } from "../../handler/handlerPool";
import type { HandlerReply } from "../../handler/handlerWorker";
import type { KubernetesClient } from "../../kubernetes/client";
import { NotLeadingError } from "../../leadership/term";
import { isOver, WORKFLOWS } from "../../report/workflows";

/** What a {@link RunFence} works with. */
export interface RunFenceOptions {
  readonly client: KubernetesClient;
  /** The Workflow of the run, as it was read. */
  readonly workflow: KubernetesObject;
  /** When the Workflow was requested, on the monotonic clock, in milliseconds. */
  readonly readAt: number;
  /** How often the run checks whether its Workflow still runs, in milliseconds. @default 10000 */
  readonly lookMs?: number | undefined;
}

/** How often a run looks at its Workflow, in milliseconds. */
const LOOK_MS = 10_000;
/**
 * If the last look at the Workflow is older than this, an answer is used only after another look, in milliseconds. After a shorter
 * time no other run has begun to write: the Workflow controller must pass on the lock, and a pod must be made and started, before
 * its handler is even asked.
 */
const SHORT_MS = 2_000;

/**
 * Says whether a run in a pod of its own may write. The lock of its object belongs to its Workflow. If a user terminates or
 * deletes the Workflow, the Workflow controller gives the lock to the next one at once (argo-workflows,
 * workflow/controller/exec_control.go, applyExecutionControl; workflow/controller/controller.go, ReleaseAll). But the pod still
 * runs: our controller may not signal a container, and a pod that is deleted has thirty seconds.
 *
 * Guarantees, each with a test in tests/integration/podFence.test.ts, the last one in podRun.test.ts:
 * - No request leaves once the end of the Workflow is known, not for a report either.
 * - An answer is applied only if the Workflow went on two seconds before the answer came, or later.
 * - A handler that works when the Workflow ends is killed within ten seconds and one request, and every wait ends.
 * - A run whose only answer comes within two seconds after its Workflow was read makes no request for this.
 *
 * Caveat: requests that leave within ten seconds after the last look are not held back. So two runs of an object can write at the
 * same time if the API server takes longer for the writes of one reconcile than the next run takes to begin. And a handler may be
 * asked twice at the same time for these ten seconds.
 */
export class RunFence {
  private readonly lookMs: number;
  private readonly ending = new AbortController();
  private seenAt: number;
  private timer: NodeJS.Timeout | undefined;
  private error: NotLeadingError | undefined;
  private isClosed = false;

  constructor(private readonly options: RunFenceOptions) {
    const { workflow, readAt, lookMs = LOOK_MS } = options;
    this.lookMs = lookMs;
    this.seenAt = readAt;
    this.take(workflow);
    this.lookAfter(Math.max(0, readAt + lookMs - performance.now()));
  }

  /** Aborts when the end of the Workflow is known. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** Why the run may not write any more. Undefined if it may, as far as the fence knows. */
  get problem(): string | undefined {
    return this.error?.message;
  }

  /** @throws NotLeadingError if the Workflow is known to have ended */
  readonly assert = (): void => {
    if (this.error) throw this.error;
  };

  /**
   * A pool whose answers come from the time of the run. It asks nothing once the Workflow has ended, and gives no answer that
   * came after that. To close the pool ends the process that is being asked.
   */
  guard(pool: Asked): Asked {
    return {
      ask: (question, assertWanted) => this.ask(() => pool.ask(question, assertWanted)),
      hidden: () => pool.hidden(),
    };
  }

  /** Stops looking. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private async ask(asking: () => Promise<HandlerReply>): Promise<HandlerReply> {
    // The run may have waited long for its handler's container.
    if (performance.now() - this.seenAt >= this.lookMs) await this.look();
    this.assert();
    const reply = await this.unlessEnded(asking());
    if (performance.now() - this.seenAt > SHORT_MS) await this.look();
    this.assert();
    return reply;
  }

  /** Settles as the promise does. @throws NotLeadingError as soon as the Workflow is known to have ended */
  private unlessEnded<Result>(promise: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(this.error);
      this.signal.addEventListener("abort", refuse, { once: true });
      promise.then(resolve, reject).finally(() => this.signal.removeEventListener("abort", refuse));
    });
  }

  /** Reads the Workflow. @throws ApiError, ApiUnreachableError */
  private async look(): Promise<void> {
    const at = performance.now();
    const { client, workflow } = this.options;
    this.take(await client.get(WORKFLOWS, workflow.metadata));
    this.seenAt = at;
  }

  private take(workflow: KubernetesObject | undefined): void {
    const { name, uid } = this.options.workflow.metadata;
    const isGone = workflow?.metadata.uid !== uid || workflow.metadata.deletionTimestamp !== undefined;
    if (this.error || (!isGone && !isOver(workflow))) return;
    const how = isGone ? "was deleted" : "has ended";
    this.error = new NotLeadingError(`Workflow ${name} ${how}: this run writes nothing more`);
    this.ending.abort();
  }

  private lookAfter(ms: number): void {
    this.timer = setTimeout(async () => {
      // An API server that is away is asked again. Until it is back, nothing can be written either.
      await this.look().catch(() => {});
      if (!this.error && !this.isClosed) this.lookAfter(this.lookMs);
    }, ms);
  }
}
