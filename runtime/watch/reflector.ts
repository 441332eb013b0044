import { setTimeout } from "node:timers/promises";
import { readJson } from "../json/json";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, type ApiStatus, retryAfterMs } from "../kubernetes/errors";
import type { Selection } from "../kubernetes/list";
import { formatName, isNewer, type KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { LineSplitter } from "../text/lines";
import { FIRST_PAUSE_MS, GrowingPause } from "./growingPause";
import { type Step, WatchFailures } from "./watchFailures";

/** Receives what a {@link Reflector} sees, in the order of the API server. */
export interface ReflectorSink {
  /** The API server is about to be asked for a list. The objects in the list may be as old as this call, and no older. */
  asking?(): void;
  /**
   * A list begins: {@link set} is called for everything that exists, then {@link listed}.
   * @param isReset whether the API server is at an earlier version than before, as after a restore of etcd. The known objects do
   *   not count then
   * @param resourceVersion the version of the list: it shows every object as it was then
   */
  listing(isReset: boolean, resourceVersion: string): void;
  /**
   * An object as it is now.
   * @param isListed whether a list has it. If not, a watch reports that it was created or changed
   */
  set(object: KubernetesObject, isListed: boolean): void;
  /** The list of that version is complete. Objects that are not newer and were not set since {@link listing} are gone. */
  listed(resourceVersion: string): void;
  /** An object was deleted, or no longer has the labels that are selected. */
  remove(object: KubernetesObject): void;
}

/** The kind that a {@link Reflector} watches, and the callbacks that it calls. */
export interface ReflectorOptions extends Selection {
  readonly client: KubernetesClient;
  readonly resource: Resource;
  readonly sink: ReflectorSink;
  /** The version from which it watches: everything is known up to there. @default it lists first */
  readonly from?: string;
  /** Called for each interruption, before the reflector tries again by itself, and for each object that the sink refused. */
  readonly onInterruption?: (error: Error) => void;
  /** Called when a list is complete after none was, or after the API server refused one. */
  readonly onSynced?: () => void;
  /** Called when {@link Reflector.problem} has another code than before, or is new. */
  readonly onRefused?: (error: Error) => void;
  /**
   * Whether the API server answers other lists now. It is called when the API server has failed for a while to answer this one.
   * If the API server answers others, the failure counts as a refusal. @default only 403 and 404 count as refusals
   */
  readonly answersOthers?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
  /** Waits this many milliseconds before another try. Rejects when the signal ends it. @default a timer */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

type WatchEvent =
  | { type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; object: KubernetesObject }
  | { type: "ERROR"; object: ApiStatus };

const LONGEST_RETRY_MS = 4_000;
/**
 * A kind that can be listed, and not watched from that list on, is listed about this often at least, in milliseconds. A list costs
 * more than another try of a watch.
 */
const LONGEST_RELIST_MS = 30_000;
/** A watch has succeeded if it lasted for this long, in milliseconds. */
const LASTING_MS = 4_000;

function pauseByTimer(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal });
}

/**
 * Keeps a sink in step with the API server: lists, then watches from there with bookmarks. When a watch ends, it continues from
 * the last version seen. It lists again if the server has forgotten that version (410), if the server is behind that version, and
 * when a caller asks for it. A kind that can be listed, and not watched from there, is listed again and again, less and less often.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export class Reflector {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  /** Where the next watch begins. Undefined: a list is due. */
  private resourceVersion: string | undefined;
  /** The latest version seen. It is kept when a list is due. */
  private latest: string | undefined;
  /** Whether a watch was cut off, or could not be opened: another API server may answer next. */
  private mayBeAnotherServer = false;
  private readonly retries = new GrowingPause(LONGEST_RETRY_MS);
  /** Between lists, as long as no watch between them succeeds. */
  private readonly relists = new GrowingPause(LONGEST_RELIST_MS);
  private refusal: Error | undefined;
  private readonly failures: WatchFailures;
  private readonly now: () => number;
  private synced = false;
  /** Ends the watch in progress, or the wait for another try: a list is to be made, or the reflector stops. */
  private interruption = new AbortController();
  private onListed: ((isListed: boolean) => void)[] = [];

  constructor(private readonly options: ReflectorOptions) {
    const { from, answersOthers, now = () => performance.now() } = options;
    this.resourceVersion = this.latest = from;
    this.now = now;
    this.failures = new WatchFailures({ answersOthers, now });
  }

  /** Begins to list and watch, and returns at once: see {@link isSynced}. */
  start(): void {
    this.running = this.run();
  }

  /** Whether everything was listed once and the API server has not refused since. */
  get isSynced(): boolean {
    return this.synced && this.refusal === undefined;
  }

  /** Whether a list has begun to show objects, even if it broke off. What is known of them may be outdated by now. */
  get hasShown(): boolean {
    return this.latest !== undefined;
  }

  /** Why the API server refused the last list, or has failed for long to answer it while it answered others. */
  get problem(): Error | undefined {
    return this.refusal;
  }

  /**
   * Lists again now, and continues to watch from there.
   * @returns true when a list that began after the call is complete. False if the API server refused the list, or the reflector
   *   has stopped
   */
  relist(): Promise<boolean> {
    if (this.stopping.signal.aborted) return Promise.resolve(false);
    this.resourceVersion = undefined;
    this.interruption.abort();
    return this.whenListed();
  }

  /** Resolves when the next list is complete: true. False if the API server refused the list, or the reflector has stopped. */
  whenListed(): Promise<boolean> {
    if (this.stopping.signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => this.onListed.push(resolve));
  }

  /** Ends the watch. The sink is not called afterwards. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.interruption.abort();
    await this.running;
    this.endWaits(false);
  }

  private endWaits(isListed: boolean): void {
    for (const resolve of this.onListed.splice(0)) resolve(isListed);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.interruption = new AbortController();
      let step: Step = "list";
      try {
        const seen = this.resourceVersion;
        if (seen === undefined || (await this.isBehind(seen))) {
          // If the list fails, the API server may have passed that version when it is asked again.
          this.resourceVersion = undefined;
          await this.list();
        }
        step = "watch";
        const openedAt = performance.now();
        if (this.resourceVersion !== undefined) await this.watch(this.resourceVersion);
        // If a proxy between us and the server cuts every stream at once, that must not become a busy loop.
        if (performance.now() - openedAt < FIRST_PAUSE_MS && this.resourceVersion !== undefined)
          throw new Error("the watch ended as soon as it began");
      } catch (error) {
        if (signal.aborted) return;
        // A requested list interrupted the watch.
        if (this.interruption.signal.aborted) continue;
        await this.rest(error as Error, step);
      }
    }
  }

  /** Waits before the next try. */
  private async rest(error: Error, step: Step): Promise<void> {
    const { signal } = this.stopping;
    this.mayBeAnotherServer = true;
    const consequence = await this.failures.afterFailure(error, step, this.synced, signal);
    // Objects that existed when the API server refused may be gone when it no longer refuses.
    if (consequence !== "retry") this.resourceVersion = undefined;
    if (consequence === "refused") this.refused(error);
    if (signal.aborted) return;
    this.options.onInterruption?.(error);
    const { pause = pauseByTimer } = this.options;
    const growing = step === "watch" && consequence !== "retry" ? this.relists : this.retries;
    await pause((retryAfterMs(error) ?? 0) + growing.next(), this.interruption.signal).catch(() => {});
  }

  private refused(error: Error): void {
    const isNew = !this.refusal || codeOf(this.refusal) !== codeOf(error);
    this.refusal = error;
    if (isNew) this.options.onRefused?.(error);
    // A refusal may last for days. Nobody waits for that long, since other kinds and namespaces are served meanwhile.
    this.endWaits(false);
  }

  /**
   * Whether the API server has not reached a version, though it was seen: etcd was restored from a backup. A watch from there
   * would be silent until that version is passed, and would never report earlier changes
   * (https://github.com/kubernetes/kubernetes/issues/107457). Asked only after an interruption: without one, it is the same
   * server.
   */
  private async isBehind(seen: string): Promise<boolean> {
    if (!this.mayBeAnotherServer) return false;
    const { client, resource } = this.options;
    const version = await client.versionOf(resource, this.options, this.stopping.signal);
    this.mayBeAnotherServer = false;
    return isNewer(seen, version);
  }

  private async list(): Promise<void> {
    const { client, resource, sink, onSynced } = this.options;
    sink.asking?.();
    let begun = false;
    const begin = (version: string) => {
      if (begun) return;
      begun = true;
      const isReset = this.latest !== undefined && isNewer(this.latest, version);
      // The list may break off, and the next one may be older than what this one has shown.
      if (!isReset) this.latest = version;
      sink.listing(isReset, version);
    };
    const onPage = (items: KubernetesObject[], version: string) => {
      begin(version);
      for (const item of items) this.tell(item, (object) => sink.set(object, true));
    };
    const version = await client.list(resource, this.options, onPage, this.stopping.signal);
    begin(version);
    sink.listed(version);
    // Another list was requested meanwhile, and this one may be older than that request.
    const isOutdated = this.interruption.signal.aborted;
    this.resourceVersion = isOutdated ? undefined : version;
    this.latest = version;
    this.mayBeAnotherServer = false;
    const wasSynced = this.isSynced;
    this.synced = true;
    this.refusal = undefined;
    this.failures.listed();
    if (!isOutdated) this.endWaits(true);
    if (!wasSynced) onSynced?.();
  }

  /** Watches until the server ends the watch. Throws on anything else. */
  private async watch(resourceVersion: string): Promise<void> {
    const stream = await this.options.client.watch(this.options.resource, this.options, {
      resourceVersion,
      // Random, so that the watches of many runners do not all end in one second.
      timeoutSeconds: 240 + Math.floor(Math.random() * 240),
      signal: this.interruption.signal,
    });
    const lines = new LineSplitter();
    const openedAt = this.now();
    try {
      for await (const chunk of stream) {
        for (const line of lines.push(chunk as Buffer)) this.receive(readJson(line) as WatchEvent);
      }
    } catch (error) {
      // For a connection that was cut, Node says "aborted", as if somebody had given up.
      if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
      throw new Error("the connection was interrupted. The watch resumes where it was", { cause: error });
    } finally {
      stream.destroy();
      // A proxy may cut each watch by which nothing passes for half a minute. That is no reason to wait longer and longer.
      if (this.now() - openedAt >= LASTING_MS) {
        this.retries.reset();
        this.relists.reset();
      }
    }
  }

  private receive(event: WatchEvent): void {
    if (this.interruption.signal.aborted) return;
    if (event.type === "ERROR") throw new ApiError(event.object.code ?? 500, event.object, "watch");
    const { resourceVersion } = event.object.metadata;
    // etcd was restored from a backup while nobody asked: see isBehind.
    if (this.latest !== undefined && isNewer(this.latest, resourceVersion))
      throw new ApiError(410, { message: `the API server went back to version ${resourceVersion}` }, "watch");
    this.resourceVersion = resourceVersion;
    this.latest = resourceVersion;
    this.retries.reset();
    this.failures.watched();
    const { sink, metadataOnly } = this.options;
    const { apiVersion, kind, metadata } = event.object;
    const seen = metadataOnly ? { apiVersion, kind, metadata } : event.object;
    if (event.type === "DELETED") this.tell(seen, (object) => sink.remove(object));
    else if (event.type !== "BOOKMARK") this.tell(seen, (object) => sink.set(object, false));
  }

  /** An object that the sink refuses must not hold up the others, now and after each new list. */
  private tell(object: KubernetesObject, take: (object: KubernetesObject) => void): void {
    try {
      take(object);
    } catch (error) {
      const { message } = error as Error;
      this.options.onInterruption?.(new Error(`${formatName(object.metadata)} was left out: ${message}`));
    }
  }
}

/** The code of the API server's answer. Undefined if there was none. */
function codeOf(error: Error): number | undefined {
  return error instanceof ApiError ? error.code : undefined;
}
