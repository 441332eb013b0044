import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";
import { DEFINITION_FILE, definitionFileContent } from "../../../runtime/programs/definitionFile";

/** Fields of a manifest's metadata other than its name. */
export type Metadata = Partial<Manifest["metadata"]>;

export function configMap(
  name: string,
  data: Record<string, string> = {},
  metadata: Metadata = {},
): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { ...metadata, name }, data };
}

/** A Deployment that says nothing of its replicas. */
export function deployment(name: string, spec: JsonObject = {}, metadata: Metadata = {}): Manifest {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...metadata, name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec() }, ...spec },
  };
}

/**
 * The CustomResourceDefinition of a kind with namespaces, as an author writes one. Its plural is the kind with an "s".
 * @param properties the schemas of its fields. A status is a subresource
 */
export function customResourceDefinition(
  group: string,
  kind: string,
  properties: { readonly [field: string]: JsonObject },
): Manifest {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", properties } },
    ...(properties["status"] && { subresources: { status: {} } }),
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { kind, plural, singular }, versions: [version] },
  };
}

/** The schema of an object with any fields. */
export const OPEN_SCHEMA: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function pod(name: string): Manifest {
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: podSpec() };
}

export function job(name: string, image: string): Manifest {
  const template = { spec: { ...podSpec(image), restartPolicy: "Never" } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { template } };
}

export function priorityClass(name: string, value: number): Manifest {
  return { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value };
}

/** What an operator declares whose children have {@link clusterRole}: any rule, since the role has none. */
export const CLUSTER_ROLE_GRANTS = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];

export function clusterRole(name: string): Manifest {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules: [] };
}

export function namespace(name: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** The same manifest in a namespace. */
export function inNamespace(manifest: Manifest, namespace: string): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, namespace } };
}

/** The definition of an operator, as a program deploys it to the namespace of its runner. */
export function deployedDefinition(operator: Operator, namespace: string): Manifest {
  const labels = { "app.kubernetes.io/component": "definition", "app.kubernetes.io/managed-by": "argosy" };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${operator.name}-definition`, namespace, labels },
    data: { [DEFINITION_FILE]: definitionFileContent(operator) },
  };
}

function podSpec(image = "example.com/worker:1"): JsonObject {
  return { containers: [{ name: "main", image }] };
}
