import { isFailure } from "../runtime/argo/workflows";
import type { KubernetesClient } from "../runtime/kubernetes/client";
import { EXIT_CODES } from "./commandError";
import { formatRun } from "./inspect/formatRun";
import { homesOf, installedOperators, kindsOf, tellLeftOut } from "./inspect/installed";
import { HOW_LONG_KEPT, listRuns, type SeenRuns } from "./inspect/runs";
import { withCluster } from "./inspect/session";
import { findTarget, type NamespaceOptions, readTarget } from "./inspect/target";
import type { ClusterOptions } from "./openCluster";
import { indent, print, progress, safe, styleFor } from "./terminal";

/** @see runs */
export interface RunsOptions extends ClusterOptions, NamespaceOptions {
  readonly failed?: true;
  readonly log?: true;
  readonly limit: number;
  readonly json?: true;
}

/**
 * `argosy runs [OPERATOR|KIND/NAME]`: the runs of a cluster, of an operator, or of an object, the newest first.
 * @param of an operator's name, or an object
 */
export async function runs(of: string | undefined, options: RunsOptions): Promise<number> {
  return withCluster(options, async (client) => {
    const { runs: all, unseen } = await runsOf(client, of, options);
    const chosen = all.filter(({ phase }) => !options.failed || isFailure(phase)).slice(0, options.limit);
    const [now, style] = [new Date(), styleFor(process.stdout)];
    for (const run of chosen) {
      print(options.json ? JSON.stringify(run) : formatRun(run, now, style));
      if (options.log && !options.json && run.log) print(indent(safe(run.log)));
    }
    if (unseen) progress(`Some runs may not be listed, because ${unseen}.`);
    else if (chosen.length === 0) progress(`There are no such runs. ${HOW_LONG_KEPT}`);
    return EXIT_CODES.fine;
  });
}

async function runsOf(
  client: KubernetesClient,
  of: string | undefined,
  options: RunsOptions,
): Promise<SeenRuns> {
  const installed = await installedOperators(client);
  const homes = homesOf(installed);
  if (of === undefined || !of.includes("/")) {
    tellLeftOut(installed);
    const { runs: all, unseen } = await listRuns(client, { homes }, kindsOf(installed));
    // Runs of every installation, unless the name includes one: "argosy.memcached".
    const chosen = all.filter(
      ({ operator, installation }) =>
        of === undefined || of === operator || of === `${installation}.${operator}`,
    );
    return { runs: chosen, unseen };
  }
  const target = await findTarget(client, of, options, installed);
  const { metadata } = await readTarget(client, target);
  return listRuns(client, { uid: metadata.uid, homes }, () => target.resource);
}
