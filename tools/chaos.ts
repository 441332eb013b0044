import { Command } from "commander";
import { renewGarbageCollector } from "../cli/cluster/garbageCollector";
import { openCluster } from "../cli/cluster/openCluster";
import { runCommand } from "../cli/common/command";
import { CommandError, UsageError } from "../cli/common/commandError";
import { positiveInteger, wholeNumber } from "../cli/common/options";
import { formatDuration, progress } from "../cli/common/terminal";
import { IMAGES, imageReference } from "../components/manifests/images";
import { buildMemoryDefinition } from "../components/manifests/platform/memories";
import type { Manifest } from "../runtime/base/objects";
import { ChaosOptionError, OccupiedError, PulumiError } from "./chaos/inCluster/errors";
import { runInCluster } from "./chaos/inCluster/run";
import { installKinds, killedAtAll } from "./chaos/kills/realKills";
import { BASE } from "./chaos/kills/scenarios";
import type { Outcome } from "./chaos/perform";
import { formatJson, formatText } from "./chaos/report";
import { findCluster } from "./findCluster";
import { PACKAGE_FOLDER } from "./packageFolder";

interface Options {
  readonly seed: number;
  readonly changes: number;
  readonly podChanges: number;
  readonly objects: number;
  readonly podObjects: number;
  readonly faults?: string;
  readonly nodeFaults?: true;
  readonly initlessPods?: true;
  readonly from?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly keep?: true;
  readonly json?: true;
  readonly kills?: true;
}

const HELP = `
After each round of changes and faults all must become as it must be: every object observed at its newest generation, with
exactly the children that its handler gives; what was deleted gone with its children; no object of another owner touched.
The same seed makes the same plan, where the same faults can be had.

It needs pulumi and the rights of an administrator, refuses a cluster where Argosy is installed, makes namespaces of its own
and removes all that it made. It kills and stops what it has installed itself, and with --node-faults the cluster's API
server and etcd too.`;

/** `npm run chaos`: runs operators of both forms on a cluster while everything fails. */
export function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run chaos --")
    .description(
      "Installs an operator of each form into the cluster that the kubeconfig names, changes hundreds of objects while " +
        "parts are killed, cut off and frozen, and checks whether a change is lost. Skipped without pulumi or a cluster.",
    )
    .option("--seed <n>", "the seed of the plan", wholeNumber, 1)
    .option("--changes <n>", "changes of objects of the resident operator; 0 for none", wholeNumber, 10_000)
    .option(
      "--pod-changes <n>",
      "changes of objects of the operator whose runs have pods; 0 for none",
      wholeNumber,
      300,
    )
    .option("--objects <n>", "number of names of objects of the resident operator", positiveInteger, 300)
    .option("--pod-objects <n>", "the same for the operator whose runs have pods", positiveInteger, 10)
    .option("--faults <text>", "only kinds of faults with this in their name")
    .option(
      "--node-faults",
      "use this if this machine is the cluster's only node and its control plane, and you are root",
    )
    .option(
      "--initless-pods",
      "pods of runs without an init container of Argo's; the cluster needs image volumes",
    )
    .option(
      "--from <commit>",
      "begin with this commit of the program; the first upgrade installs the present commit",
    )
    .option("--context <name>", "a context of the kubeconfig")
    .option("--kubeconfig <file>", "a kubeconfig")
    .option("--keep", "do not clean up if something is lost")
    .option("--json", "print JSON instead of tables")
    .option(
      "--kills",
      "instead, kill an engine at every write of many scenarios, on an embedded control plane",
    )
    .addHelpText("after", HELP);
  return runCommand({ command, runUntil: (signal) => chaos(command.opts(), signal) }, args);
}

/** Kills engines in this process. @returns 1 if the end was another one after any of the kills */
async function kills(signal: AbortSignal): Promise<number> {
  const watcher = { ...BASE, name: "kills", namespaces: "all", watch: { labels: {}, on: ["spec"] } } as const;
  const memories = buildMemoryDefinition([watcher]) as Manifest;
  const cluster = await openCluster({}, progress, signal);
  try {
    await installKinds(cluster.connection, memories, signal);
    await renewGarbageCollector(cluster);
    const began = performance.now();
    const found = (line: string) => void process.stdout.write(`${line}\n`);
    const { kills, failed } = await killedAtAll(cluster.connection, progress, found, signal);
    found(`${kills} kills, ${failed} wrong, in ${formatDuration(performance.now() - began)}`);
    return failed > 0 ? 1 : 0;
  } finally {
    await cluster.close();
  }
}

async function chaos(options: Options, signal: AbortSignal): Promise<number> {
  if (options.kills) return kills(signal);
  const { seed, changes, podChanges, objects, podObjects, json, faults, nodeFaults, from, keep } = options;
  const initlessPods = options.initlessPods ?? false;
  if (changes + podChanges === 0) {
    throw new UsageError("error: --changes and --pod-changes are both 0: give one of them a number.");
  }
  const found = await findCluster(options.kubeconfig, options.context);
  if ("missing" in found) {
    progress(`chaos skipped: ${found.missing}`);
    return 0;
  }
  const { outcomes, failure } = await runInCluster({
    connection: found.connection,
    seed,
    changes: { resident: changes, pod: podChanges },
    objects: { resident: objects, pod: podObjects },
    nodeFaults: nodeFaults ?? false,
    initlessPods,
    ...(faults !== undefined && { only: faults }),
    ...(from !== undefined && { from }),
    keep: keep ?? false,
    project: PACKAGE_FOLDER,
    image: imageReference(IMAGES.engine),
    progress: (line) => progress(`${new Date().toISOString().slice(11, 19)} ${line}`),
    signal,
  }).catch((error: unknown) => {
    if (error instanceof ChaosOptionError) throw new UsageError(error.message, { cause: error });
    if (error instanceof OccupiedError) throw new CommandError(error.message, { cause: error });
    throw error;
  });
  const command = commandOf(options);
  const texts = Object.entries(outcomes).map(([form, outcome]) => formatText(form, outcome, command));
  if (json) process.stdout.write(`${formatJson(outcomes, command)}\n`);
  else if (texts.length > 0) process.stdout.write(`${texts.join("\n\n")}\n`);
  signal.throwIfAborted();
  if (failure instanceof PulumiError) throw new CommandError(failure.message, { cause: failure });
  if (failure !== undefined) throw failure;
  return Object.values<Outcome>(outcomes).some(({ lost }) => lost.length > 0) ? 1 : 0;
}

/** The command that repeats the run. */
function commandOf(options: Options): string {
  const { seed, changes, podChanges, objects, podObjects, faults, nodeFaults, initlessPods, from } = options;
  const words = [
    `--seed ${seed} --changes ${changes} --pod-changes ${podChanges} --objects ${objects} --pod-objects ${podObjects}`,
    ...(faults === undefined ? [] : [`--faults ${JSON.stringify(faults)}`]),
    ...(nodeFaults ? ["--node-faults"] : []),
    ...(initlessPods ? ["--initless-pods"] : []),
    ...(from === undefined ? [] : [`--from ${from}`]),
  ];
  return `npm run chaos -- ${words.join(" ")}`;
}
