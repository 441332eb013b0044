import * as pulumi from "@pulumi/pulumi";
import { type Findings, type Look, lookInCluster } from "../preflight/lookInCluster";
import type { Cluster } from "./cluster";
import { ConfigurationError } from "./errors";
import { onceForEachRun } from "./thisRun";

/**
 * Looks into the cluster before a component and its objects are registered. If the cluster does not answer, a preview goes on without
 * the check, and says so.
 *
 * @param component the name of the component in errors: `Operators "shop"`
 * @throws ConfigurationError that says what the cluster does not allow
 */
export async function checkInCluster(
  component: string,
  cluster: Cluster,
  find: (look: Look) => Promise<Findings>,
): Promise<void> {
  const connection = await cluster.connection;
  // No message is awaited: Pulumi sends one after another, and an earlier one may be about a component that waits for this.
  if (!connection) return sayUnchecked(component, cluster);
  const {
    problems,
    unseen,
    warnings = [],
  } = await lookInCluster(connection, find, (error) => {
    // If the program does not name a cluster, a preview without a kubeconfig is normal.
    if ((connection.context ?? connection.kubeconfig) === undefined || !isNew(error.message)) return;
    void pulumi.log.warn(`${component}: ${error.message}`);
  });
  if (problems.length > 0)
    throw new ConfigurationError(problems.map((problem) => `${component}: ${problem}`));
  for (const warning of warnings) void pulumi.log.warn(`${component}: ${warning}`);
  for (const title of unseen) {
    void pulumi.log.warn(
      `${component} uses ${title}, but this kubeconfig does not show whether the cluster has it`,
    );
  }
}

/** Once for each provider, since a component and its parts have the same one. */
function sayUnchecked(component: string, { provider }: Cluster): void {
  if (provider === undefined || !isNew(provider)) return;
  void pulumi.log.info(
    `${component}: nothing is checked in the cluster, because a provider does not say where its cluster is. If the cluster exists, give the argument cluster with its kubeconfig or context in addition to the provider.`,
  );
}

/** What the components of a program have warned about. */
const warnedAbout = onceForEachRun(() => new Set<unknown>());

/** Whether this program has not yet warned about this. It counts as warned from now on. */
function isNew(about: unknown): boolean {
  const known = warnedAbout();
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

/** This program as one word: "project/stack". */
export function thisProgram(): string {
  return `${pulumi.getProject()}/${pulumi.getStack()}`;
}
