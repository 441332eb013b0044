import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { KubernetesObject } from "../../runtime/base/objects";
import { resourcePath } from "../../runtime/base/resource";
import { LineSplitter } from "../../runtime/base/text";
import { ApiError, ApiUnreachableError, type HttpTransport, isApiError, PODS } from "../../runtime/cli";

/** The schema of a {@link PodLine}. */
export const POD_LINE = z.strictObject({
  pod: z.string(),
  container: z.string(),
  time: z.string().optional().describe("The time, as RFC 3339. Left out if the kubelet gave none."),
  text: z.string(),
});

/** A line that a container wrote. */
export type PodLine = Readonly<z.infer<typeof POD_LINE>>;

/** One container's log. */
export interface LogSource {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The containers of pods that have a log: those that have started. */
export function sourcesOf(pods: readonly KubernetesObject[], containers: readonly string[]): LogSource[] {
  return pods.flatMap(({ metadata: { name: pod, namespace = "" }, spec }) => {
    const there = ((spec ?? {}) as { containers?: readonly { name: string }[] }).containers ?? [];
    return there
      .filter(({ name }) => containers.includes(name))
      .map(({ name: container }) => ({ namespace, pod, container }));
  });
}

/** How {@link readLog} reads. */
export interface ReadOptions {
  /** How many of the last lines. */
  readonly tail: number;
  /** Instead: all lines since this second. RFC 3339. */
  readonly since?: string | undefined;
  /** Whether to wait for further lines. */
  readonly follow: boolean;
  /** Ends it. @default nothing ends it early */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a container's log to its end, or until the signal aborts. A container that has not started, or that no longer exists, has
 * no lines.
 */
export async function readLog(
  transport: HttpTransport,
  { namespace, pod, container }: LogSource,
  options: ReadOptions,
  onLine: (line: PodLine) => void,
): Promise<void> {
  const query = new URLSearchParams({
    container,
    timestamps: "true",
    ...(options.since === undefined
      ? { tailLines: String(options.tail) }
      : { sinceTime: options.since.replace(/\.\d+/, "") }),
    ...(options.follow && { follow: "true" }),
  });
  const path = `${resourcePath(PODS, { namespace, name: pod }, "log")}?${query}`;
  const { signal } = options;
  const tell = (line: string) => {
    const [, time, text = line] = /^(\d{4}-\d\d-\d\dT\S+) ([\s\S]*)$/.exec(line) ?? [];
    onLine({ pod, container, ...(time !== undefined && { time }), text });
  };
  try {
    const response = await transport.open({ method: "GET", path, accept: "*/*", ...(signal && { signal }) });
    const lines = new LineSplitter();
    for await (const chunk of chunksOf(response, `GET ${path}`))
      for (const line of lines.push(chunk)) tell(line);
  } catch (error) {
    if (signal?.aborted) return;
    // 400: the container has not started. 404: the pod no longer exists.
    if (!isApiError(error, 400) && !isApiError(error, 404)) throw error;
  }
}

/** The chunks of an answer. @throws ApiUnreachableError if the connection breaks */
async function* chunksOf(response: AsyncIterable<Buffer>, request: string): AsyncIterable<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw new ApiUnreachableError(request, error as Error);
  }
}

/** How often new pods are searched while logs are followed, because a roll-out creates new pods. */
const LOOK_MS = 2_000;

const PODS_OF_OPERATOR = "the operator's pods";

/** How {@link followLogs} follows. */
export interface FollowOptions {
  /** How many of each container's last lines are shown first. */
  readonly tail: number;
  readonly signal?: AbortSignal;
  readonly lookMs?: number;
  /** Called with what cannot be read now, and why: once, until it could be read. */
  onTrouble(what: string, error: Error): void;
}

/**
 * Follows the logs of all existing and new containers until the signal aborts. If a stream ends, for example after two minutes
 * without a line, it is resumed after its last line. What cannot be read is tried again.
 * @throws ApiError if the account has no right to read, or is not recognized; anything that is neither an ApiError nor an
 *   ApiUnreachableError
 */
export async function followLogs(
  transport: HttpTransport,
  look: () => Promise<readonly LogSource[]>,
  { signal, tail, lookMs = LOOK_MS, onTrouble }: FollowOptions,
  onLine: (line: PodLine) => void,
): Promise<void> {
  const failed = new AbortController();
  const ended = AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]);
  const followed = new Set<string>();
  /** The time of the last line of each container. */
  const shown = new Map<string, string>();
  const troubled = new Set<string>();
  const fail = (what: string, error: unknown) => {
    if (!mayPass(error)) return failed.abort(error);
    if (ended.aborted || troubled.has(what)) return;
    troubled.add(what);
    onTrouble(what, error);
  };
  const follow = async (source: LogSource, key: string) => {
    const since = shown.get(key);
    const what = `the log of ${key}`;
    try {
      await readLog(transport, source, { tail, since, follow: true, signal: ended }, (line) => {
        troubled.delete(what);
        // The kubelet counts in whole seconds.
        const { time = "" } = line;
        if (since !== undefined && time <= since) return;
        shown.set(key, time);
        onLine(line);
      });
    } catch (error) {
      // If the API server does not answer, the next look says so. A container that writes nothing is silent as well.
      if (!(error instanceof ApiUnreachableError)) fail(what, error);
    } finally {
      followed.delete(key);
    }
  };
  while (!ended.aborted) {
    try {
      const sources = await look();
      troubled.delete(PODS_OF_OPERATOR);
      for (const source of sources) {
        const key = `${source.pod}/${source.container}`;
        if (followed.has(key)) continue;
        followed.add(key);
        void follow(source, key);
      }
    } catch (error) {
      fail(PODS_OF_OPERATOR, error);
    }
    await sleep(lookMs, undefined, { signal: ended }).catch(() => {});
  }
  failed.signal.throwIfAborted();
}

/** Whether the same request may succeed later without another right or login. */
function mayPass(error: unknown): error is ApiError | ApiUnreachableError {
  if (error instanceof ApiUnreachableError) return true;
  return error instanceof ApiError && error.code !== 401 && error.code !== 403;
}
