import type { Attributes, Span } from "./spans";

/**
 * Spans in the JSON encoding of OTLP 1.x, for `POST /v1/traces`
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hexadecimal, 64-bit numbers are texts, and enums
 * are numbers.
 *
 * The encoding is our own, and one page long. OpenTelemetry's exporter for JavaScript with its SDK bundles to 300 KB, beside an
 * engine of half a megabyte that every runner holds in memory.
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
