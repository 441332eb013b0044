import type { Namespace } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { type TransformOptions, transformed } from "../transform";
import { ownsController, type PlatformOptions } from "./options";

/** The platform's namespaces by what is in them. That of the controllers is left out if no controller of ours would be in it. */
export function namespacesOf({
  namespace,
  controllerNamespace,
  argoEvents,
  argoWorkflows,
}: Pick<PlatformOptions, "namespace" | "controllerNamespace" | "argoEvents" | "argoWorkflows">): {
  readonly operators: string;
  readonly controllers?: string;
} {
  const hasControllers = ownsController(argoEvents) || ownsController(argoWorkflows);
  return { ...(hasControllers && { controllers: controllerNamespace }), operators: namespace };
}

/** The platform's namespaces, if we make them. */
export function buildNamespaces(options: PlatformOptions): ManifestSet {
  if (!options.createNamespaces) return {};
  const named = Object.entries(namespacesOf(options));
  return Object.fromEntries(
    named.map(([component, name]) => [component, buildNamespace(name, component, options)]),
  );
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
