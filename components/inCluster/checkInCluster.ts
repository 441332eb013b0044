import * as pulumi from "@pulumi/pulumi";
import { checkLosses, type ExpectedProgram } from "../preflight/checkLosses";
import {
  type Findings,
  type Look,
  type LookOptions,
  lookInCluster,
  together,
} from "../preflight/lookInCluster";
import { notingUnseen } from "../preflight/unseen";
import { isWithoutCluster } from "../preflight/withoutCluster";
import type { Cluster } from "./cluster";
import { ConfigurationError } from "./errors";
import { makesIn } from "./made";
import type { Note } from "./notes";
import { isWholeProgram, onceForEachRun } from "./thisRun";

/** How long an `up` waits for an answer: without one it may delete what it should not. */
const UP_PATIENCE_MS = 60_000;

/** A check of a component in its cluster. It is told the program, and what all components of the program make in this cluster. */
type Check = (look: Look, program: ExpectedProgram) => Promise<Findings>;

/**
 * Looks into the cluster before a component and its objects are registered. The first component in each cluster also checks that the
 * program gives up nothing there that it must keep. If the cluster does not answer, the program goes on without the check, and says
 * so. If a command runs the program without a cluster, nothing is checked.
 *
 * @param component the name of the component in errors: `Operators "shop"`
 * @throws ConfigurationError that says what the cluster does not allow
 */
export async function checkInCluster(component: string, cluster: Cluster, check: Check): Promise<void> {
  if (isWithoutCluster()) return;
  const makesAt = makesIn(cluster);
  sayTakesOver(component);
  const connection = await cluster.connection;
  // No message is awaited: Pulumi sends one after another, and an earlier one may be about a component that waits for this.
  if (!connection) return sayUnchecked(component, cluster);
  const checks = isNew(cluster.identity, checkedForLosses()) ? [check, checkLosses] : [check];
  let hasConnection = true;
  const onNoConnection = ({ message }: Error) => {
    hasConnection = false;
    // If the program does not name a cluster, a preview without a kubeconfig is normal.
    const isNamed = Object.values(connection).some((value) => value !== undefined);
    if ((!isNamed && !isUp()) || !isNew(message)) return;
    void pulumi.log.warn(`${component}: nothing is checked in the cluster: ${message}`);
  };
  const options: LookOptions = { onNoConnection, ...(isUp() && { patienceMs: UP_PATIENCE_MS }) };
  const { found, unseen } = await lookInCluster(
    connection,
    (look, server) => {
      const program = { program: thisProgram(), isWhole: isWholeProgram(), makes: makesAt(server) };
      return notingUnseen(look, async (noting) =>
        together(await Promise.all(checks.map((each) => each(noting, program)))),
      );
    },
    options,
  );
  const { problems, warnings = [] } = found;
  if (problems.length > 0)
    throw new ConfigurationError(problems.map((problem) => `${component}: ${problem}`));
  for (const warning of warnings) void pulumi.log.warn(`${component}: ${warning}`);
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
  if (process.env[TAKES_OVER] !== "true" || !isNew(TAKES_OVER)) return;
  void pulumi.log.warn(
    `${component}: ${TAKES_OVER} is true, so Pulumi takes over objects that exist already. If the preview deletes objects that this program still makes, do not go on: Pulumi would take them over, and then delete them. Give a renamed component an alias with its former name first.`,
  );
}

/** Once for each provider, since a component and its parts have the same one. */
function sayUnchecked(component: string, { provider }: Cluster): void {
  if (provider === undefined || !isNew(provider)) return;
  void pulumi.log.info(
    `${component}: nothing is checked in the cluster, because a provider does not say where its cluster is. If the cluster exists, give the argument cluster with its kubeconfig or context in addition to the provider.`,
  );
}

/** What the components of a program have warned about. */
const warnedAbout = onceForEachRun("warnedAbout", () => new Set<unknown>());

/** The clusters in which a component of a program has begun to check for losses. */
const checkedForLosses = onceForEachRun("checkedForLosses", () => new Set<unknown>());

/** Whether this is not yet among what the program's components have done. It is from now on. */
function isNew(about: unknown, known = warnedAbout()): boolean {
  return !known.has(about) && known.add(about) !== undefined;
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

/** This program as one word, which is Pulumi's own name of its stack: "organization/project/stack". */
export function thisProgram(): string {
  return `${organization()}/${pulumi.getProject()}/${pulumi.getStack()}`;
}

/** A backend without organizations calls its only one "organization". So does this, where there is no backend: under mocks. */
function organization(): string {
  try {
    return pulumi.getOrganization();
  } catch {
    return "organization";
  }
}
