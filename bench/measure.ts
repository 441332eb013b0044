import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster";
import { describeChildren, untilSettled } from "./equalWork";
import { type Figures, percentile } from "./figures";
import { residentMiB } from "./memory";
import type { Progress, RunningPeer } from "./peer";
import type { Work } from "./report";
import { Sightings } from "./sightings";

/** What {@link measure} needs. */
export interface Measurement {
  readonly cluster: Cluster;
  readonly running: RunningPeer;
  readonly work: Work;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Told what the operator made of its first object, so that all can be held to the same work. */
  readonly onChildren: (children: string) => void;
}

const QUIET_MS = 5_000;
const WARM_UP_TIMEOUT_MS = 60_000;
const PHASE_TIMEOUT_MS = 600_000;
/** Create calls of the burst that are on their way at once. */
const IN_FLIGHT = 20;

/** Gives a started operator the work, on an API that is empty before and after, and measures it. */
export async function measure(measurement: Measurement): Promise<Figures> {
  const { cluster, running, work, progress, signal } = measurement;
  await running.ready;
  await sleep(QUIET_MS, undefined, { signal });
  const idleMiB = await residentMiB(running.pid);
  progress(`idle ${Math.round(idleMiB)} MiB`);

  await warmUp(measurement);

  const latencies = await watching(measurement, (seen) => oneByOne(measurement, seen));
  await cluster.clear();
  const p50Ms = percentile(latencies, 50);
  const p99Ms = percentile(latencies, 99);
  progress(`${work.objects} one by one: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);

  const burst = await watching(measurement, (seen) => allAtOnce(measurement, seen));
  const burstP99Ms = percentile(burst.latencies, 99);
  const perSecond = work.burst / burst.seconds;
  progress(`${work.burst} at once: p99 ${burstP99Ms.toFixed(0)} ms, ${perSecond.toFixed(0)} changes/s`);

  await untilSettled(cluster, work.burst, PHASE_TIMEOUT_MS, signal);
  await sleep(QUIET_MS, undefined, { signal });
  const loadedMiB = await residentMiB(running.pid);
  progress(`loaded ${Math.round(loadedMiB)} MiB`);
  await cluster.clear();
  return { p50Ms, p99Ms, burstP99Ms, perSecond, idleMiB, loadedMiB };
}

/** One object that does not count: it shows that the operator works, and what it makes. */
async function warmUp({ cluster, signal, onChildren }: Measurement): Promise<void> {
  await cluster.create("warm-up");
  await untilSettled(cluster, 1, WARM_UP_TIMEOUT_MS, signal);
  onChildren(await describeChildren(cluster));
  await cluster.clear();
}

async function oneByOne({ cluster, work }: Measurement, seen: Sightings): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < work.objects; index++) {
    const name = `one-${index}`;
    const sentAt = performance.now();
    const [seenAt] = await Promise.all([seen.of(name), cluster.create(name)]);
    latencies.push(seenAt - sentAt);
  }
  return latencies;
}

async function allAtOnce({ cluster, work }: Measurement, seen: Sightings) {
  const sentAt = new Map<string, number>();
  const createInTurn = async (): Promise<void> => {
    while (sentAt.size < work.burst) {
      const name = `burst-${sentAt.size}`;
      sentAt.set(name, performance.now());
      await cluster.create(name);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, createInTurn));

  const latencies: number[] = [];
  let lastSeenAt = startedAt;
  for (const [name, sent] of sentAt) {
    const seenAt = await seen.of(name);
    latencies.push(seenAt - sent);
    lastSeenAt = Math.max(lastSeenAt, seenAt);
  }
  return { latencies, seconds: (lastSeenAt - startedAt) / 1000 };
}

async function watching<T>(
  { cluster, signal }: Measurement,
  step: (seen: Sightings) => Promise<T>,
): Promise<T> {
  const seen = new Sightings();
  const abort = () => seen.fail(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  const tooLate = new Error(`not all Deployments were there after ${PHASE_TIMEOUT_MS / 1000} s`);
  const timer = setTimeout(() => seen.fail(tooLate), PHASE_TIMEOUT_MS);
  const reflector = cluster.watchDeployments(seen);
  try {
    await reflector.start();
    return await step(seen);
  } finally {
    await reflector.stop();
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
