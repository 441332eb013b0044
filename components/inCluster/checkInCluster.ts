import * as pulumi from "@pulumi/pulumi";
import { type Findings, type Look, type LookOptions, lookInCluster } from "../../preflight/lookInCluster";
import { notingUnseen } from "../../preflight/unseen";
import { isWithoutCluster } from "../../preflight/withoutCluster";
import { clean } from "../../runtime/program";
import { ConfigurationError } from "../errors";
import type { Note } from "../notes";
import type { Cluster } from "./cluster";
import { isNewWarning, thisProgram } from "./thisRun";

/** How long an `up` waits for an answer: without one it may delete what it should not. */
const UP_PATIENCE_MS = 60_000;

/** A check of a component in its cluster. It is told the program. */
type Check = (look: Look, program: string) => Promise<Findings>;

/**
 * Looks into the cluster before a component and its objects are registered. If the cluster does not answer, the program goes on
 * without the check, and says so. If a command runs the program without a cluster, nothing is checked.
 *
 * @param component the name of the component in errors: `Operators "shop"`
 * @throws ConfigurationError that says what the cluster does not allow
 */
export async function checkInCluster(component: string, cluster: Cluster, check: Check): Promise<void> {
  if (isWithoutCluster()) return;
  const program = thisProgram();
  sayTakesOver(component);
  const connection = await cluster.connection;
  // No message is awaited: Pulumi sends one after another, and an earlier one may be about a component that waits for this.
  if (!connection) return sayUnchecked(component, cluster);
  let hasConnection = true;
  const onNoConnection = ({ message }: Error) => {
    hasConnection = false;
    // If the program does not name a cluster, a preview without a kubeconfig is normal.
    const isNamed = Object.values(connection).some((value) => value !== undefined);
    if ((!isNamed && !isUp()) || !isNewWarning(message)) return;
    void pulumi.log.warn(`${component}: nothing is checked in the cluster: ${message}`);
  };
  const options: LookOptions = { onNoConnection, ...(isUp() && { patienceMs: UP_PATIENCE_MS }) };
  const { found, unseen } = await lookInCluster(
    connection,
    (look) => notingUnseen(look, (noting) => check(noting, program)),
    options,
  );
  const { problems, warnings = [] } = found;
  // They quote what is in the cluster, which ends up on a terminal.
  const told = (finding: string) => `${component}: ${clean(finding, Number.POSITIVE_INFINITY)}`;
  if (problems.length > 0) throw new ConfigurationError(problems.map(told));
  for (const warning of warnings) void pulumi.log.warn(told(warning));
  if (!hasConnection || unseen.length === 0) return;
  void pulumi.log.warn(
    `${component}: the cluster did not answer, or this kubeconfig may not see: ${unseen.join(", ")}. What depends on that is not checked.`,
  );
}

/** Whether objects are really created and deleted. A test with mocks has no engine. */
function isUp(): boolean {
  return !pulumi.runtime.isDryRun() && pulumi.runtime.getEngine() !== undefined;
}

const TAKES_OVER = "PULUMI_K8S_UPSERT_EXISTING_OBJECTS";

/** No check can tell which objects Pulumi deletes after a component was renamed: the program makes objects of the same names. */
function sayTakesOver(component: string): void {
  if (process.env[TAKES_OVER] !== "true" || !isNewWarning(TAKES_OVER)) return;
  void pulumi.log.warn(
    `${component}: ${TAKES_OVER} is true, so Pulumi takes over objects that exist already. If the preview deletes objects that this program still makes, do not go on: Pulumi would take them over, and then delete them. Give a renamed component an alias with its former name first.`,
  );
}

/** Once for each provider, since a component and its parts have the same one. */
function sayUnchecked(component: string, { provider }: Cluster): void {
  if (provider === undefined || !isNewWarning(provider)) return;
  void pulumi.log.info(
    `${component}: nothing is checked in the cluster, because a provider does not say where its cluster is. If the cluster exists, give the argument cluster with its kubeconfig or context in addition to the provider.`,
  );
}

/** The options of a component that registers nothing before a check has succeeded, and that comes after further resources. */
export function afterCheck(
  check: Promise<void>,
  opts: pulumi.ComponentResourceOptions,
  resources: readonly pulumi.Resource[] = [],
): pulumi.ComponentResourceOptions {
  const given = { dependsOn: opts.dependsOn ?? [] };
  const { dependsOn: all = [] } = pulumi.mergeOptions(given, { dependsOn: [...resources] });
  const dependsOn = check.then(() => all) as unknown as pulumi.Input<pulumi.Resource[]>;
  return { ...opts, dependsOn };
}

/**
 * Logs notes on a component once a check has succeeded: for a refused program only the reason is logged. The notes are about no
 * resource, because Pulumi cannot deliver a message about a resource that is never registered. After such a message it delivers
 * none, not even its own error.
 */
export function sayAfter(check: Promise<void>, component: string, notes: readonly Note[]): void {
  const say = () => {
    for (const { severity, text } of notes) void pulumi.log[severity](`${component}: ${text}`);
  };
  void check.then(say, () => {});
}
