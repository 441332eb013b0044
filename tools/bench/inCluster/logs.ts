import { writeFile } from "node:fs/promises";
import type { Objects } from "../../objects";
import { POD } from "./readiness";

/** A line of a container's log. */
export interface LogLine {
  /** The time when the container runtime read the line, by the node's clock, in milliseconds since the epoch with a fraction. */
  readonly time: number;
  readonly text: string;
}

/** The container whose log is read. */
export interface LogSource {
  readonly namespace: string;
  readonly labelSelector: string;
  /** @default the pod's only one */
  readonly container?: string;
}

/** The lines of a container of every pod with these labels, in the order of time. A pod that has no log yet has none. */
export async function readLogs(objects: Objects, source: LogSource, since: number): Promise<LogLine[]> {
  const { namespace, labelSelector, container } = source;
  const pods = await objects.list(POD, namespace, labelSelector);
  const query = new URLSearchParams({
    timestamps: "true",
    // Whole seconds. Lines that are too old are left out below.
    sinceTime: new Date(Math.floor(since / 1000) * 1000).toISOString().replace(".000Z", "Z"),
    ...(container !== undefined && { container }),
  });
  const texts = await Promise.all(
    pods.map(({ metadata: { name } }) =>
      objects.text(`/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`).catch(() => ""),
    ),
  );
  return texts
    .flatMap(parseLog)
    .filter(({ time }) => time >= since)
    .sort((one, other) => one.time - other.time);
}

/** Writes the logs of all containers in some namespaces, including those before a restart, to a file. */
export async function keepLogs(objects: Objects, namespaces: readonly string[], file: string): Promise<void> {
  const pods = await Promise.all(namespaces.map((namespace) => objects.list(POD, namespace)));
  const texts = pods.flat().flatMap(({ metadata: { name, namespace }, spec }) =>
    containersOf(spec).flatMap((container) =>
      ["false", "true"].map(async (previous) => {
        const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?container=${container}&previous=${previous}`;
        const text = await objects.text(path).catch(() => "");
        return (
          text && `=== ${namespace}/${name} ${container}${previous === "true" ? ", before" : ""}\n${text}\n`
        );
      }),
    ),
  );
  await writeFile(file, (await Promise.all(texts)).join(""));
}

function containersOf(spec: unknown): string[] {
  const { initContainers = [], containers = [] } = spec as Record<string, { name: string }[]>;
  return [...initContainers, ...containers].map(({ name }) => name);
}

/** Lines as `kubectl logs --timestamps` prints them. */
function parseLog(text: string): LogLine[] {
  return text.split("\n").flatMap((line) => {
    const space = line.indexOf(" ");
    const time = parseTime(line.slice(0, space));
    return time === undefined ? [] : [{ time, text: line.slice(space + 1) }];
  });
}

/** RFC 3339 with any number of digits after the second: JavaScript itself keeps only three digits of "…12.345678901Z". */
export function parseTime(text: string): number | undefined {
  const [, seconds, fraction = "", zone] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  return seconds === undefined ? undefined : Date.parse(seconds + zone) + Number(`0${fraction}`) * 1000;
}
