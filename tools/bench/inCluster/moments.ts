import type { Passage } from "../measure";
import type { LogLine } from "./logs";
import type { Moments } from "./stages";

/** The logs of all parts while objects were created one by one. */
export interface PathLogs {
  readonly eventSource: readonly LogLine[];
  readonly sensor: readonly LogLine[];
  readonly runner: readonly LogLine[];
}

/** Messages of the event source and the sensor (argo-events v1.9.11: pkg/eventsources, pkg/sensors, pkg/eventbus). */
const DETECTED = "detected create event";
const PUBLISHED = "Succeeded to publish an event";
const TRIGGERED = "Triggering actions after receiving dependency";
const REQUESTED = ["Making a http request", "creating the object"] as const;
const PROCESSED = "Successfully processed trigger";

/** The fields of a line of the runner's log that are used here. */
interface RunnerLine {
  readonly time?: string;
  readonly message?: string;
  readonly object?: string;
  readonly durationMs?: number;
  readonly handlerMs?: number;
  readonly changes?: readonly string[];
}

/** How many events the sensor has finished. It is late if these are fewer than the objects. */
export function processedEvents(sensor: readonly LogLine[]): number {
  return saying(sensor, PROCESSED).length;
}

/**
 * The moments of each object. Event source and sensor do not name objects, but they handle events one after another, so the first
 * creation belongs to the first object. If they report more or fewer events than objects, nothing is concluded.
 *
 * @param timeOrigin the start of `performance.now()`, in milliseconds since the epoch
 */
export function momentsOf(passages: readonly Passage[], logs: PathLogs, timeOrigin: number): Moments[] {
  const oneEach = (lines: readonly LogLine[]) => (lines.length === passages.length ? lines : []);
  const detected = oneEach(saying(logs.eventSource, DETECTED));
  const triggered = oneEach(saying(logs.sensor, TRIGGERED));
  const requested = oneEach(saying(logs.sensor, ...REQUESTED));
  const processed = oneEach(saying(logs.sensor, PROCESSED));
  const published = new Map(
    saying(logs.eventSource, PUBLISHED).map(({ time, text }) => [idOf(text, "eventID"), time]),
  );
  const runs = runsOf(logs.runner);
  return passages.map(({ name, sentAt, answeredAt, seenAt }, index) => {
    const end = processed[index];
    const id = end && idOf(end.text, "triggeredByEvents");
    return defined({
      sent: timeOrigin + sentAt,
      answered: timeOrigin + answeredAt,
      detected: detected[index]?.time,
      published: id === undefined ? undefined : published.get(id),
      triggered: triggered[index]?.time,
      requested: requested[index]?.time,
      processed: end?.time,
      ...runs.get(name),
      seen: timeOrigin + seenAt,
    });
  });
}

/** The runner's reports about the first run of each object that changed something, by the object's name. */
function runsOf(lines: readonly LogLine[]): Map<string, Moments> {
  const runs = new Map<string, Moments>();
  for (const line of lines) {
    const { time, object, durationMs, handlerMs, changes } = read(line.text);
    const name = object?.split("/").at(-1);
    if (name === undefined || time === undefined || durationMs === undefined) continue;
    if (!changes || runs.has(name)) continue;
    const runEnded = Date.parse(time);
    const runBegun = runEnded - durationMs;
    runs.set(name, defined({ runBegun, runEnded, handlerMs }));
  }
  return runs;
}

function read(text: string): RunnerLine {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** The id of a field "eventID":"…", or the first of "triggeredByEvents":["…"]. */
function idOf(text: string, field: string): string | undefined {
  return new RegExp(`"${field}":\\s*\\[?"([^"]+)"`).exec(text)?.[1];
}

function saying(lines: readonly LogLine[], ...words: readonly string[]): LogLine[] {
  return lines.filter(({ text }) => words.some((word) => text.includes(word)));
}

function defined(moments: { readonly [Name in keyof Moments]: number | undefined }): Moments {
  return Object.fromEntries(Object.entries(moments).filter(([, time]) => time !== undefined));
}
