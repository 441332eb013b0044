import { setTimeout as sleep } from "node:timers/promises";
import type { Objects } from "../../objects";
import type { Cluster } from "../cluster";
import { percentile } from "../figures";
import { Sightings } from "../sightings";
import { inEmptyCluster } from "./emptyCluster";
import type { Form } from "./form";
import { readPodMemory } from "./measurePods";
import type { PodMemory } from "./podMemory";
import { type FormOptions, withForm } from "./withForm";

/** What {@link runSoak} is told. */
export interface SoakOptions extends FormOptions {
  readonly form: Form;
  readonly minutes: number;
  /** Memcacheds created each second. */
  readonly perSecond: number;
}

/** The same, on the ground that is made for it. */
interface Soak extends SoakOptions {
  readonly cluster: Cluster;
  readonly objects: Objects;
}

/** The working sets of all pods at a time. */
export interface MemorySample {
  /** In milliseconds since the soak began. */
  readonly time: number;
  readonly pods: readonly PodMemory[];
}

/** What an even load over a long time has shown. */
export interface SoakObservations {
  /** From just before each create call to the Deployment, in milliseconds, in the order of the calls. */
  readonly latencies: readonly number[];
  readonly memory: readonly MemorySample[];
  /** Calls of the driver that the API server refused or did not answer, so that there is no object to wait for. */
  readonly failedCalls: number;
  /** Objects that have no Deployment two minutes after the end. */
  readonly missing: number;
}

/** How long an object lives: the oldest is deleted as a new one is created. */
const LIFE_SECONDS = 60;
const SAMPLE_MS = 15_000;
/** How long the last objects may take. */
const LATE_MS = 120_000;

/**
 * Installs a form, gives it an even load, and removes it: each Memcached is deleted a minute after it was created. Every object
 * has a new name. So whatever is kept of deleted objects shows as memory that grows.
 *
 * @throws BenchmarkError where the cluster has an installation, or the form does not come up; the signal's reason
 */
export function runSoak(options: SoakOptions): Promise<SoakObservations> {
  return inEmptyCluster(options, (objects) =>
    withForm(objects, options.form, options, (cluster) => soak({ ...options, objects, cluster })),
  );
}

async function soak(options: Soak): Promise<SoakObservations> {
  const { cluster, signal } = options;
  const seen = new Sightings();
  const abort = () => seen.fail(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  const reflector = cluster.watchDeployments(seen);
  const done = new AbortController();
  try {
    await reflector.startWatching();
    const sampling = sampleMemory(options, AbortSignal.any([signal, done.signal]));
    const load = await applyLoad(options, seen);
    done.abort();
    const late = setTimeout(() => seen.fail(new Error("missing")), LATE_MS);
    const passages = await Promise.allSettled(load.passages);
    clearTimeout(late);
    signal.throwIfAborted();
    const memory = await sampling;
    const ended = passages.filter((passage) => passage.status === "fulfilled").map(({ value }) => value);
    return {
      latencies: ended.filter((latency) => latency !== undefined),
      memory,
      failedCalls: load.failedCalls(),
      missing: passages.length - ended.length,
    };
  } finally {
    done.abort();
    await reflector.stopWatching();
    signal.removeEventListener("abort", abort);
  }
}

/** The even load. A call does not wait for the one before, and a failed call does not end an hour of work. */
async function applyLoad({ cluster, minutes, perSecond, progress, signal }: Soak, seen: Sightings) {
  const alive = LIFE_SECONDS * perSecond;
  let failedCalls = 0;
  const lately: number[] = [];
  const pass = async (name: string): Promise<number | undefined> => {
    const sentAt = performance.now();
    try {
      await cluster.create(name);
    } catch {
      failedCalls++;
      return undefined;
    }
    const latency = (await seen.of(name)) - sentAt;
    lately.push(latency);
    return latency;
  };
  const passages: Promise<number | undefined>[] = [];
  const beginsAt = performance.now();
  for (let index = 0; index < minutes * 60 * perSecond; index++) {
    const delay = beginsAt + (index * 1_000) / perSecond - performance.now();
    if (delay > 0) await sleep(delay, undefined, { signal });
    signal.throwIfAborted();
    const passage = pass(`soak-${index}`);
    passage.catch(() => undefined); // awaited at the end
    passages.push(passage);
    // Not before its Deployment was seen, because it would not be created afterwards.
    const remove = () => cluster.delete(`soak-${index - alive}`).catch(() => failedCalls++);
    passages[index - alive]?.then(remove, () => undefined);
    const minute = (index + 1) / (60 * perSecond);
    if (Number.isInteger(minute) && lately.length > 0) {
      progress(`minute ${minute} of ${minutes}: p50 ${percentile(lately, 50).toFixed(0)} ms`);
      lately.length = 0;
    }
  }
  return { passages, failedCalls: () => failedCalls };
}

/** The working sets every fifteen seconds, until the signal aborts. A failed reading is left out. */
async function sampleMemory({ objects }: Soak, signal: AbortSignal): Promise<MemorySample[]> {
  const samples: MemorySample[] = [];
  const beginsAt = performance.now();
  while (!signal.aborted) {
    const pods = await readPodMemory(objects).catch(() => []);
    if (pods.length > 0) samples.push({ time: performance.now() - beginsAt, pods });
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
  }
  return samples;
}
