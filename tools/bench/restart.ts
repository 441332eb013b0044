import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { runCommand } from "../../cli/command";
import { CommandError } from "../../cli/commandError";
import { startControlPlane } from "../../cli/controlPlane";
import { cacheDirectory } from "../../cli/controlPlane/cache";
import { memcachedOperator } from "../../cli/memcachedOperator";
import { positiveInteger } from "../../cli/options";
import { progress } from "../../cli/terminal";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { RESOURCES, resourceProblems } from "../../components/manifests/resources";
import { createArgosyPeer } from "./argosy";
import type { ControlPlane } from "./benchmark";
import { Cluster } from "./cluster";
import { untilSettled } from "./equalWork";
import { untilPrinted } from "./operatorProcess";
import type { Peer, RunningPeer } from "./peer";
import { alignColumns, describeMachine, formatFigure, toJson } from "./report";

/** What a restart cost. */
export interface RestartFigures {
  readonly objects: number;
  /** From the lead until every object was reconciled, in seconds. */
  readonly observedSeconds: number;
  /** CPU time of the operator until then, in seconds. */
  readonly operatorCpuSeconds: number;
  /** Writes of anybody since the restart, leases aside: by verb and kind. */
  readonly writes: Readonly<Record<string, number>>;
  /** Resident memory of the operator at rest, its handler processes included. */
  readonly restMiB: number;
}

interface Options {
  readonly objects: number;
  readonly rest: number;
  readonly memory: string;
  readonly json?: true;
}

const LINE = "all observed";
/** For each object, far more than it takes. */
const TIMEOUT_MS_PER_OBJECT = 200;
const LEAST_TIMEOUT_MS = 60_000;
const TELL_EVERY = 1_000;

/**
 * `npm run bench -- --restart`: how long Argosy's engine takes after a restart until it has looked at every object, what it
 * writes then, and how much memory it needs at rest.
 */
export function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run bench -- --restart")
    .description(
      "Creates Memcacheds with two children each on an embedded control plane, restarts Argosy's engine, and measures " +
        "how long it takes to look at all of them, what it writes, and its memory at rest.",
    )
    .option("--restart", "this benchmark")
    .option("--objects <n>", "Memcacheds", positiveInteger, 5_000)
    .option("--rest <seconds>", "rest before the memory is read", positiveInteger, 180)
    .option(
      "--memory <quantity>",
      "the memory limit of the runner's container, after which the operator's heap is sized",
      RESOURCES.runner.limits.memory,
    )
    .option("--json", "print JSON instead of the table");
  return runCommand({ command, run: (signal) => bench(command.opts(), signal) }, args);
}

async function bench({ objects, rest, memory, json }: Options, signal: AbortSignal): Promise<number> {
  const cache = join(cacheDirectory(), "bench");
  await mkdir(cache, { recursive: true });
  const memcached = memcachedOperator();
  const runner = { limits: { memory } };
  const [[field, complaint] = []] = resourceProblems("runner", { resources: { runner } });
  if (field) throw new CommandError(`--memory: ${field} ${complaint}`);
  const peer = createArgosyPeer(memcached, { afterObjects: objects, line: LINE }, { resources: { runner } });
  await peer.prepare({ cache, progress, signal });
  const controlPlane = await startControlPlane({ onProgress: progress, signal });
  setMaxListeners(0, signal); // every request on its way listens
  const cluster = new Cluster(controlPlane.connection, signal, { size: 0 });
  const operator = new Restarted({ peer, controlPlane, logFile: join(cache, "restart.log"), objects });
  try {
    await cluster.install(buildCustomResourceDefinition(memcached));
    await operator.during(async (running) => {
      await running.ready;
      await cluster.createAtOnce(objects, (index) => {
        if (index % TELL_EVERY === 0) progress(`${index} of ${objects} created`);
        return `object-${index}`;
      });
      await operator.untilObserved();
      await untilSettled(cluster, objects, operator.timeoutMs, signal);
    });
    const before = await cluster.writes();
    const figures = await operator.during(async (running) => {
      await running.ready;
      const startedAt = performance.now();
      await operator.untilObserved();
      const observedSeconds = (performance.now() - startedAt) / 1_000;
      const operatorCpuSeconds = (await running.cpuMs()) / 1_000;
      progress(`${objects} observed in ${observedSeconds.toFixed(1)} s; resting ${rest} s`);
      await sleep(rest * 1_000, undefined, { signal });
      const writes = difference(before, await cluster.writes());
      return { objects, observedSeconds, operatorCpuSeconds, writes, restMiB: await running.memoryMiB() };
    });
    const machine = describeMachine();
    process.stdout.write(`${json ? toJson({ ...figures, machine }) : formatRestart(figures, machine)}\n`);
    return 0;
  } finally {
    cluster.close();
    await controlPlane.stop();
  }
}

interface RestartedOptions {
  readonly peer: Peer;
  readonly controlPlane: ControlPlane;
  readonly logFile: string;
  readonly objects: number;
}

/** The operator that is started twice, with the same objects to serve. */
class Restarted {
  readonly timeoutMs: number;

  constructor(private readonly options: RestartedOptions) {
    this.timeoutMs = Math.max(LEAST_TIMEOUT_MS, options.objects * TIMEOUT_MS_PER_OBJECT);
  }

  /**
   * Runs a step while the operator runs.
   * @throws CommandError with the operator's log file if the operator ends by itself
   */
  async during<T>(step: (running: RunningPeer) => Promise<T>): Promise<T> {
    const { peer, controlPlane, logFile } = this.options;
    const running = await peer.start({ ...controlPlane, logFile });
    try {
      const failed = running.failed.catch((error: Error) => {
        throw new CommandError(`${error.message}. What it printed: ${logFile}`);
      });
      return await Promise.race([step(running), failed]);
    } finally {
      await running.stop();
    }
  }

  untilObserved(): Promise<void> {
    return untilPrinted(this.options.logFile, LINE, this.timeoutMs);
  }
}

/** What was counted since: kinds without anything new are left out. */
export function difference(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Record<string, number> {
  const added = [...after].map(([what, count]): [string, number] => [what, count - (before.get(what) ?? 0)]);
  return Object.fromEntries(added.filter(([, count]) => count > 0));
}

/** The figures as a table. */
export function formatRestart(figures: RestartFigures, machine: string): string {
  const { objects, observedSeconds, operatorCpuSeconds, writes, restMiB } = figures;
  const written = Object.entries(writes).map(([what, count]) => `${count} ${what}`);
  return [
    ...alignColumns([
      ["", `${objects} objects`],
      ["from the lead until all were observed, s", formatFigure(observedSeconds)],
      ["CPU of the operator until then, s", formatFigure(operatorCpuSeconds)],
      ["memory at rest, MiB", formatFigure(restMiB)],
    ]),
    "",
    `writes since the restart, leases aside: ${written.join(", ") || "none"}`,
    machine,
  ].join("\n");
}
