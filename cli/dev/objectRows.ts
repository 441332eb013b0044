import { clean } from "../../runtime/base/text";
import type { ObjectState, ReconcileReport } from "../../runtime/cli";
import type { ObjectRow } from "./objectTable";

/** An operator, and its known objects. */
export interface RowSource {
  readonly operator: string;
  /** The objects' kind. */
  readonly kind: string;
  readonly objects: readonly ObjectState[];
}

/** The results of an object's last run. */
interface LastRun extends Pick<ObjectRow, "ready" | "reason" | "children"> {
  readonly uid: string | undefined;
  readonly endedAt: number;
  readonly tookMs: number;
  readonly failed: boolean;
}

/** The rows of the table: the objects that the engines know, with what the last run of each showed. */
export class ObjectRows {
  private lastRuns = new Map<string, LastRun>();

  /** @param now a monotonic clock, in milliseconds. @default performance.now */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Records the report of a run. */
  report(report: ReconcileReport): void {
    const verdict = verdictOf(report);
    if (!verdict) return;
    const key = keyOf(report.operator, report);
    const { uid, durationMs: tookMs } = report;
    // A failure says nothing about the children: those that were counted before still exist.
    const before = this.lastRuns.get(key);
    const children = report.children ?? (before?.uid === uid ? before?.children : undefined);
    const failed = report.result === "failed";
    this.lastRuns.set(key, { ...verdict, children, uid, tookMs, failed, endedAt: this.now() });
  }

  /** A row for each object. All other objects are forgotten. */
  rows(sources: readonly RowSource[]): ObjectRow[] {
    const known = new Map<string, LastRun>();
    const rows = sources.flatMap(({ operator, kind, objects }) =>
      objects.map((object): ObjectRow => {
        const key = keyOf(operator, object);
        const last = this.lastRuns.get(key);
        // An object of that name that was deleted says nothing about this one.
        const run = last && (object.uid === undefined || last.uid === object.uid) ? last : undefined;
        if (run) known.set(key, run);
        const { namespace, name } = object;
        return {
          kind,
          namespace,
          name,
          ready: run?.ready ?? "Unknown",
          reason: run?.reason ?? "",
          next: nextOf(object, run),
          children: run?.children,
          lastRun: run && { agoMs: this.now() - run.endedAt, tookMs: run.tookMs },
        };
      }),
    );
    this.lastRuns = known;
    return rows;
  }
}

function keyOf(operator: string, { namespace = "", name }: { namespace?: string | undefined; name: string }) {
  return `${operator} ${namespace}/${name}`;
}

/** The object's Ready condition after that run. Undefined if the run says nothing about the object. */
function verdictOf({
  result,
  skipped,
  event,
  ready,
  failure,
}: ReconcileReport): Pick<LastRun, "ready" | "reason"> | undefined {
  if (result === "skipped") return skipped === "paused" ? { ready: "Unknown", reason: "paused" } : undefined;
  if (result === "failed") return { ready: "False", reason: clean(failure?.reason ?? "Failed", 64) };
  if (event === "finalize") return { ready: "False", reason: "Finalizing" };
  return ready === false
    ? { ready: "False", reason: "ChildrenNotReady" }
    : { ready: "True", reason: "Reconciled" };
}

/** The next step for an object, in a few words. */
function nextOf(
  { state, attempt, workingMs = 0, dueInMs = 0 }: ObjectState,
  run: LastRun | undefined,
): string {
  const again = attempt > 1 ? `try ${attempt}` : "";
  switch (state) {
    case "working":
      // Most runs end before a user could read about them.
      return workingMs < 1_000 ? again : `${again || "running"} ${seconds(workingMs)}`;
    case "ready":
      return again ? `${again} waits` : "waits";
    case "delayed":
      return `${again ? `${again} ` : ""}in ${seconds(dueInMs)}`;
    case "idle":
      return run?.failed ? "on change" : "";
  }
}

function seconds(ms: number): string {
  const whole = Math.round(ms / 1_000);
  if (whole < 120) return `${whole} s`;
  return whole < 7_200 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3_600)} h`;
}
