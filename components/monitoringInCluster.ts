import * as pulumi from "@pulumi/pulumi";
import { ConfigurationError } from "./configuration/configurationError";
import { lookFor, type Presence } from "./lookInCluster";
import { MONITORING_KINDS, type MonitoringOptions } from "./manifests/platform/options";

/**
 * Looks into the cluster, before anything is registered, whether the Prometheus Operator's kinds are there that the
 * monitoring is made of. Where the cluster cannot be reached it tells so and goes on.
 * @param project - the project's name, the prefix of its keys
 * @throws ConfigurationError naming key and remedy
 */
export async function checkMonitoringInCluster(
  project: string,
  monitoring: MonitoringOptions = {},
): Promise<void> {
  const needed = kindsOf(monitoring);
  if (needed.length === 0) return;
  const presences = await lookFor(needed.map(({ crd }) => crd));
  const problems = missingKinds(project, monitoring, presences);
  if (problems.length > 0) throw new ConfigurationError(problems);
  if (needed.some(({ crd }) => !presences[crd])) {
    await pulumi.log.warn(
      "the cluster cannot be asked whether the Prometheus Operator is there, which is to be used",
    );
  }
}

/** What is wrong, a sentence each, given what is in the cluster. */
export function missingKinds(
  project: string,
  monitoring: MonitoringOptions,
  presences: Readonly<Record<string, Presence>>,
): string[] {
  return kindsOf(monitoring)
    .filter(({ crd }) => presences[crd] === "absent")
    .map(
      ({ option, kind, crd }) =>
        `${project}:monitoring asks for ${option}, but the cluster has no ${kind} (no ${crd}). Install the Prometheus Operator first, or leave ${option} out.`,
    );
}

function kindsOf(monitoring: MonitoringOptions) {
  return MONITORING_KINDS.filter(({ option }) => monitoring[option]);
}
