import { urlToHttpOptions } from "node:url";
import { sleep, within } from "../../base/clock";
import { postJson } from "../../base/http/postJson";
import { newTrace, type TraceContext } from "../../base/traceContext";
import { type Attributes, type Span, spansOf, type TracedRun } from "./spans";

/** How a {@link TraceExporter} sends. */
export interface TraceExporterOptions {
  /** The address for spans: the collector's, with the path `/v1/traces`. */
  readonly url: URL;
  /** Further headers. They may be secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** How many of all runs are traced, from 0 to 1. @default 1 */
  readonly ratio?: number;
  /** Attributes of the process that sends. */
  readonly resource: Attributes;
  /** Called when spans begin to be lost, and when they are sent again. Not called at each try. */
  readonly onNotice: (notice: string) => void;
  /** The most spans that wait. @default 2048 */
  readonly mostWaiting?: number;
  /** How long spans are collected before they are sent, in milliseconds. @default 2000 */
  readonly delayMs?: number;
  /** How long the collector may take to answer, in milliseconds. @default 10000 */
  readonly timeoutMs?: number;
  /** The pause before a collector that is away or busy is asked again, in milliseconds. @default 5000 */
  readonly retryMs?: number;
}

/** The most spans that wait. Further ones are dropped. */
export const MOST_WAITING = 2_048;
const MOST_IN_A_REQUEST = 512;
const DELAY_MS = 2_000;
const TIMEOUT_MS = 10_000;
const RETRY_MS = 5_000;
/** With these codes another try may succeed (https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes). 0: no answer. */
const TEMPORARY = [0, 429, 502, 503, 504];

/**
 * Traces the runs of one operator: gives each its ids before it begins, and sends its spans when it has ended to a collector, by OTLP
 * over HTTP, in the background.
 *
 * Guarantees, each with a test in tests/unit/traceExporter.test.ts:
 * - No call waits, and none throws, whatever the collector does.
 * - At most `mostWaiting` spans are in memory. Further ones are dropped, and counted.
 * - One request is on its way at a time. A collector that is away or busy is asked again every few seconds.
 * - A notice says once that spans are lost or late, until some are sent again.
 * - No notice contains a header or an answer of the collector.
 */
export class TraceExporter {
  /** Spans that the collector has taken. */
  sent = 0;
  /** Spans that were not sent and never will be. */
  dropped = 0;
  private readonly waiting: Span[] = [];
  private readonly stopping = new AbortController();
  private isFailing = false;
  private sending: Promise<void> | undefined;

  constructor(private readonly options: TraceExporterOptions) {}

  /** The ids of a run that begins. */
  begin(): TraceContext {
    return newTrace(this.options.ratio ?? 1);
  }

  /** A run has ended. If there was nothing to do, or not now, nothing is sent. Never throws. */
  end(run: TracedRun): void {
    const { report, trace } = run;
    const didNothing = report.result === "skipped" && report.changes.length === 0;
    // The wall clock and the monotonic one drift apart in a process that lives for long.
    const difference = Date.now() - performance.now();
    if (trace.isSampled && !didNothing) this.add(() => spansOf(run, (monotonic) => monotonic + difference));
  }

  /**
   * Accepts the spans of a trace. They are sent soon, or dropped if too many wait.
   * @param make if a fault in Argosy lets it throw, only these spans are lost
   */
  add(make: () => readonly Span[]): void {
    const { mostWaiting = MOST_WAITING } = this.options;
    try {
      const spans = make();
      if (this.stopping.signal.aborted || this.waiting.length + spans.length > mostWaiting)
        return this.lose(spans.length, "too many spans wait");
      this.waiting.push(...spans);
      this.sending ??= this.send();
    } catch (error) {
      this.lose(1, `spans cannot be made: ${(error as Error).message}`);
    }
  }

  /** Sends the spans that wait, for at most this long, and accepts no more. The rest is dropped. */
  async close(graceMs: number): Promise<void> {
    this.stopping.abort();
    await within(graceMs, this.sending ?? Promise.resolve());
    this.lose(this.waiting.splice(0).length, "the process ends");
  }

  private async send(): Promise<void> {
    const { resource, delayMs = DELAY_MS, retryMs = RETRY_MS } = this.options;
    await this.pause(delayMs);
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, MOST_IN_A_REQUEST);
      const { code, why } = await this.post(otlpTraces(resource, batch));
      if (TEMPORARY.includes(code) && !this.stopping.signal.aborted) {
        this.say(why);
        await this.pause(retryMs);
        continue;
      }
      // None of them is left if the process did not wait for the answer.
      const { length } = this.waiting.splice(0, batch.length);
      if (code >= 200 && code < 300) this.taken(length);
      else this.lose(length, why);
    }
    // In the same step as the last look at what waits, so that spans which come after that look begin to be sent too.
    this.sending = undefined;
  }

  /** Never throws, and ends in time whatever the collector does. @returns `code`: 0 if there was no answer */
  private async post(body: string): Promise<{ readonly code: number; readonly why: string }> {
    const { url, headers, timeoutMs = TIMEOUT_MS } = this.options;
    try {
      const code = await postJson({ ...urlToHttpOptions(url), headers }, body, timeoutMs);
      return { code, why: `the collector answered ${code}` };
    } catch (error) {
      const { name, code = "no code" } = error as NodeJS.ErrnoException;
      const isLate = name === "AbortError" || name === "TimeoutError";
      const late = `the collector gave no answer within ${timeoutMs / 1000} s`;
      return { code: 0, why: isLate ? late : `the collector cannot be reached (${code})` };
    }
  }

  private taken(count: number): void {
    this.sent += count;
    if (this.isFailing) this.options.onNotice("traces are sent again");
    this.isFailing = false;
  }

  /** Counts spans that are lost, and reports the loss if that is new. */
  private lose(count: number, why: string): void {
    this.dropped += count;
    if (count > 0) this.say(why);
  }

  private say(why: string): void {
    if (this.isFailing) return;
    this.isFailing = true;
    this.options.onNotice(
      `traces are not sent: ${why}. The metric argosy_spans_dropped_total counts what is lost`,
    );
  }

  /** Ends early when the exporter is closed. */
  private pause(ms: number): Promise<void> {
    return sleep(ms, this.stopping.signal).catch(() => {});
  }
}

/**
 * Spans in the JSON encoding of OTLP 1.x, for `POST /v1/traces`
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hexadecimal, 64-bit numbers are texts, and enums
 * are numbers.
 *
 * The encoding is our own, and one page long. OpenTelemetry's exporter for JavaScript with its SDK bundles to 300 KB, in addition
 * to an engine of half a megabyte that every runner holds in memory.
 * @param resource attributes of the process that sends them
 */
export function otlpTraces(resource: Attributes, spans: readonly Span[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [{ scope: { name: "argosy" }, spans: spans.map(spanOf) }],
      },
    ],
  });
}

const KIND_INTERNAL = 1;
const STATUS_ERROR = 2;

function spanOf({ traceId, spanId, parentId, name, from, to, attributes, error }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name,
    kind: KIND_INTERNAL,
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(to),
    attributes: keyValues(attributes),
    status: error === undefined ? {} : { code: STATUS_ERROR, message: error },
  };
}

function keyValues(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Milliseconds as a text of nanoseconds. We know only milliseconds. */
function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1_000))}000`;
}
