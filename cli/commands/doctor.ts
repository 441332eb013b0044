import { KubeconfigError } from "../../preflight/kubeconfig";
import { CommandError, EXIT_CODES } from "../common/commandError";
import { command } from "../common/declaration";
import { clusterOptions, jsonOption, operatorsOptions, type ValuesOf } from "../common/options";
import { print, type Style, safe, styleFor } from "../common/terminal";
import { FINDING, type Finding, missing, warning } from "../doctor/checkup";
import { examineCluster } from "../doctor/cluster";
import { examineHandlers, examineMachine } from "../doctor/machine";
import { withCluster } from "../inspect/session";

const OPTIONS = [
  ...operatorsOptions(),
  ...clusterOptions(),
  jsonOption(FINDING, "print a line of JSON for each finding"),
];

/**
 * `argosy doctor`: the problems on this machine, in the program and in the cluster, with remedies.
 * @returns the exit code: 3 if there is a problem. A missing part that not everyone needs is a warning, and does not count
 */
export default command({
  description:
    "Checks this machine, the program's operators and the cluster of the kubeconfig: missing parts, operators without a " +
    "leader, and deletions that are held up. Each problem comes with a remedy. The exit code is 3 if there is a problem.",
  options: OPTIONS,
  async run(options) {
    const machine = await examineMachine();
    const handlers = examineHandlers(options);
    const findings = [...machine, ...handlers.findings, ...(await clusterFindings(options, handlers.names))];
    const style = styleFor(process.stdout);
    const show = options.json ?? ((finding) => print(formatFinding(finding, style)));
    for (const finding of findings) show(finding);
    return findings.some(({ state }) => state === "missing") ? EXIT_CODES.found : EXIT_CODES.fine;
  },
});

/**
 * The findings about the cluster. A cluster that the user names must exist, and the account must see an operator there. The cluster
 * of the current context need not.
 */
async function clusterFindings(
  options: ValuesOf<typeof OPTIONS>,
  program: readonly string[],
): Promise<Finding[]> {
  const isNamed = options.context !== undefined || options.kubeconfig !== undefined;
  try {
    return await withCluster(options, (client) => examineCluster(client, program, new Date(), isNamed));
  } catch (error) {
    if (!(error instanceof KubeconfigError || error instanceof CommandError)) throw error;
    const remedy =
      "argosy start and argosy dev need no cluster. To check your own cluster, name its --context.";
    return [(isNamed ? missing : warning)("cluster", error.message, remedy)];
  }
}

export function formatFinding(finding: Finding, style: Style): string {
  const { what, state, seen, remedy, argosyVersion } = finding;
  const marks = { ok: style("green", "✔"), warning: style("yellow", "!"), missing: style("red", "✘") };
  const by = argosyVersion === undefined ? "" : ` (Argosy ${argosyVersion})`;
  const line = `${marks[state]} ${safe(`${what}${by}: ${seen}`)}`;
  return remedy ? `${line}\n    ${safe(remedy)}` : line;
}
