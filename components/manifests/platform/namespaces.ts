import type { Manifest } from "../../../runtime/program";
import { labelsOf, type ManifestSet } from "../metadata";
import { ownsController, type PlatformOptions } from "./options";

/**
 * The platform's namespaces, where they are ours to make. The controllers' is left out where no controller of ours
 * would be in it.
 */
export function buildNamespaces(options: PlatformOptions): ManifestSet {
  if (!options.createNamespaces) return {};
  const hasControllers = ownsController(options.argoEvents) || ownsController(options.argoWorkflows);
  return {
    ...(hasControllers && { controllers: buildNamespace(options.controllerNamespace, "controllers") }),
    operators: buildNamespace(options.namespace, "operators"),
  };
}

/**
 * A namespace whose pods must keep the `restricted` Pod Security Standard
 * (https://kubernetes.io/docs/concepts/security/pod-security-admission/).
 */
function buildNamespace(name: string, component: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { ...labelsOf("argosy", component), ...RESTRICTED } },
  };
}

const RESTRICTED = Object.fromEntries(
  ["enforce", "audit", "warn"].flatMap((mode) => [
    [`pod-security.kubernetes.io/${mode}`, "restricted"],
    [`pod-security.kubernetes.io/${mode}-version`, "latest"],
  ]),
);
