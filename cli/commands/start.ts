import { openCluster } from "../cluster/openCluster";
import { command } from "../common/declaration";
import { jsonOption, ownClusterOptions } from "../common/options";
import { print, progress, styleFor } from "../common/terminal";
import { memcachedOperator } from "../scene/memcachedOperator";
import { perform } from "../scene/perform";
import { STEP_RESULT, type StepResult } from "../scene/scene";
import { steps } from "../scene/steps";
import { exitCodeOf, formatStep, formatSummary } from "../scene/tell";

/**
 * `argosy start`: plays the life of a Memcached, and prints a line for each step.
 * @returns the exit code: 1 if a step does not hold
 */
export default command({
  description:
    "Plays the life of a Memcached object with the real engine and handler, on its own Kubernetes control plane: " +
    "created, scaled, healed, refused, broken, repaired, deleted. The command fails if a step does not go as expected.",
  options: [...ownClusterOptions(), jsonOption(STEP_RESULT, "print a line of JSON for each step")],
  async runUntil({ json, ...clusterOptions }, signal) {
    const startedAt = performance.now();
    const style = styleFor(process.stdout);
    const cluster = await openCluster(clusterOptions, progress, signal);
    try {
      const audience = {
        notice: progress,
        waiting: (title: string) => progress(`still playing: ${title}`),
        played: json ?? ((result: StepResult) => print(formatStep(result, style))),
      };
      const { results, diagnosis } = await perform(cluster, memcachedOperator(), audience, signal);
      for (const line of diagnosis) progress(line);
      if (!json) print(`\n${formatSummary(results, steps.length, performance.now() - startedAt, style)}`);
      return exitCodeOf(results, steps.length);
    } finally {
      await cluster.close();
    }
  },
});
