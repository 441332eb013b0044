import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { runCommand } from "../cli/common/command";
import { CommandError } from "../cli/common/commandError";
import { positiveInteger } from "../cli/common/options";
import { progress } from "../cli/common/terminal";
import { startControlPlane } from "../cli/controlPlane";
import { cacheDirectory } from "../cli/controlPlane/cache";
import { memcachedOperator } from "../cli/scene/memcachedOperator";
import { buildCustomResourceDefinition } from "../components/manifests/customResourceDefinition";
import { createArgosyPeer } from "./bench/argosy";
import { BenchmarkError, runBenchmark } from "./bench/benchmark";
import { createControllerRuntimePeer } from "./bench/controllerRuntime";
import { createKopfPeer } from "./bench/kopf";
import { type RunName, runNames } from "./bench/peer";
import { describeMachine, formatJson, formatTable } from "./bench/report";

interface Options {
  readonly objects: number;
  readonly burst: number;
  readonly rounds: number;
  readonly peers: readonly RunName[];
  readonly json?: true;
}

/**
 * The other benchmarks, by their options. Each is loaded only if it is requested, because one of them loads the whole program.
 */
const OTHERS: Readonly<Record<string, () => { main(args: readonly string[]): Promise<number> }>> = {
  "--cluster": () => require("./bench/inCluster/command") as typeof import("./bench/inCluster/command"),
  "--commands": () => require("./bench/commands") as typeof import("./bench/commands"),
  "--restart": () => require("./bench/restart") as typeof import("./bench/restart"),
  "--scale": () => require("./bench/scale") as typeof import("./bench/scale"),
};

/** `npm run bench`: measures the same work done by Argosy and by its peers, and prints a table. */
export function main(args: readonly string[]): Promise<number> {
  for (const [option, load] of Object.entries(OTHERS)) if (args.includes(option)) return load().main(args);
  const command = new Command("npm run bench --")
    .description(
      "Gives Argosy, Kopf and controller-runtime the same work on one control plane, one after another: latency, rate and " +
        "memory, as a table. Standard error shows the progress.",
    )
    .option("--objects <n>", "Memcacheds created one by one", positiveInteger, 200)
    .option("--burst <n>", "Memcacheds created at the same time", positiveInteger, 1000)
    .option("--rounds <n>", "rounds; the figures are their medians", positiveInteger, 2)
    .addOption(
      new Option("--peers <names>", "only these operators, separated by commas")
        .argParser(runNameList)
        .default(runNames, "all"),
    )
    .option("--json", "print JSON instead of the table")
    .option("--commands", "instead, measure how long commands take that need no cluster")
    .option("--restart", "instead, measure the cost of a restart with many objects")
    .option("--scale", "instead, measure one operator from 1,000 to 100,000 objects")
    .option(
      "--cluster",
      "instead, run on the cluster that the kubeconfig names; --cluster --help shows the options",
    );
  return runCommand({ command, runUntil: (signal) => bench(command.opts(), signal) }, args);
}

async function bench({ json, peers, ...work }: Options, signal: AbortSignal): Promise<number> {
  const memcached = memcachedOperator();
  const inOrder = [
    createArgosyPeer(memcached),
    createKopfPeer(),
    createControllerRuntimePeer("controller-runtime"),
    createControllerRuntimePeer("controller-runtime-raised"),
  ];
  try {
    const runs = await runBenchmark({
      peers: inOrder.filter(({ name }) => peers.includes(name)),
      work,
      crd: buildCustomResourceDefinition(memcached),
      cache: join(cacheDirectory(), "bench"),
      startControlPlane: () => startControlPlane({ onProgress: progress, signal }),
      progress,
      signal,
    });
    const machine = describeMachine();
    process.stdout.write(`${json ? formatJson(runs, machine) : formatTable(runs, work, machine)}\n`);
    return 0;
  } catch (error) {
    if (error instanceof BenchmarkError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

function runNameList(text: string): RunName[] {
  const names = text.split(",");
  const isRunName = (name: string): name is RunName => (runNames as readonly string[]).includes(name);
  if (!names.every(isRunName)) throw new InvalidArgumentError(`The operators are ${runNames.join(", ")}.`);
  return names;
}
