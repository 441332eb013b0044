import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { urlToHttpOptions } from "node:url";
import { within } from "../../base/clock";
import { postJson } from "../../base/http/postJson";
import { readBody } from "../../base/http/readBody";
import { isRecord } from "../../base/json";
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
  /** The pause after a first failure, in milliseconds. It doubles with each further one. @default 1000 */
  readonly firstPauseMs?: number;
}

/** The most spans that wait. Further ones are dropped. */
export const MOST_WAITING = 2_048;
const MOST_IN_A_REQUEST = 512;
const DELAY_MS = 2_000;
const TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A batch that failed this many times is dropped. Newer spans matter more. */
const MOST_TRIES = 5;

/**
 * Traces the runs of one operator: gives each its ids before it begins, and sends its spans when it has ended to a collector, by OTLP
 * over HTTP, in the background.
 *
 * Guarantees, each with a test in tests/unit/traceExporter.test.ts:
 * - No call waits, and none throws, whatever the collector does.
 * - At most `mostWaiting` spans are in memory. Further ones are dropped, and counted.
 * - One request is on its way at a time. The collector's Retry-After is heeded, up to a minute.
 * - A notice says once that spans are lost, until some are sent again.
 * - No notice contains a header or an answer of the collector.
 */
export class TraceExporter {
  /** Spans that the collector has taken. */
  sent = 0;
  /** Spans that were not sent and never will be, or that the collector refused. */
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

  /**
   * A run has ended. If there was nothing to do, or not now, nothing is sent. Never throws.
   * @param epochOf the clock, for a trace of several runs. @default {@link epochNow}
   */
  end(run: TracedRun, epochOf = epochNow()): void {
    const { report, trace } = run;
    const didNothing = report.result === "skipped" && report.changes.length === 0;
    if (trace.isSampled && !didNothing) this.sendMade(() => spansOf(run, epochOf));
  }

  /** Sends spans. If a fault in Argosy prevents this, only these spans are lost. */
  sendMade(make: () => readonly Span[]): void {
    try {
      this.add(make());
    } catch (error) {
      this.lose(1, `spans cannot be made: ${(error as Error).message}`);
    }
  }

  /** Accepts the spans of a trace. They are sent soon, or dropped if too many wait. */
  add(spans: readonly Span[]): void {
    const { mostWaiting = MOST_WAITING } = this.options;
    if (this.stopping.signal.aborted || this.waiting.length + spans.length > mostWaiting) {
      this.lose(spans.length, "too many spans wait");
      return;
    }
    this.waiting.push(...spans);
    this.sending ??= this.send();
  }

  /** Sends the spans that wait, for at most this long, and accepts no more. The rest is dropped. */
  async close(graceMs: number): Promise<void> {
    this.stopping.abort();
    await within(graceMs, this.sending ?? Promise.resolve());
    this.lose(this.waiting.splice(0).length, "the process ends");
  }

  /** Counts spans that are lost, and reports the loss if that is new. */
  private lose(count: number, why: string): void {
    if (count === 0) return;
    this.dropped += count;
    this.say(why);
  }

  private async send(): Promise<void> {
    await this.pause(this.options.delayMs ?? DELAY_MS);
    while (this.waiting.length > 0) await this.sendBatch(this.waiting.slice(0, MOST_IN_A_REQUEST));
    // In the same step as the last look at what waits, so that spans which come after that look begin to be sent too.
    this.sending = undefined;
  }

  private async sendBatch(batch: readonly Span[]): Promise<void> {
    const { url, headers, resource, timeoutMs = TIMEOUT_MS, firstPauseMs = FIRST_PAUSE_MS } = this.options;
    const body = otlpTraces(resource, batch);
    for (let tries = 1; ; tries++) {
      const posted = await post(url, headers, body, timeoutMs);
      if (posted.kind === "taken") return this.taken(batch.length, posted);
      const isLast = tries === MOST_TRIES || this.stopping.signal.aborted;
      if (!posted.isTemporary || isLast) {
        this.waiting.splice(0, batch.length);
        return this.lose(batch.length, posted.why);
      }
      this.say(posted.why);
      const pauseMs = posted.retryAfterMs ?? firstPauseMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
      await this.pause(Math.min(pauseMs, LONGEST_PAUSE_MS));
    }
  }

  private taken(count: number, { rejected }: Extract<Posted, { kind: "taken" }>): void {
    this.waiting.splice(0, count);
    const refused = Math.min(rejected, count);
    this.sent += count - refused;
    if (refused > 0) return this.lose(refused, "the collector refuses some of them");
    if (this.isFailing) this.options.onNotice("traces are sent again");
    this.isFailing = false;
  }

  private say(why: string): void {
    if (this.isFailing) return;
    this.isFailing = true;
    this.options.onNotice(
      `traces are not sent: ${why}. The metric argosy_spans_dropped_total counts what is lost`,
    );
  }

  /** Ends early when the exporter is closed. Waiting spans do not keep a process alive. */
  private pause(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: this.stopping.signal, ref: false }).catch(() => {});
  }
}

/** The wall clock as it is now, for times on the monotonic clock. The two drift apart in a process that lives for long. */
export function epochNow(): (monotonic: number) => number {
  const difference = Date.now() - performance.now();
  return (monotonic) => monotonic + difference;
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

/** The result of a request to a collector. */
export type Posted =
  /** @property rejected how many of the spans it has refused although it accepted the request */
  | { readonly kind: "taken"; readonly rejected: number }
  | {
      readonly kind: "refused";
      /** Why it failed, without any text that the collector wrote or was sent. */
      readonly why: string;
      /** Whether another try may succeed. */
      readonly isTemporary: boolean;
      readonly retryAfterMs?: number | undefined;
    };

/** Codes at which another try may succeed (https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes). */
const TEMPORARY = [429, 502, 503, 504];
/** The longest answer that is read, in bytes. The only content is how many spans were refused. */
const MOST_BYTES = 64 * 1024;

/** Posts spans to a collector. Never throws, and ends after `timeoutMs` whatever the collector does. Follows no redirection. */
export async function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
): Promise<Posted> {
  try {
    const response = await postJson({ ...urlToHttpOptions(url), headers }, body, timeoutMs);
    return outcome(response, (await readBody(response, MOST_BYTES)) ?? "");
  } catch (error) {
    const { name, code = "no code" } = error as NodeJS.ErrnoException;
    const isLate = name === "AbortError" || name === "TimeoutError";
    const why = isLate
      ? `the collector gave no answer within ${timeoutMs / 1000} s`
      : `the collector cannot be reached (${code})`;
    return { kind: "refused", why, isTemporary: true };
  }
}

function outcome({ statusCode = 0, headers }: IncomingMessage, text: string): Posted {
  if (statusCode >= 200 && statusCode < 300) return { kind: "taken", rejected: rejectedIn(text) };
  const why = `the collector answered ${statusCode}`;
  const isTemporary = TEMPORARY.includes(statusCode);
  return { kind: "refused", why, isTemporary, ...(isTemporary && { retryAfterMs: retryAfterIn(headers) }) };
}

function rejectedIn(text: string): number {
  try {
    const answer: unknown = JSON.parse(text);
    const partial = isRecord(answer) ? answer["partialSuccess"] : undefined;
    const rejected = isRecord(partial) ? Number(partial["rejectedSpans"]) : 0;
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}

/** A header of seconds, or of a date. */
function retryAfterIn({ "retry-after": after }: IncomingHttpHeaders): number | undefined {
  if (after === undefined) return undefined;
  const ms = /^\d+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
