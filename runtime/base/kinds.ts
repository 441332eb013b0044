import { isRecord, isText } from "./json";
import { groupOf, type KubernetesObject } from "./objects";

/** The kinds of one API group that can be listed and watched, by scope. */
interface GroupKinds {
  readonly namespaced?: readonly string[];
  readonly cluster?: readonly string[];
}

/**
 * Kubernetes' own kinds by API group ("" is the core group), whatever their version.
 *
 * Source: `api/discovery/` of kubernetes/kubernetes v1.34.1, without the kinds that cannot be watched
 * (Binding and the reviews), since the engine could not follow such a child.
 */
export const BUILT_IN_KINDS: Readonly<Record<string, GroupKinds>> = {
  "": {
    namespaced: [
      ...["ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate"],
      ...["ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount"],
    ],
    cluster: ["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
  },
  "admissionregistration.k8s.io": {
    cluster: [
      ...["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"],
      ...["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"],
    ],
  },
  "apiextensions.k8s.io": { cluster: ["CustomResourceDefinition"] },
  "apiregistration.k8s.io": { cluster: ["APIService"] },
  apps: { namespaced: ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"] },
  autoscaling: { namespaced: ["HorizontalPodAutoscaler"] },
  batch: { namespaced: ["CronJob", "Job"] },
  "certificates.k8s.io": {
    namespaced: ["PodCertificateRequest"],
    cluster: ["CertificateSigningRequest", "ClusterTrustBundle"],
  },
  "coordination.k8s.io": { namespaced: ["Lease", "LeaseCandidate"] },
  "discovery.k8s.io": { namespaced: ["EndpointSlice"] },
  "events.k8s.io": { namespaced: ["Event"] },
  "flowcontrol.apiserver.k8s.io": { cluster: ["FlowSchema", "PriorityLevelConfiguration"] },
  "internal.apiserver.k8s.io": { cluster: ["StorageVersion"] },
  "networking.k8s.io": {
    namespaced: ["Ingress", "NetworkPolicy"],
    cluster: ["IPAddress", "IngressClass", "ServiceCIDR"],
  },
  "node.k8s.io": { cluster: ["RuntimeClass"] },
  policy: { namespaced: ["PodDisruptionBudget"] },
  "rbac.authorization.k8s.io": {
    namespaced: ["Role", "RoleBinding"],
    cluster: ["ClusterRole", "ClusterRoleBinding"],
  },
  "resource.k8s.io": {
    namespaced: ["ResourceClaim", "ResourceClaimTemplate"],
    cluster: ["DeviceClass", "DeviceTaintRule", "ResourceSlice"],
  },
  "scheduling.k8s.io": { cluster: ["PriorityClass"] },
  "storage.k8s.io": {
    namespaced: ["CSIStorageCapacity"],
    cluster: ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
  },
  "storagemigration.k8s.io": { cluster: ["StorageVersionMigration"] },
};

/** Whether a kind, or an unchecked object, is that of Secrets, which have rules of their own. */
export function isSecretKind({
  apiVersion,
  kind,
}: {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
}): boolean {
  return kind === "Secret" && typeof apiVersion === "string" && groupOf(apiVersion) === "";
}

/** The types of Secrets that no handler is given. They are keys to the cluster, or contain other Secrets. */
const NEVER_GIVEN = [
  "kubernetes.io/service-account-token",
  "bootstrap.kubernetes.io/token",
  "helm.sh/release.v1",
  "helm.sh/release.v2",
];

/** Whether no handler is given Secrets of this type. */
export function isNeverGivenType(type: unknown): boolean {
  return typeof type === "string" && NEVER_GIVEN.includes(type);
}

/** Whether an object is a Secret that no handler is given. A Secret's type never changes. */
export function isNeverGiven(object: KubernetesObject): boolean {
  return isSecretKind(object) && isNeverGivenType(object["type"]);
}

/** All values of a Secret in base64, by key: `stringData` as well, in the form in which the API server stores it. */
export function secretDataOf({
  data,
  stringData,
}: {
  readonly [field: string]: unknown;
}): Record<string, unknown> {
  const texts = Object.entries(isRecord(stringData) ? stringData : {}).map(([key, text]) => [
    key,
    isText(text) ? Buffer.from(text).toString("base64") : text,
  ]);
  return { ...(isRecord(data) ? data : {}), ...Object.fromEntries(texts) };
}

/** Kinds with an irregular plural. Among Kubernetes' own there is one. */
const IRREGULAR_PLURALS: Readonly<Record<string, string>> = { Endpoints: "endpoints" };

/**
 * The resource's name in the API: "deployments" for apps/v1 Deployment.
 *
 * Exact for {@link BUILT_IN_KINDS}. For other kinds it is the lower-cased English plural, which nearly every CRD uses. If a CRD
 * does not, the author names the plural in the definition.
 */
export function pluralOf(apiVersion: string, kind: string): string {
  const irregular = isNamespaced(apiVersion, kind) === undefined ? undefined : IRREGULAR_PLURALS[kind];
  return irregular ?? englishPlural(kind.toLowerCase());
}

/** Whether objects of a built-in kind live in a namespace. Undefined for a kind that is not Kubernetes' own. */
export function isNamespaced(apiVersion: string, kind: string): boolean | undefined {
  const kinds = BUILT_IN_KINDS[groupOf(apiVersion)];
  if (kinds?.namespaced?.includes(kind)) return true;
  if (kinds?.cluster?.includes(kind)) return false;
  return undefined;
}

/** Kubernetes' own kinds in namespaces whose objects may have names with capitals. Some of them are not yet in every API server. */
const FREELY_NAMED = [
  "Event",
  "LeaseCandidate",
  "PodCertificateRequest",
  "PodDisruptionBudget",
  "Role",
  "RoleBinding",
];

/**
 * Whether it is known that each object of a kind has a DNS name: see `isDnsName`. For kinds that are not Kubernetes' own, only the
 * API server knows.
 */
export function hasDnsNames(apiVersion: string, kind: string): boolean {
  return isNamespaced(apiVersion, kind) === true && !FREELY_NAMED.includes(kind);
}

function englishPlural(word: string): string {
  if (/(s|x|ch|sh)$/.test(word)) return `${word}es`;
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return `${word}s`;
}
