import { type KubernetesObject, kindAndName } from "../../base/objects";
import { isListed } from "../../base/resource";
import type { DueSchedule } from "../../handler/contract";
import { SHORTEST_WAIT_MS } from "../../reconcile/errors";
import type { ReconcileReport } from "../../reconcile/report";
import { describeRun } from "../../report/recordedRun";
import type { RunTarget } from "../workflows/runTarget";
import { OneObject, type OneObjectOptions } from "./oneObject";
import { ASK_AGAIN_MS, Patience } from "./patience";

/** What an {@link ObjectRun} works with. */
export interface ObjectRunOptions
  extends Pick<OneObjectOptions, "operator" | "client" | "namespace" | "instance"> {
  /** Called after each reconcile. */
  readonly onReport?: (report: ReconcileReport) => void;
  /**
   * How long a run waits for something that is about to happen, in milliseconds: children that become ready, a handler
   * that wants to be asked again, an API server that comes back. @default 30000
   */
  readonly patienceMs?: number;
  /** Ends such waits. A reconcile in progress is completed. */
  readonly signal?: AbortSignal;
}

/** The shortest wait, so that nothing becomes a busy loop. Each further wait for the same reason is twice as long. */
const SOON_MS = 100;

/**
 * The run of one object in a pod of its own: reconciles until nothing is expected soon. If the object changes during the run, another run
 * follows.
 */
export class ObjectRun {
  private readonly patience: Patience;
  private attempt = 1;
  private due: readonly DueSchedule[] | undefined;
  private paceMs = SOON_MS;

  private readonly object: OneObject;

  constructor(
    private readonly target: Extract<RunTarget, { kind: "object" }>,
    private readonly options: ObjectRunOptions,
    private readonly parts: Omit<OneObjectOptions, keyof ObjectRunOptions | "name" | "uid" | "isBeyondRun">,
  ) {
    this.patience = new Patience(options.patienceMs, options.signal);
    const isBeyondRun = (afterMs: number) => performance.now() + afterMs > this.patience.until;
    this.due = target.due && [target.due];
    const { name, uid } = target;
    this.object = new OneObject({ ...options, ...parts, name, uid, isBeyondRun });
  }

  /** Reconciles until nothing is expected soon. */
  async finish(): Promise<RunOutcome> {
    try {
      const outcome = await this.reconcile();
      const { problem } = this.parts.fence;
      return problem === undefined ? outcome : failed(problem);
    } finally {
      await this.object.watches.stopAll();
    }
  }

  private async reconcile(): Promise<RunOutcome> {
    for (;;) {
      const found = await this.patience.retried(() => this.object.watches.read());
      const what = kindAndName(this.options.operator.customResource.kind, this.target.name);
      if (!found) return this.clearUp(what);
      const { uid } = this.target;
      if (uid !== undefined && uid !== found.metadata.uid) {
        // A run of the name cleans up after the object that had the name before.
        if (this.options.operator.watch) await this.clearUp(what);
        return done(`nothing to do: ${what} is a different object now`);
      }
      const refusal = this.whyNotHandled(found);
      if (refusal !== undefined) return failed(refusal);
      const report = await this.patience.retried(() => this.object.reconcile(found, this.attempt, this.due));
      // A schedule that a user starts by hand is started once.
      if (report.result === "succeeded") this.due = undefined;
      this.options.onReport?.(report);
      if (!(await this.comesAgain(report))) return outcomeOf(report);
      if (report.failure) this.attempt++;
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

  /**
   * Cleans up after an object that is gone, or no longer one of those that are watched. Nothing on the object says what is left
   * of it.
   */
  private async clearUp(what: string): Promise<RunOutcome> {
    const nothing = done(`nothing to do: ${what} is gone`);
    if (!this.options.operator.watch) return nothing;
    this.object.watches.forget();
    const report = await this.patience.retried(() => this.object.reconcile(undefined, this.attempt));
    this.options.onReport?.(report);
    if (report.failure || report.problem !== undefined) return outcomeOf(report);
    return report.changes.length > 0 ? done(`cleaned up after ${what}: ${describeRun(report)}`) : nothing;
  }

  /** Waits for an event that is about to happen. False if there is none, or if it is too late. */
  private async comesAgain(report: ReconcileReport): Promise<boolean> {
    const { skipped, failure, againAfterMs, ready } = report;
    if (skipped === "changed during the run") return this.waitForChanges();
    if (skipped === "API server away") return this.waitToLookAgain(ASK_AGAIN_MS);
    if (failure?.retryAfterSeconds !== undefined && !failure.permanent)
      return this.waitToLookAgain(Math.max(SHORTEST_WAIT_MS, failure.retryAfterSeconds * 1000));
    if (failure || skipped !== undefined) return false;
    const dueAt = performance.now() + Math.max(SHORTEST_WAIT_MS, againAfterMs ?? Number.POSITIVE_INFINITY);
    const { until } = this.patience;
    if (ready !== false && dueAt > until) return false;
    const { signal } = this.options;
    const ms = Math.min(dueAt, until) - performance.now();
    // Waits first: a client may delete a child again and again.
    if (await this.object.watches.awaitNews(ms, mostUnreadyAfter(report), signal))
      return this.waitForChanges();
    if (dueAt > until || signal?.aborted) return false;
    // A handler that wants to be asked again wants to see the state at that time.
    this.object.watches.forget();
    return true;
  }

  /** Waits before another try, which reads everything again. False if that would be too late. */
  private async waitToLookAgain(ms: number): Promise<boolean> {
    const isInTime = await this.patience.wait(ms);
    if (isInTime) this.object.watches.forget();
    return isInTime;
  }

  private waitForChanges(): Promise<boolean> {
    const ms = this.paceMs;
    this.paceMs = Math.min(2 * ms, ASK_AGAIN_MS);
    return this.patience.wait(ms);
  }
}

/** How many children may still not be ready when another reconcile finds something new. Undefined: the run waits for no child. */
function mostUnreadyAfter({ ready, unready = 0, waits }: ReconcileReport): number | undefined {
  if (ready !== false) return undefined;
  if (!waits) return 0;
  // When a child becomes ready, the wait of other children may end. If none is left to become ready, no wait will end.
  return unready > 0 ? unready - 1 : undefined;
}

/** How a run ended. */
export interface RunOutcome {
  /** 0, or 1 if it failed. Argo then shows the pod, the node and the Workflow as failed. */
  readonly exitCode: 0 | 1;
  /** The last line of the log. */
  readonly message: string;
  /** The handler's answer as JSON, if it was only tried. */
  readonly answer?: string;
}

/** The outcome of a run that ends with this reconcile. */
function outcomeOf(report: ReconcileReport): RunOutcome {
  const { failure, skipped, ready, againAfterMs } = report;
  if (failure) return failed(describeRun(report));
  if (report.problem !== undefined) return failed(report.problem);
  if (skipped === "paused") return done("nothing to do: the object is paused");
  if (skipped === "gone") return done("nothing to do: the object is gone");
  // The object keeps changing. Another run waits, and this one has tried for long enough.
  if (skipped !== undefined) return done(describeRun(report));
  const rest = [
    ready === false ? "not every child is ready yet: another run follows when they are" : "",
    againAfterMs === undefined
      ? ""
      : `the handler is asked again after ${againAfterMs / 1000} s, by another run`,
  ];
  return done([describeRun(report), ...rest].filter((part) => part !== "").join("; "));
}

/** The outcome of a run that has not failed. @param message what it did */
function done(message: string): RunOutcome {
  return { exitCode: 0, message };
}

/** The outcome of a run that has failed. @param message why */
export function failed(message: string): RunOutcome {
  return { exitCode: 1, message };
}
