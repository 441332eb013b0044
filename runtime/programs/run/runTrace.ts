import type { KubernetesObject } from "../../base/objects";
import { partOf, type TraceContext } from "../../base/traceContext";
import type { ReconcileReport } from "../../reconcile/report";
import { epochNow, type TraceExporter } from "../../report/traces/exporter";
import { type ReportTime, spansOfPod } from "../../report/traces/spans";

/** The run of a {@link RunTrace}. */
export interface RunTraceOptions {
  readonly traces: TraceExporter;
  readonly operator: string;
  /** The custom resource's kind. */
  readonly kind: string;
  readonly workflow: KubernetesObject;
  /** When the engine began in the pod, on the monotonic clock, in milliseconds. */
  readonly from: number;
}

/** The one trace of a run in a pod of its own. Each of its reconciles is a part of the trace. */
export class RunTrace {
  private readonly trace: TraceContext;
  /** One for all spans: the wall clock has whole milliseconds, and two readings differ by up to one. */
  private readonly epochOf = epochNow();

  constructor(private readonly options: RunTraceOptions) {
    this.trace = options.traces.begin();
  }

  /** The ids of a reconcile that begins. */
  begin(): TraceContext {
    return partOf(this.trace, this.trace.rootId);
  }

  /** A reconcile has ended. */
  ended(trace: TraceContext, report: ReconcileReport, reportTime: ReportTime | undefined): void {
    const { traces, workflow } = this.options;
    traces.end({ trace, report, run: workflow.metadata.name, reportTime }, this.epochOf);
  }

  /** The run has ended. @param error why it failed. Undefined if it did not */
  finish(error: string | undefined): void {
    const { traces, operator, kind, workflow, from } = this.options;
    const { trace, epochOf } = this;
    if (!trace.isSampled) return;
    const { name: run, creationTimestamp = "" } = workflow.metadata;
    const created = Date.parse(creationTimestamp);
    const submittedAt = Number.isNaN(created) ? undefined : created;
    const to = performance.now();
    traces.sendMade(() => spansOfPod({ trace, operator, kind, run, submittedAt, from, to, error }, epochOf));
  }
}
