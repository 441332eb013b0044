import * as pulumi from "@pulumi/pulumi";
import { ConfigurationError } from "./configuration/configurationError";
import { lookFor, type Presence } from "./lookInCluster";
import type { Installation } from "./manifests/platform/options";

/** A product of Argo, the key that says how it comes into the cluster, and a CRD by which it is known. */
const PRODUCTS = [
  { key: "argoEvents", title: "Argo Events", crd: "eventsources.argoproj.io" },
  { key: "argoWorkflows", title: "Argo Workflows", crd: "workflows.argoproj.io" },
] as const;

/** How each product shall come into the cluster. */
export type Installations = Readonly<Record<(typeof PRODUCTS)[number]["key"], Installation>>;

/**
 * Looks into the cluster, before anything is registered, whether what is to be shared or adopted is there, and what
 * is to be installed is not there yet. Where the cluster cannot be reached it tells so and goes on.
 * @param project - the project's name, the prefix of its keys
 * @throws ConfigurationError naming key and remedy
 */
export async function checkArgoInCluster(project: string, installations: Installations): Promise<void> {
  const presences = await lookFor(PRODUCTS.map(({ crd }) => crd));
  const problems = problemsOf(project, installations, presences);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const unseen = PRODUCTS.filter(({ key, crd }) => installations[key] !== "install" && !presences[crd]);
  for (const { title } of unseen) {
    await pulumi.log.warn(`the cluster cannot be asked whether ${title} is there, which is to be used`);
  }
}

/** What is wrong, a sentence each, given what is in the cluster. */
export function problemsOf(
  project: string,
  installations: Installations,
  presences: Readonly<Record<string, Presence>>,
): string[] {
  return PRODUCTS.flatMap(({ key, title, crd }) => {
    const installation = installations[key];
    const presence = presences[crd];
    if (installation === "install" && presence === "foreign") {
      return `${project}:${key} is "install", but ${title} is in the cluster already (${crd}). Set it to "share" for a controller of our own beside the other, or to "adopt" to use the one that is there.`;
    }
    if (installation !== "install" && presence === "absent") {
      return `${project}:${key} is "${installation}", but ${title} is not in the cluster (no ${crd}). Set it to "install", or install ${title} first.`;
    }
    return [];
  });
}
