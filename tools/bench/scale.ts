import { setMaxListeners } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { runCommand } from "../../cli/common/command";
import { positiveInteger } from "../../cli/common/options";
import { progress } from "../../cli/common/terminal";
import { startControlPlane } from "../../cli/controlPlane";
import { cacheDirectory } from "../../cli/controlPlane/cache";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { loadOperator } from "../../definition/loadOperator";
import type { Operator } from "../../runtime/operator/definition";
import { PACKAGE_FOLDER } from "../packageFolder";
import { createArgosyPeer } from "./argosy";
import type { ControlPlane } from "./benchmark";
import { percentile } from "./figures";
import { Greetings } from "./greetings";
import { untilPrinted } from "./operatorProcess";
import type { RunningPeer } from "./peer";
import { alignColumns, describeMachine, formatFigure, toJson } from "./report";
import { difference } from "./restart";

/** How single changes were seen. */
export interface ChangeFigures {
  /** From just before a change until a watch shows it at the child. */
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly mostMs: number;
  /** What the API server alone needs: from just before a change of a ConfigMap until a watch shows it. */
  readonly serverP50Ms: number;
  readonly serverP99Ms: number;
  readonly changes: number;
  /** Changes that were not seen within half a minute. */
  readonly lost: number;
}

/** What processes use. */
export interface UseFigures {
  readonly engineMiB: number;
  readonly handlersMiB: number;
  readonly serverMiB: number;
  /** CPU time in this phase, until all was observed, in seconds. */
  readonly engineCpuSeconds: number;
  readonly handlersCpuSeconds: number;
  readonly serverCpuSeconds: number;
  /** Calls until then, by verb and kind. */
  readonly calls: Readonly<Record<string, number>>;
}

/** One phase of the benchmark. */
export interface ScalePhase extends UseFigures {
  /** "grown": objects were created. Else: the engine was started again. */
  readonly phase: "grown" | "restart, ask: changed" | "restart, ask: always";
  readonly objects: number;
  /** From the first creation until each object has its child, or from the lead until every object was looked at, in seconds. */
  readonly observedSeconds: number;
  /** How many objects the phase was about, in a second. */
  readonly perSecond: number;
  /** Without a resync. */
  readonly atRest: ChangeFigures;
  /** While a resync looks at every object again and again. Undefined if it was not measured. */
  readonly inResync?: ChangeFigures;
}

/** All figures of a run. */
export interface ScaleFigures {
  readonly phases: readonly ScalePhase[];
  /** The phases for which the time did not suffice, or that failed. */
  readonly leftOut: readonly string[];
  /** Resident memory of the engine for each object with its child, in KiB: the last phase that grew, less than the idle engine. */
  readonly kibAnObject: number;
  /** Notices of the engine that say that something was lost. */
  readonly losses: readonly string[];
  readonly seconds: number;
  readonly machine: string;
}

interface Options {
  readonly objects: number;
  readonly changes: number;
  readonly minutes: number;
  readonly memory: string;
  readonly json?: true;
}

/** The sizes at which is measured, if they are less than the last one. */
const SIZES = [1_000, 10_000, 50_000];
const LINE = "all observed";
/** The pause between two single changes, so that the end of one's work does not delay the next. */
const REST_MS = 60;
const QUIET_MS = 5_000;
const TELL_EVERY = 5_000;
const RARELY_SECONDS = 86_400;
/** Half of it passes before the first resync. */
const OFTEN_SECONDS = 30;
/** A phase begins only if so much is left of the time, in milliseconds for each object. */
const RESTART_MS_PER_OBJECT = { changed: 0.6, always: 1.2 };

/** `npm run bench -- --scale`: one operator with very many objects. */
export function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run bench -- --scale")
    .description(
      "Creates custom resources with a ConfigMap child each on an embedded control plane, from 1,000 on, and measures at each size " +
        "how soon single changes are seen, what every process uses, and what a restart costs.",
    )
    .option("--scale", "this benchmark")
    .option("--objects <n>", "the last size", positiveInteger, 100_000)
    .option("--changes <n>", "single changes at each size", positiveInteger, 150)
    .option(
      "--minutes <n>",
      "the time for all. What does not fit is left out, and named",
      positiveInteger,
      20,
    )
    .option(
      "--memory <quantity>",
      "the memory limit of the runner's container, which determines its heap",
      "768Mi",
    )
    .option("--json", "print JSON instead of the table");
  return runCommand({ command, runUntil: (signal) => bench(command.opts(), signal) }, args);
}

async function bench(options: Options, signal: AbortSignal): Promise<number> {
  const cache = join(cacheDirectory(), "bench");
  await mkdir(cache, { recursive: true });
  const controlPlane = await startControlPlane({ onProgress: progress, signal });
  setMaxListeners(0, signal); // every request on its way listens
  const greetings = new Greetings(controlPlane.connection, signal);
  try {
    const figures = await new ScaleRun(options, greetings, controlPlane, cache, signal).run();
    process.stdout.write(`${options.json ? toJson(figures) : formatScale(figures)}\n`);
    return 0;
  } finally {
    greetings.close();
    await controlPlane.stop();
  }
}

/** The phases, one after another. */
class ScaleRun {
  private readonly begunAt = performance.now();
  private readonly phases: ScalePhase[] = [];
  private readonly leftOut: string[] = [];
  private readonly losses = new Set<string>();
  private readonly minimal = loadOperator(join(PACKAGE_FOLDER, "examples/01-minimal"));
  private readonly changed: Operator = { ...this.minimal, ask: "changed" };
  private before = { engine: 0, handlers: 0, server: 0, calls: new Map<string, number>() };
  private idleMiB = 0;

  constructor(
    private readonly options: Options,
    private readonly greetings: Greetings,
    private readonly controlPlane: ControlPlane,
    private readonly cache: string,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<ScaleFigures> {
    await this.greetings.install(buildCustomResourceDefinition(this.minimal));
    const steps = [() => this.grow(), () => this.restart("changed"), () => this.restart("always")];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        this.signal.throwIfAborted();
        // What has been measured by then is not lost.
        this.leftOut.push(`a phase that failed: ${(error as Error).message}`);
        progress(`failed: ${(error as Error).message}`);
      }
    }
    const grown = this.phases.findLast(({ phase }) => phase === "grown");
    return {
      phases: this.phases,
      leftOut: this.leftOut,
      kibAnObject: grown ? ((grown.engineMiB - this.idleMiB) * 1_024) / grown.objects : Number.NaN,
      losses: [...this.losses],
      seconds: this.elapsedMs / 1_000,
      machine: describeMachine(),
    };
  }

  private get elapsedMs(): number {
    return performance.now() - this.begunAt;
  }

  private get leftMs(): number {
    return this.options.minutes * 60_000 - this.elapsedMs;
  }

  /** The handler of these objects promises that it is pure, so that the restart need not ask it. */
  private async grow(): Promise<void> {
    const { objects } = this.options;
    const { greetings } = this;
    await this.during({ ...this.changed, resyncSeconds: RARELY_SECONDS }, async (running) => {
      this.idleMiB = (await running.use()).own.residentKiB / 1_024;
      for (const size of [...SIZES.filter((each) => each < objects), objects]) {
        if (this.leftMs < 30_000) {
          this.leftOut.push(`${size} objects`);
          continue;
        }
        await this.use(running);
        const grown = size - greetings.size;
        const startedAt = performance.now();
        const soFar = (at: number) => progress(`${at} of ${size} created after ${this.clock}`);
        for (let next = greetings.size; greetings.size < size; ) {
          next = Math.min(size, next + TELL_EVERY);
          await greetings.growTo(next);
          soFar(next);
        }
        await greetings.untilObserved(Math.max(60_000, this.leftMs));
        const observedSeconds = (performance.now() - startedAt) / 1_000;
        progress(`all ${size} have their children: ${formatFigure(grown / observedSeconds)} a second`);
        await this.quiet();
        const use = await this.use(running);
        const atRest = await this.changes("at rest");
        const perSecond = grown / observedSeconds;
        this.phases.push({ phase: "grown", objects: size, observedSeconds, perSecond, ...use, atRest });
      }
    });
  }

  private async restart(ask: "changed" | "always"): Promise<void> {
    const { greetings } = this;
    const objects = greetings.size;
    const phase = `restart, ask: ${ask}` as const;
    const needsMs = 60_000 + objects * RESTART_MS_PER_OBJECT[ask];
    if (this.leftMs < needsMs) {
      this.leftOut.push(phase);
      progress(`${phase}: left out, since ${Math.round(this.leftMs / 1_000)} s are left`);
      return;
    }
    const operator = ask === "changed" ? this.changed : this.minimal;
    await this.during({ ...operator, resyncSeconds: RARELY_SECONDS }, async (running, logFile) => {
      const startedAt = performance.now();
      await untilPrinted(logFile, LINE, Math.max(60_000, this.leftMs));
      const observedSeconds = (performance.now() - startedAt) / 1_000;
      progress(`${phase}: ${objects} looked at in ${observedSeconds.toFixed(1)} s`);
      await this.quiet();
      const use = await this.use(running);
      const atRest = await this.changes("at rest");
      const perSecond = objects / observedSeconds;
      this.phases.push({ phase, objects, observedSeconds, perSecond, ...use, atRest });
    });
    if (this.leftMs < needsMs) {
      this.leftOut.push(`${phase}, in a resync`);
      return;
    }
    await this.during({ ...operator, resyncSeconds: OFTEN_SECONDS }, async (_, logFile) => {
      await untilPrinted(logFile, LINE, Math.max(60_000, this.leftMs));
      await sleep(OFTEN_SECONDS * 500, undefined, { signal: this.signal });
      const inResync = await this.changes("in a resync");
      const last = this.phases.pop();
      if (last) this.phases.push({ ...last, inResync });
    });
  }

  /** Runs a step while the engine leads. */
  private async during(
    operator: Operator,
    step: (running: RunningPeer, logFile: string) => Promise<void>,
  ): Promise<void> {
    const { controlPlane, cache, options } = this;
    const logFile = join(cache, "scale.log");
    const peer = createArgosyPeer(
      operator,
      { afterObjects: Math.max(1, this.greetings.size), line: LINE },
      { resources: { runner: { limits: { memory: options.memory } } } },
      "scale",
    );
    await peer.prepare({ cache, progress, signal: this.signal });
    const { cpuMs: server, calls } = await this.greetings.server();
    const running = await peer.start({ ...controlPlane, logFile });
    this.before = { engine: 0, handlers: 0, server, calls: new Map(Object.entries(calls)) };
    try {
      const failed = running.failed.catch((error: Error) => {
        throw new Error(`${error.message}. Its output: ${logFile}`);
      });
      await Promise.race([running.ready, failed]);
      await Promise.race([step(running, logFile), failed]);
    } finally {
      for (const line of await linesOf(logFile)) if (/not written|dropped/.test(line)) this.losses.add(line);
      await running.stop();
    }
  }

  private async changes(when: string): Promise<ChangeFigures> {
    const { latencies, serverAlone, lost } = await this.greetings.change(this.options.changes, REST_MS);
    const at = (percent: number) => percentile(latencies, percent);
    const figures = {
      p50Ms: at(50),
      p90Ms: at(90),
      p99Ms: at(99),
      mostMs: at(100),
      serverP50Ms: percentile(serverAlone, 50),
      serverP99Ms: percentile(serverAlone, 99),
    };
    const ms = (value: number) => `${value.toFixed(1)} ms`;
    progress(
      `${this.greetings.size} objects, ${when}: p50 ${ms(figures.p50Ms)}, p99 ${ms(figures.p99Ms)} (the API server alone: ${ms(figures.serverP50Ms)}, ${ms(figures.serverP99Ms)}), ${lost} lost`,
    );
    return { ...figures, changes: this.options.changes, lost };
  }

  /** What was used since this was asked before, or since the engine was started. */
  private async use(running: RunningPeer): Promise<UseFigures> {
    const [{ own, all }, server] = await Promise.all([running.use(), this.greetings.server()]);
    const calls = new Map(Object.entries(server.calls));
    const now = { engine: own.cpuMs, handlers: all.cpuMs - own.cpuMs, server: server.cpuMs, calls };
    const { before } = this;
    this.before = now;
    return {
      engineMiB: own.residentKiB / 1_024,
      handlersMiB: (all.residentKiB - own.residentKiB) / 1_024,
      serverMiB: server.residentMiB,
      engineCpuSeconds: (now.engine - before.engine) / 1_000,
      handlersCpuSeconds: (now.handlers - before.handlers) / 1_000,
      serverCpuSeconds: (now.server - before.server) / 1_000,
      calls: difference(before.calls, calls),
    };
  }

  private async quiet(): Promise<void> {
    await sleep(QUIET_MS, undefined, { signal: this.signal });
  }

  private get clock(): string {
    return `${Math.round(this.elapsedMs / 1_000)} s`;
  }
}

/** The figures as tables. */
function formatScale({ phases, leftOut, kibAnObject, losses, seconds, machine }: ScaleFigures): string {
  const rows = phases.map((each) => {
    const { objects, phase, observedSeconds, perSecond, atRest, inResync } = each;
    const { engineMiB, handlersMiB, serverMiB, engineCpuSeconds, handlersCpuSeconds, serverCpuSeconds } =
      each;
    return [
      `${objects} ${phase}`,
      ...[observedSeconds, perSecond, atRest.p50Ms, atRest.p90Ms, atRest.p99Ms, atRest.serverP99Ms].map(
        formatFigure,
      ),
      inResync ? formatFigure(inResync.p99Ms) : "",
      ...[engineMiB, handlersMiB, serverMiB].map(formatFigure),
      ...[engineCpuSeconds, handlersCpuSeconds, serverCpuSeconds].map(formatFigure),
    ];
  });
  const headings = [
    "objects",
    "s",
    "1/s",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "API server alone",
    "p99 in a resync",
  ];
  const memory = ["engine MiB", "handlers", "API server", "engine CPU s", "handlers", "API server"];
  return [
    ...alignColumns([[...headings, ...memory], ...rows]),
    "",
    ...phases.map(({ objects, phase, calls }) => `${objects} ${phase}: ${callsIn(calls)}`),
    "",
    `the engine's memory for an object with its child: ${kibAnObject.toFixed(1)} KiB`,
    ...losses.map((line) => `lost: ${line}`),
    ...leftOut.map((what) => `left out: ${what}`),
    `${Math.round(seconds)} s in all. p50, p90, p99: from just before a change of a custom resource until a watch shows it at the child. ${machine}`,
  ].join("\n");
}

function callsIn(calls: Readonly<Record<string, number>>): string {
  return Object.entries(calls)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");
}

async function linesOf(file: string): Promise<string[]> {
  return (await readFile(file, "utf8").catch(() => "")).split("\n");
}
