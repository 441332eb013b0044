import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "../kubernetes/client";
import { builtIn } from "../kubernetes/discovery";
import { formatName, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import { asGiven } from "./used";

/** The Secrets that {@link PolledObjects} read, and the callbacks that they call. */
export interface PolledObjectsOptions {
  readonly client: KubernetesClient;
  /** The keys of the uses whose Secrets are read in this way. */
  readonly keys: readonly string[];
  /** The names that are in use. */
  readonly namesOf: (key: string) => readonly ObjectName[];
  /** Whether the operator is given a Secret. Other Secrets are not kept. */
  readonly isGiven: (key: string, object: KubernetesObject) => boolean;
  /** Whether to read the Secrets in use again. */
  readonly isActive: () => boolean;
  /** A Secret changed, came or went. */
  readonly onChange: (key: string, name: ObjectName, object: KubernetesObject | undefined) => void;
  /** Called if a Secret could not be read again. */
  readonly onError: (error: Error) => void;
  /** @default 60000 */
  readonly periodMs?: number;
}

interface Polled {
  readonly object: KubernetesObject | undefined;
  /** When the Secret was read, on the monotonic clock. */
  readonly at: number;
}

const PERIOD_MS = 60_000;
const SECRETS = builtIn("v1", "Secret");

/**
 * Secrets that are read by name. Each is read again once in a period while a custom resource names it. A watch of all namespaces
 * would need the right to read every Secret there, so no watch is opened.
 *
 * Guarantees, each with a test in tests/unit/polledObjects.test.ts:
 * - No Secret is read that no custom resource names, and no Secret is kept that the operator is not given.
 * - Between two reads of a Secret no request is made for it, however many objects use it.
 */
export class PolledObjects {
  private readonly known = new Map<string, Polled>();
  private readonly reading = new Map<string, Promise<KubernetesObject | undefined>>();
  private readonly stopping = new AbortController();
  private readonly client: KubernetesClient;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly options: PolledObjectsOptions) {
    this.client = options.client.with({ class: "read" });
  }

  /** Whether the Secrets of a use are read here. */
  has(key: string): boolean {
    return this.options.keys.includes(key);
  }

  start(): void {
    if (this.options.keys.length > 0) this.running = this.run().catch(() => {});
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** The Secret as it was read at most two periods ago. Undefined if there is none, or the operator is not given it. */
  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    const id = idOf(key, name);
    const known = this.known.get(id);
    if (known && performance.now() - known.at < 2 * this.periodMs) return known.object;
    return this.read(key, name);
  }

  private async run(): Promise<void> {
    const { keys, namesOf, isActive, onError } = this.options;
    const { signal } = this.stopping;
    for (;;) {
      await pause(this.periodMs, undefined, { signal, ref: false });
      const inUse = keys.flatMap((key) => namesOf(key).map((name) => ({ key, name })));
      const ids = new Set(inUse.map(({ key, name }) => idOf(key, name)));
      for (const id of this.known.keys()) if (!ids.has(id)) this.known.delete(id);
      if (!isActive()) continue;
      for (const { key, name } of inUse) {
        signal.throwIfAborted();
        await this.read(key, name).catch(onError);
      }
    }
  }

  private read(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    const id = idOf(key, name);
    const inProgress = this.reading.get(id);
    if (inProgress) return inProgress;
    const reading = this.readNow(key, name).finally(() => this.reading.delete(id));
    this.reading.set(id, reading);
    return reading;
  }

  private async readNow(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    const found = await this.client.get(SECRETS, name);
    const given = found && this.options.isGiven(key, found) ? found : undefined;
    const id = idOf(key, name);
    const before = this.known.get(id);
    const object = given && asGiven(given);
    this.known.set(id, { object, at: performance.now() });
    if (before && versionOf(before.object) !== versionOf(object)) this.options.onChange(key, name, given);
    return object;
  }

  private get periodMs(): number {
    return this.options.periodMs ?? PERIOD_MS;
  }
}

function versionOf(object: KubernetesObject | undefined): string {
  return object ? `${object.metadata.uid}/${object.metadata.resourceVersion}` : "";
}

function idOf(key: string, name: ObjectName): string {
  return `${key} ${formatName(name)}`;
}
