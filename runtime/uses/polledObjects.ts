import { setTimeout as pause } from "node:timers/promises";
import { jsonOf } from "../json/flaw";
import type { KubernetesClient } from "../kubernetes/client";
import { builtIn } from "../kubernetes/discovery";
import {
  formatName,
  type KubernetesObject,
  type ObjectName,
  withoutManagedFields,
} from "../kubernetes/objects";
import { Allowance } from "../limits/allowance";

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
  readonly periodMs?: number | undefined;
  /** How many characters of Secrets are kept, the newest. Others are read when they are needed. @default 24 Mi */
  readonly mostKept?: number;
}

interface Polled {
  /** What was read: "" if there was no Secret that is given. */
  readonly version: string;
  /** Undefined if there is none, or if it is not kept any more. */
  object: KubernetesObject | undefined;
  /** In characters of JSON. */
  readonly length: number;
  /** When the Secret was read, on the monotonic clock. */
  readonly at: number;
}

const PERIOD_MS = 60_000;
const MOST_KEPT = 24 * 1024 * 1024;
const SECRETS = builtIn("v1", "Secret");

/**
 * Secrets that are read by name. Each is read again once in a period while a custom resource names it. A watch of all namespaces
 * would need the right to read every Secret there, so no watch is opened.
 *
 * Guarantees, each with a test in tests/unit/polledObjects.test.ts:
 * - No Secret is read that no custom resource names, and no Secret is kept that the operator is not given.
 * - Between two reads of a Secret that is kept no request is made for it, however many objects use it.
 * - No more than `mostKept` characters are kept, however many Secrets are named.
 */
export class PolledObjects {
  private readonly known = new Map<string, Polled>();
  private readonly allowance: Allowance<Polled>;
  private readonly reading = new Map<string, Promise<KubernetesObject | undefined>>();
  private readonly stopping = new AbortController();
  private readonly client: KubernetesClient;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly options: PolledObjectsOptions) {
    this.client = options.client.with({ class: "read", signal: this.stopping.signal });
    this.allowance = new Allowance(options.mostKept ?? MOST_KEPT, (polled) => {
      polled.object = undefined;
    });
  }

  /** Whether the Secrets of a use are read here. */
  has(key: string): boolean {
    return this.options.keys.includes(key);
  }

  start(): void {
    if (this.options.keys.length > 0) this.running = this.run().catch(() => {});
  }

  /** Ends the reads too. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** The Secret as it was read at most two periods ago. Undefined if there is none, or the operator is not given it. */
  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    const id = idOf(key, name);
    const known = this.known.get(id);
    const isKept = known && (known.object !== undefined || known.version === "");
    if (isKept && performance.now() - known.at < 2 * this.periodMs) return known.object;
    return this.read(key, name);
  }

  /** How long the Secret is, in characters of JSON. Undefined if it was not read yet. */
  lengthOf(key: string, name: ObjectName): number | undefined {
    return this.known.get(idOf(key, name))?.length;
  }

  private async run(): Promise<void> {
    const { keys, namesOf, isActive, onError } = this.options;
    const { signal } = this.stopping;
    for (;;) {
      await pause(this.periodMs, undefined, { signal, ref: false });
      const inUse = keys.flatMap((key) => namesOf(key).map((name) => ({ key, name })));
      const ids = new Set(inUse.map(({ key, name }) => idOf(key, name)));
      for (const id of this.known.keys()) if (!ids.has(id)) this.forget(id);
      if (!isActive()) continue;
      for (const { key, name } of inUse) {
        signal.throwIfAborted();
        await this.read(key, name).catch((error: Error) => {
          if (!signal.aborted) onError(error);
        });
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
    const object = given && withoutManagedFields(given);
    const length = (object && jsonOf(object)?.length) ?? 0;
    const polled = { version: versionOf(object), object, length, at: performance.now() };
    this.forget(id);
    this.known.set(id, polled);
    if (object) this.allowance.take(polled, length);
    if (before && before.version !== polled.version) this.options.onChange(key, name, given);
    return object;
  }

  private forget(id: string): void {
    const known = this.known.get(id);
    if (known) this.allowance.release(known);
    this.known.delete(id);
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
