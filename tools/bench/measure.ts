import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster";
import { describeChildren, untilSettled } from "./equalWork";
import { type Figures, percentile } from "./figures";
import type { Progress, RunningOperator } from "./peer";
import type { Work } from "./report";
import { Sightings } from "./sightings";

/** The times of one object, in `performance.now()`. */
export interface Passage {
  readonly name: string;
  /** Just before its create call. */
  readonly sentAt: number;
  /** When the create call was answered. */
  readonly answeredAt: number;
  /** When a watch showed its Deployment. */
  readonly seenAt: number;
}

/** Observes the operator between the timed steps. */
export interface Observer {
  /** The operator has shown that it works. */
  warm?(): Promise<void>;
  /** An object's Deployment was seen. The next object waits for this callback. */
  passed?(passage: Passage): Promise<void>;
  /** The objects that were created one by one, before they are deleted. */
  oneByOne?(passages: readonly Passage[]): Promise<void>;
  /** The burst is about to begin; an operator is idle. */
  burstBegins?(): Promise<void>;
  /** All work of the burst is done. */
  burstSettled?(): Promise<void>;
}

/** The options of {@link measure}. */
export interface Measurement {
  readonly cluster: Cluster;
  readonly running: RunningOperator;
  readonly work: Work;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Called with the children of the operator's first object, so that all operators can be compared. */
  readonly onChildren: (children: string) => void;
  readonly observer?: Observer;
  /** Waits until all work is done for a number of objects. @default {@link untilSettled} */
  readonly settled?: typeof untilSettled;
  /** How long a phase may take. @default 600000 */
  readonly phaseTimeoutMs?: number;
  /**
   * The pause after each object in the phase one by one, so that the end of one object's work does not delay the next object.
   * @default 0
   */
  readonly restMs?: number;
}

const QUIET_MS = 5_000;
const WARM_UP_TIMEOUT_MS = 180_000;
const PHASE_TIMEOUT_MS = 600_000;

/** Gives a started operator the work and measures it. The API is empty before and after. */
export async function measure(measurement: Measurement): Promise<Figures> {
  const { cluster, running, work, progress, signal, observer } = measurement;
  await running.ready;
  await sleep(QUIET_MS, undefined, { signal });
  const idleMiB = await running.memoryMiB();
  progress(`idle ${Math.round(idleMiB)} MiB`);

  await warmUp(measurement);
  await observer?.warm?.();

  const passages = await watching(measurement, (seen) => oneByOne(measurement, seen));
  await observer?.oneByOne?.(passages);
  await cluster.clear();
  const latencies = passages.map(({ sentAt, seenAt }) => seenAt - sentAt);
  const p50Ms = percentile(latencies, 50);
  const p99Ms = percentile(latencies, 99);
  progress(`${work.objects} one by one: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);

  await observer?.burstBegins?.();
  const burst = await watching(measurement, (seen) => allAtOnce(measurement, seen));
  const burstP99Ms = percentile(burst.latencies, 99);
  const perSecond = work.burst / burst.seconds;
  progress(`${work.burst} at once: p99 ${burstP99Ms.toFixed(0)} ms, ${perSecond.toFixed(1)} changes/s`);

  await settle(measurement, work.burst, measurement.phaseTimeoutMs ?? PHASE_TIMEOUT_MS);
  await sleep(QUIET_MS, undefined, { signal });
  await observer?.burstSettled?.();
  const loadedMiB = await running.memoryMiB();
  progress(`loaded ${Math.round(loadedMiB)} MiB`);
  await cluster.clear();
  return { p50Ms, p99Ms, burstP99Ms, perSecond, idleMiB, loadedMiB };
}

/** Creates one object that does not count. It shows that the operator works, and which children it creates. */
async function warmUp(measurement: Measurement): Promise<void> {
  const { cluster, onChildren, phaseTimeoutMs = WARM_UP_TIMEOUT_MS } = measurement;
  await cluster.create("warm-up");
  await settle(measurement, 1, phaseTimeoutMs);
  onChildren(await describeChildren(cluster));
  await cluster.clear();
}

async function oneByOne(measurement: Measurement, seen: Sightings): Promise<Passage[]> {
  const { cluster, work, signal, restMs } = measurement;
  const passages: Passage[] = [];
  for (let index = 0; index < work.objects; index++) {
    const name = `one-${index}`;
    const sentAt = performance.now();
    const answered = cluster.create(name).then(() => performance.now());
    const [seenAt, answeredAt] = await Promise.all([seen.of(name), answered]);
    const passage = { name, sentAt, answeredAt, seenAt };
    passages.push(passage);
    if (restMs) await sleep(restMs, undefined, { signal });
    await measurement.observer?.passed?.(passage);
  }
  return passages;
}

async function allAtOnce({ cluster, work }: Measurement, seen: Sightings) {
  const sentAt = new Map<string, number>();
  const startedAt = performance.now();
  await cluster.createAtOnce(work.burst, (index) => {
    const name = `burst-${index}`;
    sentAt.set(name, performance.now());
    return name;
  });

  const latencies: number[] = [];
  let lastSeenAt = startedAt;
  for (const [name, sent] of sentAt) {
    const seenAt = await seen.of(name);
    latencies.push(seenAt - sent);
    lastSeenAt = Math.max(lastSeenAt, seenAt);
  }
  return { latencies, seconds: (lastSeenAt - startedAt) / 1000 };
}

function settle(measurement: Measurement, count: number, timeoutMs: number): Promise<void> {
  const { cluster, signal, settled = untilSettled } = measurement;
  return settled(cluster, count, timeoutMs, signal);
}

async function watching<T>(
  { cluster, signal, phaseTimeoutMs = PHASE_TIMEOUT_MS }: Measurement,
  step: (seen: Sightings) => Promise<T>,
): Promise<T> {
  const seen = new Sightings();
  const abort = () => seen.fail(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  const tooLate = new Error(`not all Deployments existed after ${phaseTimeoutMs / 1000} s`);
  const timer = setTimeout(() => seen.fail(tooLate), phaseTimeoutMs);
  const reflector = cluster.watchDeployments(seen);
  try {
    await reflector.startWatching();
    return await step(seen);
  } finally {
    await reflector.stopWatching();
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
