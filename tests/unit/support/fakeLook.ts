import type { ControllerConfiguration } from "../../../preflight/controllerConfiguration";
import type { Found, Look } from "../../../preflight/lookInCluster";
import type { KubernetesObject, ObjectMeta } from "../../../runtime/base/objects";

/** The program that the checks are told. */
export const SHOP = { program: "acme/shop/dev" };

/** An object of a cluster of which only the metadata counts. */
export function found(metadata: Partial<ObjectMeta> = {}): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Thing",
    metadata: { name: "it", uid: "1", resourceVersion: "1", ...metadata },
  };
}

/** A cluster that has these. It does not show whether it has anything else. */
export function fakeLook(cluster: {
  readonly crds?: Readonly<Record<string, Found>>;
  readonly namespaces?: Readonly<Record<string, Found>>;
  /** By "namespace/name". */
  readonly serviceAccounts?: Readonly<Record<string, Found>>;
  readonly clusterRoles?: Readonly<Record<string, Found>>;
  readonly operatorDefinitions?: readonly KubernetesObject[];
  readonly platformData?: readonly KubernetesObject[];
  readonly hasSecret?: boolean;
  readonly keepsImageVolumes?: boolean;
  readonly workflowControllers?: readonly ControllerConfiguration[];
}): Look {
  return {
    crd: async (name) => cluster.crds?.[name],
    namespace: async (name) => cluster.namespaces?.[name],
    serviceAccount: async (namespace, name) => cluster.serviceAccounts?.[`${namespace}/${name}`],
    clusterRole: async (name) => cluster.clusterRoles?.[name],
    operatorDefinitions: async () => cluster.operatorDefinitions,
    platformData: async () => cluster.platformData,
    countOf: async () => undefined,
    hasSecret: async () => cluster.hasSecret,
    keepsImageVolumes: async () => cluster.keepsImageVolumes,
    workflowControllers: async () => cluster.workflowControllers,
  };
}
