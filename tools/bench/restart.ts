import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { runCommand } from "../../cli/common/command";
import { CommandError } from "../../cli/common/commandError";
import { positiveInteger } from "../../cli/common/options";
import { progress } from "../../cli/common/terminal";
import { startControlPlane } from "../../cli/controlPlane";
import { cacheDirectory } from "../../cli/controlPlane/cache";
import { memcachedOperator } from "../../cli/scene/memcachedOperator";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { RESOURCES, resourceProblems } from "../../components/manifests/resources";
import { createArgosyPeer } from "./argosy";
import type { ControlPlane } from "./benchmark";
import { Cluster } from "./cluster";
import { untilSettled } from "./equalWork";
import { untilPrinted } from "./operatorProcess";
import type { Peer, RunningPeer } from "./peer";
import { alignColumns, describeMachine, formatFigure, toJson } from "./report";

/** The cost of a restart. */
export interface RestartFigures {
  readonly objects: number;
  /** From becoming the leader until every object was reconciled, in seconds. */
  readonly observedSeconds: number;
  /** CPU time of the operator until then, in seconds. */
  readonly operatorCpuSeconds: number;
  /** All writes since the restart except those of leases, by verb and kind. */
  readonly writes: Readonly<Record<string, number>>;
  /** The resident memory of the idle operator, including its handler processes. */
  readonly restMiB: number;
}

interface Options {
  readonly objects: number;
  readonly rest: number;
  readonly memory: string;
  readonly json?: true;
}

const LINE = "all observed";
/** The time for each object, far more than it needs. */
const TIMEOUT_MS_PER_OBJECT = 200;
const LEAST_TIMEOUT_MS = 60_000;
const TELL_EVERY = 1_000;

/**
 * `npm run bench -- --restart`: measures how long Argosy's engine takes after a restart to reconcile every object, what it
 * writes, and how much memory it needs when idle.
 */
export function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run bench -- --restart")
    .description(
      "Creates Memcacheds with two children each on an embedded control plane, restarts Argosy's engine, and measures how " +
        "long it takes to reconcile all of them, what it writes, and its memory when idle.",
    )
    .option("--restart", "this benchmark")
    .option("--objects <n>", "Memcacheds", positiveInteger, 5_000)
    .option("--rest <seconds>", "pause before the memory is read", positiveInteger, 180)
    .option(
      "--memory <quantity>",
      "the memory limit of the runner's container, which determines the operator's heap",
      RESOURCES.runner.limits.memory,
    )
    .option("--json", "print JSON instead of the table");
  return runCommand({ command, runUntil: (signal) => bench(command.opts(), signal) }, args);
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
      progress(`${objects} objects reconciled in ${observedSeconds.toFixed(1)} s; waiting ${rest} s`);
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
        throw new CommandError(`${error.message}. Its output: ${logFile}`);
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

/** The difference of two counts. Kinds without a difference are left out. */
export function difference(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Record<string, number> {
  const added = [...after].map(([what, count]): [string, number] => [what, count - (before.get(what) ?? 0)]);
  return Object.fromEntries(added.filter(([, count]) => count > 0));
}

/** The figures as a table. */
function formatRestart(figures: RestartFigures, machine: string): string {
  const { objects, observedSeconds, operatorCpuSeconds, writes, restMiB } = figures;
  const written = Object.entries(writes).map(([what, count]) => `${count} ${what}`);
  return [
    ...alignColumns([
      ["", `${objects} objects`],
      ["from becoming the leader until all were reconciled, s", formatFigure(observedSeconds)],
      ["CPU of the operator until then, s", formatFigure(operatorCpuSeconds)],
      ["memory when idle, MiB", formatFigure(restMiB)],
    ]),
    "",
    `writes since the restart, except leases: ${written.join(", ") || "none"}`,
    machine,
  ].join("\n");
}
