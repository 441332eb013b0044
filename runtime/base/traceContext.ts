import { randomBytes } from "node:crypto";

/** The ids of one trace that must be known before its run begins. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The span of the run, as 16 hexadecimal digits. */
  readonly rootId: string;
  /** The span in which the handler is asked, as 16 hexadecimal digits: the parent of the handler's own spans. */
  readonly handlerId: string;
  /** Whether the trace is sent. If not, the handler's own spans should not be sent either. */
  readonly isSampled: boolean;
}

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
/** A number of 48 bits: the most that a Buffer reads at once. */
const RATIO_BYTES = 6;

/**
 * A new trace.
 * @param ratio how many of all traces are sent, from 0 to 1
 * @param random gives this many random bytes
 */
export function newTrace(ratio: number, random: (bytes: number) => Buffer = randomBytes): TraceContext {
  const id = random(TRACE_BYTES);
  // The end of a trace id is random in all versions of the standard.
  const drawn = id.readUIntBE(TRACE_BYTES - RATIO_BYTES, RATIO_BYTES) / 2 ** (8 * RATIO_BYTES);
  return {
    traceId: nonZero(id),
    rootId: newSpanId(random),
    handlerId: newSpanId(random),
    isSampled: drawn < ratio,
  };
}

/** The id of a span: 16 hexadecimal digits. */
export function newSpanId(random: (bytes: number) => Buffer = randomBytes): string {
  return nonZero(random(SPAN_BYTES));
}

/** A trace as the header `traceparent` has it (https://www.w3.org/TR/trace-context), with the handler's span as the parent. */
export function traceparentOf({ traceId, handlerId, isSampled }: TraceContext): string {
  return `00-${traceId}-${handlerId}-${isSampled ? "01" : "00"}`;
}

/** An id of only zeros means that there is none. */
function nonZero(id: Buffer): string {
  return id.every((byte) => byte === 0) ? `${"0".repeat(2 * id.length - 1)}1` : id.toString("hex");
}
