import { memcachedOperator } from "./memcachedOperator";
import { type ClusterOptions, openCluster } from "./openCluster";
import { perform } from "./scene/perform";
import { steps } from "./scene/steps";
import { exitCodeOf, formatStep, formatSummary } from "./scene/tell";
import { print, progress, styleFor } from "./terminal";

/** @see start */
export interface StartOptions extends ClusterOptions {
  readonly json?: true;
}

/**
 * `argosy start`: plays the life of a Memcached, and prints a line for each step.
 * @returns the exit code: 1 if a step does not hold
 */
export async function start({ json, ...clusterOptions }: StartOptions, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  const style = styleFor(process.stdout);
  const cluster = await openCluster(clusterOptions, progress, signal);
  try {
    const audience = {
      notice: progress,
      waiting: (title: string) => progress(`still playing: ${title}`),
      played: (result: Parameters<typeof formatStep>[0]) =>
        print(json ? JSON.stringify(result) : formatStep(result, style)),
    };
    const { results, diagnosis } = await perform(cluster, memcachedOperator(), audience, signal);
    for (const line of diagnosis) progress(line);
    if (!json) print(`\n${formatSummary(results, steps.length, performance.now() - startedAt, style)}`);
    return exitCodeOf(results, steps.length);
  } finally {
    await cluster.close();
  }
}
