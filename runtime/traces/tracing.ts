import { newTrace, type TraceContext } from "./context";
import type { TraceExporter } from "./exporter";
import { type Span, spansOf, type TracedRun } from "./spans";

/** Traces the runs of one operator: gives each its ids before it begins, and sends its spans when it has ended. */
export class Tracing {
  /**
   * @param exporter takes the spans
   * @param ratio how many of all runs are traced, from 0 to 1
   */
  constructor(
    private readonly exporter: Pick<TraceExporter, "add" | "close" | "lose" | "sent" | "dropped">,
    private readonly ratio: number,
  ) {}

  /** How many spans were sent and dropped until now. */
  get figures(): { readonly sent: number; readonly dropped: number } {
    return this.exporter;
  }

  /** The ids of a run that begins. */
  begin(): TraceContext {
    return newTrace(this.ratio);
  }

  /**
   * A run has ended. If there was nothing to do, or not now, nothing is sent. Never throws.
   * @param epochOf the clock, for a trace of several runs. @default {@link epochNow}
   */
  end(run: TracedRun, epochOf = epochNow()): void {
    const { report, trace } = run;
    const didNothing = report.result === "skipped" && report.changes.length === 0;
    if (trace.isSampled && !didNothing) this.send(() => spansOf(run, epochOf));
  }

  /** Sends spans. If a fault in Argosy prevents this, only these spans are lost. */
  send(make: () => readonly Span[]): void {
    try {
      this.exporter.add(make());
    } catch (error) {
      this.exporter.lose(1, `spans cannot be made: ${(error as Error).message}`);
    }
  }

  /** Sends the spans that wait, for at most this long, in milliseconds. */
  close(graceMs: number): Promise<void> {
    return this.exporter.close(graceMs);
  }
}

/** The wall clock as it is now, for times on the monotonic clock. The two drift apart in a process that lives for long. */
export function epochNow(): (monotonic: number) => number {
  const difference = Date.now() - performance.now();
  return (monotonic) => monotonic + difference;
}
