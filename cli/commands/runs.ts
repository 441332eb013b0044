import { isFailure, type KubernetesClient } from "../../runtime/cli";
import { EXIT_CODES } from "../common/commandError";
import { command } from "../common/declaration";
import { checkNames } from "../common/objectName";
import { flag, objectOptions, optionWithDefault, positiveInteger } from "../common/options";
import { indent, print, progress, safe, styleFor } from "../common/terminal";
import { formatRun } from "../inspect/formatRun";
import { homesOf, installedOperators, kindsOf, tellLeftOut } from "../inspect/installed";
import { HOW_LONG_KEPT, listRuns, RUN, type SeenRuns } from "../inspect/runs";
import { withCluster } from "../inspect/session";
import { findTarget, type NamespaceOptions, readTarget } from "../inspect/target";

/** `argosy runs [OPERATOR|KIND/NAME]`: the runs of a cluster, of an operator, or of an object, the newest first. */
export default command({
  description:
    "Lists the recorded runs of a cluster, the newest first: those of all operators, of one operator, or of one object.",
  arguments: [["[of]", "an operator's name, or KIND/NAME (default: all)"]],
  options: [
    flag("--failed", "only failed runs"),
    flag("--log", "show the end of the handler's standard error for each run"),
    optionWithDefault("--limit <number>", "the most runs to list", 20, positiveInteger),
    ...objectOptions(RUN, "print a line of JSON for each run"),
  ],
  async run(of, options) {
    if (of !== undefined) checkNames([of]);
    return withCluster(options, async (client) => {
      const { runs: all, unseen, others = [] } = await runsOf(client, of, options);
      const chosen = all.filter(({ phase }) => !options.failed || isFailure(phase)).slice(0, options.limit);
      const [now, style] = [new Date(), styleFor(process.stdout)];
      for (const run of chosen) {
        if (options.json) {
          options.json(run);
          continue;
        }
        print(formatRun(run, now, style));
        if (options.log && run.log) print(indent(safe(run.log)));
      }
      if (unseen) progress(`Some runs may not be listed, because ${unseen}.`);
      else if (chosen.length === 0) {
        const known = others.length > 0 ? ` Operators with runs: ${others.join(", ")}.` : "";
        progress(`There are no such runs.${known} ${HOW_LONG_KEPT}`);
      }
      return EXIT_CODES.fine;
    });
  },
});

async function runsOf(
  client: KubernetesClient,
  of: string | undefined,
  options: NamespaceOptions,
): Promise<SeenRuns & { /** Operators with runs, if the one that is named has none. */ others?: string[] }> {
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
    const others = [...new Set(all.flatMap(({ operator }) => operator ?? []))].sort();
    return { runs: chosen, unseen, ...(chosen.length === 0 && { others }) };
  }
  const target = await findTarget(client, of, options, installed);
  const { metadata } = await readTarget(client, target);
  return listRuns(client, { uid: metadata.uid, homes }, () => target.resource);
}
