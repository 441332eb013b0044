import { isRecord } from "../../../runtime/base/json";
import type { Manifest } from "../../../runtime/base/objects";

type Tree = Record<string, unknown>;

/** Every reference of a set of manifests to something that the set does not have, in words. */
export function danglingReferences(manifests: readonly Manifest[]): string[] {
  const known = new Set(
    manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`),
  );
  const dangling: string[] = [];
  for (const manifest of manifests) {
    for (const target of referencesOf(manifest, manifests)) {
      if (!known.has(target)) dangling.push(`${manifest.kind} ${manifest.metadata.name} refers to ${target}`);
    }
  }
  return dangling;
}

/** How many references are looked at: a test that finds none is none. */
export function countReferences(manifests: readonly Manifest[]): number {
  return manifests.flatMap((manifest) => referencesOf(manifest, manifests)).length;
}

function referencesOf(manifest: Manifest, all: readonly Manifest[]): string[] {
  const { kind, metadata } = manifest;
  const namespace = metadata.namespace ?? "";
  const spec = tree(manifest.spec);
  const own = metadata.namespace === undefined ? [] : [`Namespace /${metadata.namespace}`];
  switch (kind) {
    case "RoleBinding":
    case "ClusterRoleBinding":
      return [...own, ...bindingReferences(manifest, namespace)];
    case "Deployment":
      return [...own, ...podReferences(tree(tree(spec.template).spec), namespace)];
    case "Service":
    case "PodDisruptionBudget":
    case "NetworkPolicy":
      return [...own, selected(kind, spec, namespace, all)];
    case "EventBus":
      return [...own, `ServiceAccount ${namespace}/${tree(spec.jetstream).serviceAccountName}`];
    case "EventSource":
      return [...own, `EventBus ${namespace}/${spec.eventBusName}`, ...templateReferences(spec, namespace)];
    case "Sensor":
      return [
        ...own,
        `EventBus ${namespace}/${spec.eventBusName}`,
        ...sensorReferences(spec, namespace, all),
      ];
    case "WorkflowTemplate":
      return [...own, ...workflowReferences(spec, namespace)];
    case "CronWorkflow":
      return [...own, templateReference(tree(spec.workflowSpec), namespace)];
    default:
      return own;
  }
}

function bindingReferences(binding: Manifest, namespace: string): string[] {
  const role = tree(binding.roleRef);
  const at = role.kind === "ClusterRole" ? "" : namespace;
  const subjects = list(binding.subjects).map((each) => `${each.kind} ${each.namespace}/${each.name}`);
  return [`${role.kind} ${at}/${role.name}`, ...subjects];
}

function podReferences(pod: Tree, namespace: string): string[] {
  const account = `ServiceAccount ${namespace}/${pod.serviceAccountName}`;
  return [account, ...volumeReferences(pod, namespace)];
}

/** ConfigMaps of volumes; and for each mount, whether its volume exists. */
function volumeReferences(pod: Tree, namespace: string): string[] {
  const volumes = list(pod.volumes);
  const maps = volumes.flatMap((volume) => (isRecord(volume.configMap) ? [volume.configMap.name] : []));
  const containers = [...list(pod.initContainers), ...list(pod.containers)];
  const unmounted = containers
    .flatMap((container) => list(container.volumeMounts))
    .filter((mount) => !volumes.some((volume) => volume.name === mount.name))
    .map((mount) => `volume ${String(mount.name)}`);
  return [...maps.map((name) => `ConfigMap ${namespace}/${String(name)}`), ...unmounted];
}

/** What a selector selects has to exist: the pods of one of our Deployments. */
function selected(kind: string, spec: Tree, namespace: string, all: readonly Manifest[]): string {
  const selector = tree(
    kind === "Service"
      ? spec.selector
      : tree(kind === "NetworkPolicy" ? spec.podSelector : spec.selector).matchLabels,
  );
  const match = all.find(
    (each) =>
      each.kind === "Deployment" &&
      each.metadata.namespace === namespace &&
      Object.entries(selector).every(
        ([key, value]) => tree(tree(tree(tree(each.spec).template).metadata).labels)[key] === value,
      ),
  );
  return `Deployment ${namespace}/${match?.metadata.name ?? `with ${JSON.stringify(selector)}`}`;
}

function templateReferences(spec: Tree, namespace: string): string[] {
  return [`ServiceAccount ${namespace}/${tree(spec.template).serviceAccountName}`];
}

function sensorReferences(spec: Tree, namespace: string, all: readonly Manifest[]): string[] {
  const dependencies = list(spec.dependencies);
  const names = dependencies.map(({ name }) => String(name));
  return [
    ...templateReferences(spec, namespace),
    ...dependencies.map(({ eventSourceName, eventName }) => {
      const source = all.find(
        ({ kind, metadata }) => kind === "EventSource" && metadata.name === eventSourceName,
      );
      const hasEvent = Object.hasOwn(tree(tree(source?.spec).resource), String(eventName));
      return hasEvent
        ? `EventSource ${namespace}/${eventSourceName}`
        : `event ${eventSourceName}/${eventName}`;
    }),
    ...list(spec.triggers).flatMap((trigger) =>
      triggerReferences(tree(trigger.template), names, namespace, all),
    ),
  ];
}

function triggerReferences(
  template: Tree,
  dependencies: string[],
  namespace: string,
  all: readonly Manifest[],
): string[] {
  const conditions = String(template.conditions)
    .split("||")
    .map((each) => each.trim());
  const used = [...JSON.stringify(template).matchAll(/"dependencyName":"([^"]+)"/g)].map(
    ([, name]) => name ?? "",
  );
  const unknown = [...conditions, ...used].filter((name) => !dependencies.includes(name));
  const missing = unknown.map((name) => `dependency ${name}`);
  if (isRecord(template.http)) {
    const { hostname, port } = new URL(String(template.http.url));
    const [name, at] = hostname.split(".");
    const service = all.find(
      ({ kind, metadata }) => kind === "Service" && metadata.name === name && metadata.namespace === at,
    );
    const serves = list(tree(service?.spec).ports).some((each) => String(each.port) === port);
    return [...missing, serves ? `Service ${at}/${name}` : `port ${hostname}:${port}`];
  }
  const workflow = tree(tree(tree(template.k8s).source).resource);
  return [...missing, templateReference(tree(workflow.spec), namespace)];
}

function workflowReferences(spec: Tree, namespace: string): string[] {
  const templates = list(spec.templates);
  const entry = templates.some(({ name }) => name === spec.entrypoint) ? [] : [`template ${spec.entrypoint}`];
  const pods = templates.flatMap((template) => {
    const set = list(tree(template.containerSet).containers);
    const containers = isRecord(template.container) ? [template.container] : set;
    return volumeReferences({ ...template, containers }, namespace);
  });
  return [`ServiceAccount ${namespace}/${spec.serviceAccountName}`, ...entry, ...pods];
}

function templateReference(workflowSpec: Tree, namespace: string): string {
  return `WorkflowTemplate ${namespace}/${tree(workflowSpec.workflowTemplateRef).name}`;
}

function tree(value: unknown): Tree {
  return isRecord(value) ? value : {};
}

function list(value: unknown): Tree[] {
  return Array.isArray(value) ? value.map(tree) : [];
}
