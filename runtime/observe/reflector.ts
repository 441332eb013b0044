import { finished } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { monotonicNow, sleep } from "../base/clock";
import { readJson } from "../base/json";
import { formatName, isNewer, type KubernetesObject } from "../base/objects";
import type { Resource } from "../base/resource";
import { LineSplitter } from "../base/text";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, type ApiStatus, retryAfterMs } from "../kubernetes/errors";
import type { Selection } from "../kubernetes/list";
import { type AnswersOthers, FIRST_PAUSE_MS, GrowingPause, type Step, WatchFailures } from "./watchFailures";

/** Receives what a `Reflector` sees, in the order of the API server. */
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
  /**
   * The list in progress has an object with this metadata.
   * @returns whether that version of it is known, or a later one. If not, {@link set} follows
   */
  isKnown?(object: KubernetesObject): boolean;
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
  readonly answersOthers?: AnswersOthers | undefined;
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
/** How often a large kind is listed although its watch goes on, in milliseconds. */
const RARELY_MS = 3_600_000;
/** If a list of metadata shows more objects that are not known than this, whole objects are listed. */
const MOST_READ = 100;
/**
 * How many objects of a list are stored before other work has its turn. A page may have hundreds, and changes do not wait for
 * them.
 */
const AT_ONCE = 25;
/** A watch has succeeded if it lasted for this long, in milliseconds. */
const LASTING_MS = 4_000;

/**
 * Keeps a sink in step with the API server: lists, then watches from there with bookmarks. When a watch ends, it continues from
 * the last version seen. It lists again if the server has forgotten that version (410), if the server is behind that version, and
 * when a caller asks for it. If only the caller needed the list, and the list fails, the watch continues where it was. A kind that
 * can be listed, and not watched from there, is listed again and again, less and less often.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export class Reflector {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /** Where the next watch begins. Undefined: it needs a list first. */
  private resourceVersion: string | undefined;
  /** Whether a caller waits for a list. */
  private isListRequested = false;
  /** Whether a list of metadata is enough for the callers that wait. */
  private isMetadataEnough = false;
  /** How many objects the last list had, and when it ended, on the clock. */
  private lastList = { size: 0, at: 0 };
  /** How many pages of lists have come. */
  pages = 0;
  /** The latest version seen. It is kept when a list is due. */
  private latest: string | undefined;
  /** Whether a watch was cut off, or could not be opened. Another API server may answer next. */
  private isInterrupted = false;
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
    const { from, answersOthers, now = monotonicNow } = options;
    this.resourceVersion = this.latest = from;
    this.now = now;
    this.failures = new WatchFailures(answersOthers, now);
  }

  /** Begins to list and watch, unless it has begun, and returns at once: see {@link isSynced}. It watches from a list that was made. */
  startWatching(): void {
    this.running ??= this.run();
  }

  /** Whether everything was listed once and the API server has not refused since. */
  get isSynced(): boolean {
    return this.synced && this.refusal === undefined;
  }

  /** Whether the sink gets each change. False while a list is due, and after a failure until a list or a watch succeeds. */
  get isFollowing(): boolean {
    return this.running !== undefined && this.synced && !this.isListRequested && !this.isInterrupted;
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
   * Lists again if that was not done for an hour, or if the watch is interrupted. The metadata suffice: see {@link relist}.
   * @returns as {@link relist}
   */
  relistRarely(): Promise<boolean> {
    if (this.isFollowing && this.now() - this.lastList.at < RARELY_MS) return Promise.resolve(true);
    return this.relist(true);
  }

  /** How many objects the last list had. */
  get size(): number {
    return this.lastList.size;
  }

  /**
   * Lists again now, and continues to watch from there.
   * @param isMetadataEnough whether only the metadata are read of objects whose version is known, if that is possible. A change that
   *   gives an object no new version, such as a default in a CRD, is then not seen. @default false
   * @returns true when a list that began after the call is complete. False if the API server refused the list, if the list failed
   *   and the watch goes on without it, or if the reflector has stopped
   */
  relist(isMetadataEnough = false): Promise<boolean> {
    if (this.stopping.signal.aborted) return Promise.resolve(false);
    const { metadataOnly, sink } = this.options;
    const canSuffice = isMetadataEnough && this.isFollowing && !metadataOnly && sink.isKnown !== undefined;
    this.isMetadataEnough = canSuffice && (this.isMetadataEnough || !this.isListRequested);
    this.isListRequested = true;
    this.interruption.abort();
    return this.whenListed();
  }

  /** Resolves when the next list is complete: true. False if the API server refused the list, or the reflector has stopped. */
  whenListed(): Promise<boolean> {
    if (this.stopping.signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => this.onListed.push(resolve));
  }

  /** Ends the watch. The sink is not called afterwards. */
  async stopWatching(): Promise<void> {
    this.stopping.abort();
    this.interruption.abort();
    await this.running;
    this.endWaits(false);
  }

  /**
   * Ends the wait for a list, unless another list was requested while this one was read: this one may be older than that request.
   */
  private answerRequest(isListed: boolean): void {
    if (this.interruption.signal.aborted) return;
    this.isListRequested = false;
    this.endWaits(isListed);
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
        const from = await this.catchUp();
        step = "watch";
        await this.watch(from);
      } catch (error) {
        if (signal.aborted) return;
        // A requested list interrupted the watch.
        if (this.interruption.signal.aborted) continue;
        await this.rest(error as Error, step);
      }
    }
  }

  /** Lists if a list is due. @returns the version from which to watch */
  private async catchUp(): Promise<string> {
    const { resourceVersion: from, isListRequested } = this;
    if (from !== undefined && !isListRequested && !(await this.isBehind(from))) return from;
    // Before the list, which may fail: an API server that is behind may have passed that version at the next try.
    if (this.isInterrupted) this.resourceVersion = undefined;
    try {
      const isMetadataEnough = this.isMetadataEnough && !this.isInterrupted;
      return (isMetadataEnough ? await this.listMetadata() : undefined) ?? (await this.list());
    } catch (error) {
      if (this.stopping.signal.aborted || this.resourceVersion === undefined) throw error;
      this.options.onInterruption?.(error as Error);
      return this.resourceVersion;
    }
  }

  /** Waits before the next try. */
  private async rest(error: Error, step: Step): Promise<void> {
    const { signal } = this.stopping;
    this.isInterrupted = true;
    const consequence = await this.failures.afterFailure(error, step, this.synced, signal);
    // Objects that existed when the API server refused may be gone when it no longer refuses.
    if (consequence !== "retry") this.resourceVersion = undefined;
    if (consequence === "refused") this.refused(error);
    if (signal.aborted) return;
    this.options.onInterruption?.(error);
    const { pause = sleep } = this.options;
    const growing = step === "watch" && consequence !== "retry" ? this.relists : this.retries;
    await pause((retryAfterMs(error) ?? 0) + growing.next(), this.interruption.signal).catch(() => {});
  }

  private refused(error: Error): void {
    const isNew = !this.refusal || codeOf(this.refusal) !== codeOf(error);
    this.refusal = error;
    if (isNew) this.options.onRefused?.(error);
    // A refusal may last for days. No caller waits that long: other kinds and namespaces are still served.
    this.endWaits(false);
  }

  /**
   * Whether the API server has not reached a version, though it was seen: etcd was restored from a backup. A watch from there
   * would be silent until that version is passed, and would never report earlier changes
   * (https://github.com/kubernetes/kubernetes/issues/107457). Asked only after an interruption: without one, it is the same
   * server.
   */
  private async isBehind(seen: string): Promise<boolean> {
    if (!this.isInterrupted) return false;
    const { client, resource } = this.options;
    const version = await client.versionOf(resource, this.options, this.stopping.signal);
    this.assertVersioned(version);
    return isNewer(seen, version);
  }

  /** An API that has versions never gives a list without one, however empty. Taken for a list, such an answer would be a reset. */
  private assertVersioned(version: string): void {
    if (version !== "" || !this.latest) return;
    const { plural } = this.options.resource;
    throw new Error(`the list of ${plural} has no version: something other than the API server answered`);
  }

  /** Lists once, for a caller that does not watch yet. @returns the version of the list @throws ApiError, ApiUnreachableError */
  async list(): Promise<string> {
    const { client, resource, sink } = this.options;
    sink.asking?.();
    let begun = false;
    const begin = (version: string) => {
      if (begun) return;
      this.assertVersioned(version);
      begun = true;
      const isReset = this.latest !== undefined && isNewer(this.latest, version);
      // The list may break off. The next one may be older than what this one has shown, and no watch continues after a reset.
      if (isReset) this.resourceVersion = undefined;
      else this.latest = version;
      sink.listing(isReset, version);
    };
    let size = 0;
    const onPage = async (items: KubernetesObject[], version: string) => {
      begin(version);
      this.pages++;
      size += items.length;
      for (const [index, item] of items.entries()) {
        if (index % AT_ONCE === AT_ONCE - 1) await nextTurn();
        this.stopping.signal.throwIfAborted();
        this.tell(item, (object) => sink.set(object, true));
      }
    };
    const version = await client.list(resource, this.options, onPage, this.stopping.signal);
    begin(version);
    return this.complete(version, size);
  }

  /**
   * Lists the metadata, and reads the objects of which another version is known.
   * @returns the version of the list. Undefined if whole objects must be listed
   */
  private async listMetadata(): Promise<string | undefined> {
    const { client, resource, sink } = this.options;
    const { signal } = this.stopping;
    sink.asking?.();
    const unknown: KubernetesObject[] = [];
    let size = 0;
    let isReset = false;
    const onPage = (items: KubernetesObject[], version: string) => {
      this.pages++;
      isReset ||= version === "" || (this.latest !== undefined && isNewer(this.latest, version));
      if (isReset) return;
      if (size === 0) sink.listing(false, version);
      size += items.length;
      for (const item of items) if (!sink.isKnown?.(item)) unknown.push(item);
    };
    const version = await client.list(resource, { ...this.options, metadataOnly: true }, onPage, signal);
    if (isReset || size === 0 || unknown.length > MOST_READ) return undefined;
    for (const { metadata } of unknown) {
      const object = await client.get(resource, metadata);
      // The watch reports that it is gone.
      if (object) this.tell(object, (read) => sink.set(read, true));
    }
    return this.complete(version, size);
  }

  /** A list is complete. @returns its version */
  private complete(version: string, size: number): string {
    const { sink, onSynced } = this.options;
    sink.listed(version);
    this.resourceVersion = this.latest = version;
    this.lastList = { size, at: this.now() };
    this.isInterrupted = false;
    const wasSynced = this.isSynced;
    this.synced = true;
    this.refusal = undefined;
    this.failures.listed();
    this.answerRequest(true);
    if (!wasSynced) onSynced?.();
    return version;
  }

  /** Watches until the server ends the watch. Throws on anything else. */
  private async watch(resourceVersion: string): Promise<void> {
    const stream = await this.options.client.watch(this.options.resource, this.options, {
      resourceVersion,
      // Random, so that the watches of many runners do not all end in one second.
      timeoutSeconds: 240 + Math.floor(Math.random() * 240),
      signal: this.interruption.signal,
    });
    this.isInterrupted = false;
    // The list has failed for which the caller waits.
    if (this.isListRequested) this.answerRequest(false);
    const lines = new LineSplitter();
    const openedAt = this.now();
    try {
      // An iterator of the stream would take more time than a short event.
      stream.on("data", (chunk: Buffer) => {
        if (stream.destroyed) return;
        try {
          for (const line of lines.push(chunk)) this.receive(readJson(line) as WatchEvent);
        } catch (error) {
          stream.destroy(error as Error);
        }
      });
      await finished(stream, { writable: false });
      // If a proxy between us and the server cuts every stream at once, that must not become a busy loop.
      if (this.now() - openedAt < FIRST_PAUSE_MS) throw new Error("the watch ended as soon as it began");
    } catch (error) {
      // For a connection that was cut, Node says "aborted", as if the client had given up.
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
    // etcd was restored from a backup, and no request noticed it: see isBehind.
    if (this.resourceVersion !== undefined && isNewer(this.resourceVersion, resourceVersion))
      throw new ApiError(410, { message: `the API server went back to version ${resourceVersion}` }, "watch");
    this.resourceVersion = resourceVersion;
    // A list that broke off may have shown a later one.
    if (this.latest === undefined || isNewer(resourceVersion, this.latest)) this.latest = resourceVersion;
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
      this.options.onInterruption?.(new Error(leftOut(object, (error as Error).message)));
    }
  }
}

/** The code of the API server's answer. Undefined if there was none. */
function codeOf(error: Error): number | undefined {
  return error instanceof ApiError ? error.code : undefined;
}

/** Says that a sink could not store an object. @param why the message of its error */
export function leftOut({ metadata }: KubernetesObject, why: string): string {
  return `${formatName(metadata)} was left out: ${why}`;
}
