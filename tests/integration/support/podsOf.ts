import { parse } from "yaml";
import { IMAGES } from "../../../components/manifests/images";
import { isRecord } from "../../../runtime/base/json";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";

type Tree = Record<string, unknown>;

/**
 * The pods that come of a program's manifests: those of Deployments as they stand there, and those that Argo's
 * controllers make put together as they do (argo-workflows, workflow/controller/workflowpod.go; argo-events,
 * pkg/reconciler). Whether Argo really makes them so is seen on a real cluster only.
 */
export function podsOf(manifests: readonly Manifest[]): Manifest[] {
  const configuration = manifests.find(({ metadata }) => metadata.name === "workflow-controller-configmap");
  const executor = parse(String(tree(configuration?.data).executor ?? "{}")) as Tree;
  return manifests.flatMap((manifest) => {
    const { kind, metadata } = manifest;
    const { namespace = "", name } = metadata;
    const spec = tree(manifest.spec);
    const pod = (suffix: string, podSpec: Tree) =>
      podOf(namespace, `${name}-${kind.toLowerCase()}${suffix}`, podSpec);
    if (kind === "Deployment") return pod("", tree(tree(spec.template).spec));
    if (kind === "EventBus") return pod("", busPod(tree(spec.jetstream)));
    if (kind === "EventSource" || kind === "Sensor") return pod("", eventPod(tree(spec.template)));
    if (kind !== "WorkflowTemplate") return [];
    const withPods = list(spec.templates).filter((each) => each.container || each.containerSet);
    return withPods.map((template) => pod(`-${template.name}`, workflowPod(spec, template, executor)));
  });
}

function busPod(jetstream: Tree): Tree {
  const templates = ["containerTemplate", "reloaderContainerTemplate", "metricsContainerTemplate"];
  return {
    serviceAccountName: jetstream.serviceAccountName,
    securityContext: jetstream.securityContext,
    containers: templates.map((key, index) => container(`c${index}`, tree(jetstream[key]))),
  };
}

function eventPod(template: Tree): Tree {
  return {
    serviceAccountName: template.serviceAccountName,
    securityContext: template.securityContext,
    containers: [container("main", tree(template.container))],
  };
}

function workflowPod(spec: Tree, template: Tree, executor: Tree): Tree {
  const set = list(tree(template.containerSet).containers);
  const containers = set.length > 0 ? set : [{ name: "main", ...tree(template.container) }];
  const shared = { name: "var-run-argo", mountPath: "/var/run/argo" };
  const own = (name: string) => ({
    name,
    image: IMAGES.argoExecutor.repository,
    ...executor,
    volumeMounts: [shared],
  });
  return {
    serviceAccountName: spec.serviceAccountName,
    securityContext: spec.securityContext,
    initContainers: [own("init"), ...list(template.initContainers)],
    containers: [own("wait"), ...containers],
    volumes: [{ name: shared.name, emptyDir: {} }, ...list(template.volumes)],
    restartPolicy: "Never",
  };
}

function container(name: string, fields: Tree): Tree {
  return { name, image: "example.com/argo:1", ...fields };
}

function podOf(namespace: string, name: string, spec: Tree): Manifest {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace }, spec: spec as JsonObject };
}

function tree(value: unknown): Tree {
  return isRecord(value) ? value : {};
}

function list(value: unknown): Tree[] {
  return Array.isArray(value) ? value.map(tree) : [];
}
