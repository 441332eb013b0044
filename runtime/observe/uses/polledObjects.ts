import { setTimeout as pause } from "node:timers/promises";
import { formatName, isNewer, type KubernetesObject, type ObjectName } from "../../base/objects";
import type { KubernetesClient } from "../../kubernetes/client";
import { builtIn } from "../../kubernetes/discovery";
import type { Store } from "../store";
import { contentOf, type StoredObject } from "../storedObject";
import type { UsedFacts } from "./useIndex";

/** A Secret that custom resources use, with the key of the use. */
interface InUse {
  readonly key: string;
  readonly name: ObjectName;
}

const PERIOD_MS = 60_000;
const SECRETS = builtIn("v1", "Secret");

/**
 * Secrets that are read by name. Each is read again once in a period while a custom resource names it. A watch of all namespaces
 * would need the right to read every Secret there, so no watch is opened.
 *
 * Guarantees, each with a test in tests/unit/polledObjects.test.ts:
 * - No Secret is read that no custom resource names, and no Secret is kept that the operator is not given.
 * - Between two reads of a Secret that is kept no request is made for it, however many objects use it.
 * - No more is kept than a store may keep, however many Secrets are named.
 * - However many Secrets the custom resources of one namespace name, those of another namespace are read once in a period.
 */
export class PolledObjects {
  /** When each Secret was read, whether it existed or not, on the monotonic clock. */
  private readonly readAt = new Map<string, InUse & { readonly at: number }>();
  private readonly reading = new Map<string, Promise<KubernetesObject | undefined>>();
  private readonly stopping = new AbortController();
  private readonly client: KubernetesClient;
  /** Its requests have one flow, so they leave places to all others, and leave in the order in which they came. */
  private readonly polling: KubernetesClient;
  /** The reads in progress for the custom resources of each namespace, one after another. */
  private readonly rounds = new Map<string, Promise<void>>();
  private running: Promise<void> = Promise.resolve();
  private readonly periodMs: number;

  constructor(
    private readonly options: {
      readonly client: KubernetesClient;
      /** Where the Secrets of the uses are kept that are read in this way, by the keys of the uses. */
      readonly stores: ReadonlyMap<string, Store<UsedFacts>>;
      /** The names that are in use, by the namespace of the custom resources that use them. */
      readonly namesOf: (key: string) => ReadonlyMap<string, readonly ObjectName[]>;
      /** Whether to read the Secrets in use again. */
      readonly isActive: () => boolean;
      /** Called if a Secret could not be read again. */
      readonly onError: (error: Error) => void;
      /** @default 60000 */
      readonly periodMs?: number | undefined;
    },
  ) {
    this.client = options.client.with({ class: "read", signal: this.stopping.signal });
    this.polling = this.client.with({ flow: "polled Secrets" });
    this.periodMs = options.periodMs ?? PERIOD_MS;
  }

  /** Whether the Secrets of a use are read here. */
  has(key: string): boolean {
    return this.options.stores.has(key);
  }

  start(): void {
    if (this.options.stores.size > 0) this.running = this.run().catch(() => {});
  }

  /** Ends the reads too. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await Promise.all(this.rounds.values());
  }

  /**
   * The Secret as it was read at most two periods ago. Undefined if there is none now, or the operator is not given it: that is read
   * each time, since a handler that is told so may delete children.
   */
  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    const { at = Number.NEGATIVE_INFINITY } = this.readAt.get(idOf(key, name)) ?? {};
    const stored = this.find(key, name);
    const kept = stored && contentOf(stored);
    return kept && performance.now() - at < 2 * this.periodMs ? kept : this.read(key, name);
  }

  /** How long the Secret is, in characters of JSON. Undefined if it was not read yet. */
  lengthOf(key: string, name: ObjectName): number | undefined {
    return this.readAt.has(idOf(key, name)) ? (this.find(key, name)?.length ?? 0) : undefined;
  }

  private find(key: string, name: ObjectName): StoredObject<UsedFacts> | undefined {
    return this.options.stores.get(key)?.find(SECRETS, name);
  }

  private async run(): Promise<void> {
    const { stores, namesOf, isActive } = this.options;
    for (;;) {
      await pause(this.periodMs, undefined, { signal: this.stopping.signal, ref: false });
      const inUse = new Map<string, InUse[]>();
      for (const key of stores.keys())
        for (const [owners, names] of namesOf(key))
          inUse.set(owners, [...(inUse.get(owners) ?? []), ...names.map((name) => ({ key, name }))]);
      const ids = new Set([...inUse.values()].flat().map(({ key, name }) => idOf(key, name)));
      for (const [id, { key, name }] of this.readAt) {
        if (ids.has(id)) continue;
        this.readAt.delete(id);
        this.put(key, name, undefined, "initial");
      }
      if (!isActive()) continue;
      for (const [owners, names] of inUse) {
        if (this.rounds.has(owners)) continue;
        this.rounds.set(
          owners,
          this.round(names).finally(() => this.rounds.delete(owners)),
        );
      }
    }
  }

  private async round(inUse: readonly InUse[]): Promise<void> {
    const { signal } = this.stopping;
    const since = performance.now();
    for (const { key, name } of inUse) {
      if (signal.aborted) return;
      // Custom resources of another namespace may use it too.
      if ((this.readAt.get(idOf(key, name))?.at ?? 0) > since) continue;
      await this.read(key, name, this.polling).catch((error: Error) => {
        if (!signal.aborted) this.options.onError(error);
      });
    }
  }

  private read(key: string, name: ObjectName, client = this.client): Promise<KubernetesObject | undefined> {
    const id = idOf(key, name);
    const inProgress = this.reading.get(id);
    if (inProgress) return inProgress;
    const reading = this.readNow(key, name, client).finally(() => this.reading.delete(id));
    this.reading.set(id, reading);
    return reading;
  }

  private async readNow(
    key: string,
    name: ObjectName,
    client: KubernetesClient,
  ): Promise<KubernetesObject | undefined> {
    const found = await client.get(SECRETS, name);
    const id = idOf(key, name);
    const source = this.readAt.has(id) ? "answer" : "initial";
    this.readAt.set(id, { key, name, at: performance.now() });
    this.put(key, name, found, source);
    const stored = this.find(key, name);
    return stored && contentOf(stored);
  }

  /** Stores a Secret as it is now. @param source "initial" if the change is not reported */
  private put(
    key: string,
    name: ObjectName,
    now: KubernetesObject | undefined,
    source: "answer" | "initial",
  ): void {
    const store = this.options.stores.get(key);
    const stored = this.find(key, name);
    // After a restore of etcd, it is at an earlier version.
    const isOutdated = !now || (stored && isNewer(stored.resourceVersion, now.metadata.resourceVersion));
    if (stored && isOutdated) store?.remove(stored, now ? "initial" : source);
    if (now) store?.set(SECRETS, now, source);
  }
}

function idOf(key: string, name: ObjectName): string {
  return `${key} ${formatName(name)}`;
}
