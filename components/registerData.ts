import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { announce } from "../definition/announcement";
import { KEPT } from "../preflight/makers";
import { fingerprint, type Manifest } from "../runtime/program";
import { withInputs } from "./arguments/inputs";
import type { Cluster } from "./inCluster/cluster";
import { thisProgram, thisRun } from "./inCluster/thisRun";
import type { DataMode } from "./manifests/data";
import type { ManifestSet } from "./manifests/metadata";
import { protectedIf, type Registered, register } from "./register";

/** How the objects are registered that hold users' data: CRDs and namespaces. */
export interface DataOptions {
  readonly data: DataMode;
  readonly cluster: Cluster;
}

/** Pulumi's types of these kinds, and the resource that patches an object of the kind, or creates it. */
const KINDS = {
  CustomResourceDefinition: {
    type: "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
    Patch: k8s.apiextensions.v1.CustomResourceDefinitionPatch,
  },
  Namespace: { type: "kubernetes:core/v1:Namespace", Patch: k8s.core.v1.NamespacePatch },
};

/**
 * Registers an object that holds users' data. If it is kept, then as Pulumi's patch of this object: a patch creates an object that is
 * missing, and takes one that was kept before, which Pulumi's other resources refuse (pulumi-kubernetes, provider/pkg/await/await.go,
 * Creation). One alias lets a stack change its `data`.
 *
 * @param name the name in Pulumi's tree
 */
export function registerData(
  name: string,
  manifest: Manifest,
  { data, cluster }: DataOptions,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResource {
  thisRun().dataObjects.add(`${manifest.kind} ${manifest.metadata.name}`);
  if (data !== "delete") announce({ kept: manifest });
  const { type, Patch } = KINDS[manifest.kind as keyof typeof KINDS];
  if (data !== "keep") {
    return register(name, manifest, { ...opts, ...protectedIf(data), aliases: [{ type: `${type}Patch` }] });
  }
  const { metadata } = manifest;
  const annotations = {
    // What was made with another `data`, or by this stack under a former name, has another field manager. Without a look into the
    // cluster the object may be another stack's: then a conflict is an error.
    "pulumi.com/patchForce": cluster.connection.then((known) => String(known !== undefined)),
    ...metadata.annotations,
    // Not one for each time that the object is taken: a field that an earlier one has set would stay for ever.
    [KEPT]: `argosy-${fingerprint(thisProgram())}`,
  };
  const inputs = withInputs({ ...manifest, metadata: { ...metadata, annotations } }) as object;
  return new Patch(name, inputs, { ...opts, retainOnDelete: true, aliases: [{ type }] });
}

/** Registers all manifests of a set so, each as `<prefix>-<role>`. */
export function registerDataSet(
  prefix: string,
  set: ManifestSet,
  options: DataOptions,
  opts: pulumi.CustomResourceOptions,
): Registered {
  return Object.fromEntries(
    Object.entries(set).map(([role, manifest]) => [
      role,
      registerData(`${prefix}-${role}`, manifest, options, opts),
    ]),
  );
}
