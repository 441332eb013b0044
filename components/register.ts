// A manifest as a resource of Pulumi; registerData.ts: one that holds users' data, so that it can be kept.
import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import type { Manifest } from "../runtime/program";
import { withInputs } from "./arguments/inputs";
import { hashOf } from "./manifests/configMaps";
import type { DataMode } from "./manifests/data";
import type { ManifestSet } from "./manifests/metadata";

type ResourceClass = new (
  name: string,
  args: object,
  opts?: pulumi.CustomResourceOptions,
) => pulumi.CustomResource;

/** Pulumi's class for each kind of Kubernetes' own that Argosy makes. */
const CLASSES: Readonly<Record<string, ResourceClass>> = {
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": k8s.admissionregistration.v1
    .ValidatingAdmissionPolicy as ResourceClass,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": k8s.admissionregistration.v1
    .ValidatingAdmissionPolicyBinding as ResourceClass,
  "v1/ConfigMap": k8s.core.v1.ConfigMap as ResourceClass,
  "v1/Namespace": k8s.core.v1.Namespace as ResourceClass,
  "v1/Secret": k8s.core.v1.Secret as ResourceClass,
  "v1/Service": k8s.core.v1.Service as ResourceClass,
  "v1/ServiceAccount": k8s.core.v1.ServiceAccount as ResourceClass,
  "apiextensions.k8s.io/v1/CustomResourceDefinition": k8s.apiextensions.v1
    .CustomResourceDefinition as ResourceClass,
  "apps/v1/Deployment": k8s.apps.v1.Deployment as ResourceClass,
  "networking.k8s.io/v1/NetworkPolicy": k8s.networking.v1.NetworkPolicy as ResourceClass,
  "scheduling.k8s.io/v1/PriorityClass": k8s.scheduling.v1.PriorityClass as ResourceClass,
  "v1/ResourceQuota": k8s.core.v1.ResourceQuota as ResourceClass,
  "policy/v1/PodDisruptionBudget": k8s.policy.v1.PodDisruptionBudget as ResourceClass,
  "rbac.authorization.k8s.io/v1/ClusterRole": k8s.rbac.v1.ClusterRole as ResourceClass,
  "rbac.authorization.k8s.io/v1/ClusterRoleBinding": k8s.rbac.v1.ClusterRoleBinding as ResourceClass,
  "rbac.authorization.k8s.io/v1/Role": k8s.rbac.v1.Role as ResourceClass,
  "rbac.authorization.k8s.io/v1/RoleBinding": k8s.rbac.v1.RoleBinding as ResourceClass,
};

/** Groups whose kinds are custom resources that others own. */
const CUSTOM: readonly string[] = ["argoproj.io", "monitoring.coreos.com"];

/**
 * Registers a manifest: as Pulumi's own class if its kind is one of Kubernetes', else as a custom resource of Argo's or of the
 * Prometheus Operator's. Values that are known later replace their placeholders.
 *
 * An immutable ConfigMap is named by its content in Pulumi's tree too. As one resource, Pulumi would replace it, and keep the former
 * one to be deleted until an update ends well: after one that fails, a return to the former content would fail with `already exists`.
 * It is never protected: each change of its content deletes it, and nothing is lost with it.
 * @param name the name in Pulumi's tree, for an immutable ConfigMap without its hash
 * @throws Error for a kind of Kubernetes' own that is missing in the table. As a custom resource, Pulumi would not know when it
 *   is ready
 */
export function register(
  name: string,
  manifest: Manifest,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResource {
  const { apiVersion, kind } = manifest;
  const Class = CLASSES[`${apiVersion}/${kind}`];
  const inputs = withInputs(manifest) as object;
  if (Class && manifest["immutable"] === true)
    return new Class(`${name}-${hashOf(manifest)}`, inputs, { ...opts, protect: false });
  if (Class) return new Class(name, inputs, opts);
  const [group = ""] = apiVersion.split("/");
  if (!CUSTOM.includes(group)) throw new Error(`register.ts knows no ${apiVersion} ${kind}`);
  return new k8s.apiextensions.CustomResource(name, inputs as k8s.apiextensions.CustomResourceArgs, opts);
}

/** Kinds whose pods run at once, and need everything that was declared before them. */
const WORKLOADS: readonly string[] = ["Deployment"];

/** The registered resources of a set, by the same keys. */
export type Registered = Readonly<Record<string, pulumi.CustomResource>>;

/**
 * Registers the manifests of a set, each as `<prefix>-<role>`. Workloads are created after the manifests before them in the set,
 * such as accounts, roles and configuration, and are deleted before these.
 */
export function registerSet(
  prefix: string,
  set: ManifestSet,
  opts: pulumi.CustomResourceOptions,
): Registered {
  const registered: Record<string, pulumi.CustomResource> = {};
  for (const [role, manifest] of Object.entries(set)) {
    const isWorkload = WORKLOADS.includes(manifest.kind);
    const dependsOn = isWorkload ? after(opts, Object.values(registered)) : opts;
    const how = mustGoFirst(manifest) ? { ...dependsOn, deleteBeforeReplace: true } : dependsOn;
    registered[role] = register(`${prefix}-${role}`, manifest, how);
  }
  return registered;
}

/**
 * Whether a manifest must be deleted before another one takes its place. A guard of a renamed operator would refuse the operator
 * under its new name. A program that must never have two pods must not have two Deployments in two namespaces either.
 */
function mustGoFirst(manifest: Manifest): boolean {
  const { strategy } = (manifest["spec"] ?? {}) as { readonly strategy?: { readonly type?: string } };
  return manifest.kind.startsWith("ValidatingAdmissionPolicy") || strategy?.type === "Recreate";
}

/**
 * The options of a resource whose deletion would lose data. If it is not protected, the option is left out and is not false, because
 * only then does the resource have the option of its parents.
 */
export function protectedIf(data: DataMode): Pick<pulumi.ResourceOptions, "protect"> {
  return data === "protect" ? { protect: true } : {};
}

/** The option that makes a resource a sibling of the one that has these options. */
export function parentIn({ parent }: pulumi.ResourceOptions): Pick<pulumi.ResourceOptions, "parent"> {
  return parent ? { parent } : {};
}

/** The option with which a part of a component is registered after everything that the component itself comes after. */
export function dependsOnIn({
  dependsOn,
}: pulumi.ResourceOptions): Pick<pulumi.ResourceOptions, "dependsOn"> {
  return dependsOn === undefined ? {} : { dependsOn };
}

/** Whether a component comes after anything. A program in another language always gives a list, which may be empty. */
export function comesAfter({ dependsOn }: pulumi.ResourceOptions): boolean {
  return Array.isArray(dependsOn) ? dependsOn.length > 0 : dependsOn !== undefined;
}

/** The same options, for a resource that comes after further resources, as far as these exist. */
export function after(
  opts: pulumi.CustomResourceOptions,
  resources: readonly (pulumi.Resource | undefined)[] | Registered,
): pulumi.CustomResourceOptions {
  const given = (opts.dependsOn ?? []) as pulumi.Resource[];
  const further = Object.values(resources).filter((each) => each !== undefined);
  return { ...opts, dependsOn: [...given, ...further] };
}
