import { setTimeout as pause } from "node:timers/promises";
import { readJson } from "../json";
import { LineSplitter } from "../lines";
import type { KubernetesClient, Selection } from "./client";
import { ApiError, type ApiStatus } from "./errors";
import { formatName, type KubernetesObject } from "./objects";
import type { Resource } from "./resource";

/** Receives what a {@link Reflector} sees, in the order of the API server. */
export interface ReflectorSink {
  /** A list begins: {@link set} is called for all that is there, then {@link listed}. */
  listing(): void;
  /** An object as it is now: listed, created or changed. */
  set(object: KubernetesObject): void;
  /** The list is complete: whatever was known and not set since {@link listing} is gone. */
  listed(): void;
  /** An object was deleted. */
  remove(object: KubernetesObject): void;
}

/** What a {@link Reflector} watches and whom it tells. */
export interface ReflectorOptions extends Selection {
  readonly client: KubernetesClient;
  readonly resource: Resource;
  readonly sink: ReflectorSink;
  /** Told of each interruption, before the reflector tries again by itself, and of each object that the sink did not take. */
  readonly onInterruption?: (error: Error) => void;
}

type WatchEvent =
  | { type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; object: KubernetesObject }
  | { type: "ERROR"; object: ApiStatus };

/**
 * Codes after which only a new list helps: the version is too old (410), or newer than any that there is (504, "Too
 * large resource version"), as after a restore of etcd.
 */
const RELIST_CODES = [410, 504];
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 4_000;

/**
 * Keeps a sink in step with the API server: lists, then watches from there with bookmarks; goes on from the last
 * seen version when a watch ends, and lists anew when the server has forgotten that version (410).
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export class Reflector {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  /** Where the next watch begins; undefined where a list is due. */
  private resourceVersion: string | undefined;
  private retryMs = FIRST_RETRY_MS;

  constructor(private readonly options: ReflectorOptions) {}

  /** Begins, and resolves when the first list is complete. Rejects only when stopped before that. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.running = this.run(resolve).finally(() =>
        reject(new Error("stopped before the first list was complete")),
      );
    });
  }

  /** Ends the watch. The sink is told nothing afterwards. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(onListed: () => void): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        if (this.resourceVersion === undefined) {
          this.resourceVersion = await this.list();
          onListed();
        }
        const openedAt = performance.now();
        await this.watch(this.resourceVersion);
        // Something between us and the server may cut every stream at once: that must not become a busy loop.
        if (performance.now() - openedAt < FIRST_RETRY_MS)
          throw new Error("the watch ended as soon as it began");
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && RELIST_CODES.includes(error.code)) this.resourceVersion = undefined;
        this.options.onInterruption?.(error as Error);
        await pause(this.retryMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
        this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
      }
    }
  }

  private async list(): Promise<string> {
    const { client, resource, sink } = this.options;
    sink.listing();
    const onPage = (items: KubernetesObject[]) => {
      for (const item of items) this.tell(item, (object) => sink.set(object));
    };
    const resourceVersion = await client.list(resource, this.options, onPage, this.stopping.signal);
    sink.listed();
    return resourceVersion;
  }

  /** Watches until the server ends the watch; throws on anything else. */
  private async watch(resourceVersion: string): Promise<void> {
    const stream = await this.options.client.watch(this.options.resource, this.options, {
      resourceVersion,
      // Spread, so that the watches of many runners do not all end in one second.
      timeoutSeconds: 240 + Math.floor(Math.random() * 240),
      signal: this.stopping.signal,
    });
    const lines = new LineSplitter();
    try {
      for await (const chunk of stream) {
        for (const line of lines.push(chunk as Buffer)) this.receive(readJson(line) as WatchEvent);
      }
    } finally {
      stream.destroy();
    }
  }

  private receive(event: WatchEvent): void {
    if (this.stopping.signal.aborted) return;
    if (event.type === "ERROR") throw new ApiError(event.object.code ?? 500, event.object, "watch");
    this.resourceVersion = event.object.metadata.resourceVersion;
    this.retryMs = FIRST_RETRY_MS;
    const { sink, metadataOnly } = this.options;
    const { apiVersion, kind, metadata } = event.object;
    const seen = metadataOnly ? { apiVersion, kind, metadata } : event.object;
    if (event.type === "DELETED") this.tell(seen, (object) => sink.remove(object));
    else if (event.type !== "BOOKMARK") this.tell(seen, (object) => sink.set(object));
  }

  /** One object that its sink cannot take must not keep the others from coming, now and after each new list. */
  private tell(object: KubernetesObject, take: (object: KubernetesObject) => void): void {
    try {
      take(object);
    } catch (error) {
      const { message } = error as Error;
      this.options.onInterruption?.(new Error(`${formatName(object.metadata)} was left out: ${message}`));
    }
  }
}
