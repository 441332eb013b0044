import path from "node:path";
import { Command } from "commander";
import { loadOperators } from "../components/loadOperators";
import { runCommand } from "./command";
import { CommandError } from "./commandError";
import { type ClusterOptions, openCluster } from "./openCluster";
import { progress } from "./progress";
import { PROJECT_FOLDER } from "./projectFolder";
import { isMemcached, perform } from "./scene/perform";
import { steps } from "./scene/steps";
import { exitCodeOf, formatStep, formatSummary } from "./scene/tell";
import { styleFor } from "./terminal/style";

interface Options extends ClusterOptions {
  readonly json?: true;
}

/** `npm start`: plays the life of a Memcached, each step in a line. */
export function main(args: readonly string[]): Promise<void> {
  const program = new Command("npm start --")
    .description(
      "Plays the life of a Memcached with the real engine and its real handler, on a Kubernetes control plane of its " +
        "own: created, scaled, healed, refused, broken, mended, deleted. Fails where a step does not hold.",
    )
    .option(
      "--context <name>",
      "play on a cluster of yours: a context of the kubeconfig, in a namespace of its own",
    )
    .option(
      "--kubeconfig <path>",
      "the kubeconfig of that cluster (default: $KUBECONFIG, else ~/.kube/config)",
    )
    .option("--json", "a line of JSON for each step instead");
  return runCommand<Options>(program, args, start);
}

async function start({ json, ...clusterOptions }: Options, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  const memcached = loadOperators(path.join(PROJECT_FOLDER, "handlers")).find(isMemcached);
  if (!memcached) throw new CommandError("handlers/memcached is missing: the scene is its life.");
  const style = styleFor(process.stdout);
  const cluster = await openCluster(clusterOptions, progress, signal);
  try {
    const audience = {
      notice: progress,
      waiting: (title: string) => progress(`still playing: ${title}`),
      played: (result: Parameters<typeof formatStep>[0]) =>
        print(json ? JSON.stringify(result) : formatStep(result, style)),
    };
    const { results, diagnosis } = await perform(cluster, memcached, audience, signal);
    for (const line of diagnosis) progress(line);
    if (!json) print(`\n${formatSummary(results, steps.length, performance.now() - startedAt, style)}`);
    return exitCodeOf(results, steps.length);
  } finally {
    await cluster.close();
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
