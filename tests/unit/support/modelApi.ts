import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import type { KubernetesObject } from "../../../runtime/base/objects";
import type { KubernetesClient } from "../../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../../runtime/kubernetes/errors";
import { configMap } from "./objects";

/** A change of an object, as a watch reports it. */
interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubernetesObject;
  readonly version: number;
}

interface Stream {
  readonly output: PassThrough;
  readonly from: number;
}

/**
 * A model of how an API server lists and watches one kind, with everything that happens to it: it is cut off, restarted,
 * compacted, or restored from a backup. Each request takes some turns of the event loop.
 */
export class ModelApi {
  isDown = false;
  isRefusing = false;
  /** How many of the next requests fail. */
  failures = 0;
  wasRestored = false;
  private version = 10;
  private uids = 0;
  /** Nothing before this version can be watched. */
  private oldest = 0;
  private objects = new Map<string, KubernetesObject>();
  private events: WatchEvent[] = [];
  private backup: { readonly version: number; readonly objects: ReadonlyMap<string, KubernetesObject> };
  private readonly streams = new Set<Stream>();

  /** @param random gives numbers from 0 to 1 */
  constructor(private readonly random: () => number) {
    this.backup = { version: this.version, objects: new Map() };
  }

  /** "name version" of every object. */
  get all(): string[] {
    return [...this.objects.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  }

  get client(): Pick<KubernetesClient, "list" | "watch" | "versionOf"> {
    return {
      versionOf: async (_resource, _selection, signal) => {
        await this.request(signal);
        return String(this.version);
      },
      list: async (_resource, _selection, onPage, signal) => {
        await this.request(signal);
        const [version, { backup }] = [this.version, this];
        const left = [...this.objects.values()];
        do {
          if (left.length < this.objects.size) await this.request(signal);
          if (version < this.oldest || backup !== this.backup) throw new ApiError(410, {}, "list");
          onPage(structuredClone(left.splice(0, 1)), String(version));
        } while (left.length > 0);
        return String(version);
      },
      watch: async (_resource, _selection, { resourceVersion, signal }) => {
        await this.request(signal);
        const stream: Stream = { output: new PassThrough(), from: Number(resourceVersion) };
        const { output, from } = stream;
        signal.addEventListener("abort", () => output.destroy(new Error("aborted")), { once: true });
        if (from < this.oldest) send(output, "ERROR", { code: 410 });
        else this.streams.add(stream);
        for (const { type, object, version } of this.events) if (version > from) send(output, type, object);
        return output as unknown as Awaited<ReturnType<KubernetesClient["watch"]>>;
      },
    };
  }

  /** Another client creates the object, or changes it. */
  set(name: string): void {
    const known = this.objects.get(name);
    const metadata = { namespace: "shop", uid: known?.metadata.uid ?? `uid-${++this.uids}` };
    const object = { ...configMap({ name }), metadata: { name, ...metadata, resourceVersion: this.next() } };
    this.objects.set(name, object);
    this.report(known ? "MODIFIED" : "ADDED", object);
  }

  delete(name: string): void {
    const known = this.objects.get(name);
    if (!known) return;
    this.objects.delete(name);
    this.report("DELETED", { ...known, metadata: { ...known.metadata, resourceVersion: this.next() } });
  }

  /** Every watch is told how far it has come. */
  bookmark(): void {
    const object = { metadata: { resourceVersion: String(this.version) } };
    for (const { output, from } of this.streams) if (from <= this.version) send(output, "BOOKMARK", object);
  }

  /** Every watch ends. @param isCut whether its connection is cut */
  end(isCut: boolean): void {
    for (const { output } of this.streams) {
      if (isCut) output.destroy(Object.assign(new Error("cut"), { code: "ECONNRESET" }));
      else output.end();
    }
    this.streams.clear();
  }

  /** Forgets what happened. */
  compact(): void {
    this.oldest = this.version - 1;
    this.events = this.events.filter(({ version }) => version > this.oldest);
  }

  save(): void {
    this.backup = { version: this.version, objects: new Map(this.objects) };
  }

  /** Etcd is restored from the backup: for a while there is no API server. */
  async restore(): Promise<void> {
    this.wasRestored = this.isDown = true;
    this.end(true);
    for (let turns = 0; turns < 8; turns++) await turn();
    // Another object, so that lists in progress notice the restore.
    this.backup = { ...this.backup };
    this.version = this.oldest = this.backup.version;
    this.objects = new Map(this.backup.objects);
    this.events = [];
    this.isDown = false;
  }

  private next(): string {
    return String(++this.version);
  }

  private report(type: WatchEvent["type"], object: KubernetesObject): void {
    this.events.push({ type, object, version: this.version });
    for (const { output, from } of this.streams) if (this.version > from) send(output, type, object);
  }

  private async request(signal: AbortSignal | undefined): Promise<void> {
    for (let turns = this.random() * 4; turns > 0; turns--) await turn();
    if (this.isDown || signal?.aborted) throw new ApiUnreachableError("request", new Error("no answer"));
    if (this.isRefusing) throw new ApiError(403, {}, "request");
    if (this.failures > 0 && this.failures--) throw new ApiError(500, { kind: "Status" }, "request");
  }
}

function send(output: PassThrough, type: string, object: object): void {
  output.write(`${JSON.stringify({ type, object })}\n`);
}
