import type { Namespace } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { type TransformOptions, transformed } from "../transform";
import { ownsController, type PlatformOptions } from "./options";

/** The platform's namespaces, if we make them. The controllers' namespace is left out if no controller of ours would be in it. */
export function buildNamespaces(options: PlatformOptions): ManifestSet {
  if (!options.createNamespaces) return {};
  const hasControllers = ownsController(options.argoEvents) || ownsController(options.argoWorkflows);
  return {
    ...(hasControllers && {
      controllers: buildNamespace(options.controllerNamespace, "controllers", options),
    }),
    operators: buildNamespace(options.namespace, "operators", options),
  };
}

/**
 * A namespace whose pods must keep the `restricted` Pod Security Standard
 * (https://kubernetes.io/docs/concepts/security/pod-security-admission/).
 */
function buildNamespace(name: string, component: string, options: TransformOptions): Namespace {
  return transformed(
    "namespace",
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { ...labelsOf("argosy", component), ...RESTRICTED } },
    },
    options,
  );
}

const RESTRICTED = Object.fromEntries(
  ["enforce", "audit", "warn"].flatMap((mode) => [
    [`pod-security.kubernetes.io/${mode}`, "restricted"],
    [`pod-security.kubernetes.io/${mode}-version`, "latest"],
  ]),
);
