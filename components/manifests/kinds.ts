import type { types } from "@pulumi/kubernetes";
import type { ObjectMeta } from "../../runtime/program";

/**
 * Kubernetes' own types, as Pulumi has them, for plain data: a wrong field or a value of a wrong type does not compile. Kinds of
 * Argo's have no types here: tests check them against Argo's schemas. CRDs have none either, because Pulumi writes the fields
 * `x-kubernetes-*` of a schema in another way.
 */

/**
 * The plain data that Pulumi's type of an argument describes. `satisfies` with that type itself would accept an Output in the
 * place of a text, and refuse every read-only list.
 */
type Plain<T> = 0 extends 1 & T
  ? T
  : T extends string | number | boolean
    ? T
    : T extends undefined | null | PromiseLike<unknown> | { readonly apply: unknown }
      ? never
      : T extends readonly (infer Item)[]
        ? readonly Plain<Item>[]
        : { readonly [Field in keyof T]: Plain<T[Field]> };

/** A manifest of a kind of Kubernetes' own. */
type ManifestOf<T extends { apiVersion?: unknown; kind?: unknown }> = Plain<
  Omit<T, "apiVersion" | "kind" | "metadata" | "status">
> & {
  readonly apiVersion: Extract<T["apiVersion"], string>;
  readonly kind: Extract<T["kind"], string>;
  readonly metadata: ObjectMeta;
};

export type ConfigMap = ManifestOf<types.input.core.v1.ConfigMap>;
export type Namespace = ManifestOf<types.input.core.v1.Namespace>;
export type Secret = ManifestOf<types.input.core.v1.Secret>;
export type Service = ManifestOf<types.input.core.v1.Service>;
export type ServiceAccount = ManifestOf<types.input.core.v1.ServiceAccount>;
export type Deployment = ManifestOf<Omit<types.input.apps.v1.Deployment, "spec">> & {
  readonly spec: Plain<Omit<types.input.apps.v1.DeploymentSpec, "template">> & {
    readonly template: {
      readonly metadata: Pick<ObjectMeta, "labels" | "annotations">;
      readonly spec: PodSpec;
    };
  };
};
export type NetworkPolicy = ManifestOf<types.input.networking.v1.NetworkPolicy>;
export type PodDisruptionBudget = ManifestOf<types.input.policy.v1.PodDisruptionBudget>;
export type Role = ManifestOf<types.input.rbac.v1.Role | types.input.rbac.v1.ClusterRole>;
export type RoleBinding = ManifestOf<
  types.input.rbac.v1.RoleBinding | types.input.rbac.v1.ClusterRoleBinding
>;

export type PodSpec = Plain<types.input.core.v1.PodSpec>;
export type Affinity = Plain<types.input.core.v1.Affinity>;
export type Toleration = Plain<types.input.core.v1.Toleration>;
export type Container = Plain<types.input.core.v1.Container>;
export type ContainerPort = Plain<types.input.core.v1.ContainerPort>;
export type EnvVar = Plain<types.input.core.v1.EnvVar>;
export type Probe = Plain<types.input.core.v1.Probe>;
export type Resources = Plain<types.input.core.v1.ResourceRequirements>;
export type Volume = Plain<types.input.core.v1.Volume>;
export type VolumeMount = Plain<types.input.core.v1.VolumeMount>;
