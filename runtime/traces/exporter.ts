import { within } from "../limits/within";
import { otlpTraces } from "./otlp";
import { type Posted, post } from "./post";
import type { TraceSettings } from "./settings";
import type { Attributes, Span } from "./spans";

/** How a {@link TraceExporter} sends. */
export interface TraceExporterOptions extends Pick<TraceSettings, "url" | "headers"> {
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

const MOST_WAITING = 2_048;
const MOST_IN_A_REQUEST = 512;
const DELAY_MS = 2_000;
const TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A batch that failed this many times is dropped. Newer spans matter more. */
const MOST_TRIES = 5;

/**
 * Sends spans to a collector, by OTLP over HTTP, beside the work.
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
  private endPause: () => void = () => {};

  constructor(private readonly options: TraceExporterOptions) {}

  /** Takes the spans of a trace. They are sent soon, or dropped if too many wait. */
  add(spans: readonly Span[]): void {
    const { mostWaiting = MOST_WAITING } = this.options;
    if (this.stopping.signal.aborted || this.waiting.length + spans.length > mostWaiting) {
      this.lose(spans.length, "too many spans wait");
      return;
    }
    this.waiting.push(...spans);
    this.sending ??= this.send();
  }

  /** Sends the spans that wait, for at most this long, and takes no more. The rest is dropped. */
  async close(graceMs: number): Promise<void> {
    this.endPause();
    this.stopping.abort();
    await within(graceMs, this.sending ?? Promise.resolve());
    this.lose(this.waiting.splice(0).length, "the process ends");
  }

  /** Counts spans that are lost, and reports the loss if that is new. */
  lose(count: number, why: string): void {
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

  /** Ends early when the exporter is closed. */
  private async pause(ms: number): Promise<void> {
    if (this.stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      // Waiting spans do not keep a process alive.
      const timer = setTimeout(resolve, ms).unref();
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
