import assert from "node:assert/strict";
import type { CompletePlatformArgs } from "../../../components/arguments/completeArguments";
import { buildArgoEventsController } from "../../../components/manifests/platform/argoEvents";
import {
  buildArgoEventsDefinitions,
  buildArgoWorkflowsDefinitions,
} from "../../../components/manifests/platform/definitions";
import { buildWorkflowController } from "../../../components/manifests/platform/workflowController";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { namespace } from "../../integration/support/manifests";

/** Where its controllers live. */
export const FOREIGN_NAMESPACE = "argosy-e2e-argo";
/** A name of a JetStream version as Argo Events' own manifests have one, which Argosy's do not. */
export const FOREIGN_JETSTREAM = "latest";

const ARGOSY = "argosy";
const OTHER_PROGRAM = "another-program";
/** Stands for all namespaces until {@link everywhere}. */
const EVERYWHERE = "everywhere";
const ONE_NAMESPACE = /^--(namespaced|managed-namespace=.*)$/;

const OPTIONS: CompletePlatformArgs = {
  namespace: EVERYWHERE,
  controllerNamespace: FOREIGN_NAMESPACE,
  createNamespaces: false,
  instanceId: "",
  argoEvents: "install",
  argoWorkflows: "install",
  jetStreamVersion: FOREIGN_JETSTREAM,
  placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
  data: "delete",
};

/**
 * Argo Events and Argo Workflows as Argo's own manifests bring them: for all namespaces, without an instance id, the
 * Workflow controller at its defaults. It is nothing of Argosy's, to Argosy.
 */
export function buildForeignArgo(): Manifest[] {
  const sets = [
    buildArgoEventsDefinitions(OPTIONS),
    buildArgoWorkflowsDefinitions(OPTIONS),
    buildArgoEventsController(OPTIONS),
    buildWorkflowController(OPTIONS),
  ];
  const manifests = sets.flatMap((set) => Object.values(set)).map(everywhere);
  return [namespace(FOREIGN_NAMESPACE), ...manifests.map(asOtherProgram)];
}

function everywhere(manifest: Manifest): Manifest {
  const { kind, metadata } = manifest;
  if (metadata.namespace !== EVERYWHERE) return manifest;
  assert.match(kind, /^Role/);
  const { namespace: _, ...rest } = metadata;
  const name = `${FOREIGN_NAMESPACE}-${metadata.name}`;
  const reference = manifest["roleRef"] as JsonObject | undefined;
  return {
    ...manifest,
    kind: `Cluster${kind}`,
    metadata: { ...rest, name },
    ...(reference && { roleRef: { ...reference, kind: "ClusterRole", name } }),
  };
}

function asOtherProgram(manifest: Manifest): Manifest {
  const changed = (key: string, value: unknown): unknown => {
    if (value === ARGOSY) return OTHER_PROGRAM;
    if (key === "args") return (value as string[]).filter((argument) => !ONE_NAMESPACE.test(argument));
    if (key === "controller-config.yaml")
      return String(value).replace(/"?version"?: .*2\.\d+\.\d+.*/, `version: ${FOREIGN_JETSTREAM}`);
    return value;
  };
  const other = JSON.parse(JSON.stringify(manifest), changed) as Manifest;
  return manifest.metadata.name === "workflow-controller-configmap" ? { ...other, data: {} } : other;
}

const TICK_SECONDS = 5;

/** What its other users do with it in a namespace: at each tick of a clock a ConfigMap, and a Workflow of one pod. */
export function buildForeignUse(team: string): Manifest[] {
  const name = "tick";
  const apiVersion = "argoproj.io/v1alpha1";
  const roleKind = "Role";
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name, namespace: team };
  const made = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { generateName: `${name}-`, namespace: team, labels: { [name]: "" } },
  };
  const k8s = { operation: "create", source: { resource: made } };
  return [
    namespace(team),
    {
      apiVersion: `${rbac}/v1`,
      kind: roleKind,
      metadata,
      rules: [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] },
        { apiGroups: ["argoproj.io"], resources: ["workflowtaskresults"], verbs: ["create", "patch"] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: `${roleKind}Binding`,
      metadata,
      roleRef: { apiGroup: rbac, kind: roleKind, name },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: team }],
    },
    {
      apiVersion,
      kind: "EventBus",
      metadata: { name: "default", namespace: team },
      spec: { jetstream: { version: FOREIGN_JETSTREAM, replicas: 1 } },
    },
    {
      apiVersion,
      kind: "EventSource",
      metadata,
      spec: { calendar: { [name]: { interval: `${TICK_SECONDS}s` } } },
    },
    {
      apiVersion,
      kind: "Sensor",
      metadata,
      spec: {
        template: { serviceAccountName: "default" },
        dependencies: [{ name, eventSourceName: name, eventName: name }],
        triggers: [{ template: { name, k8s } }],
      },
    },
    buildForeignWorkflow(team, "theirs"),
  ];
}

/** A user's own Workflow, without a template. */
export function buildForeignWorkflow(team: string, name: string): Manifest {
  const container = { image: "busybox:1.37.0-musl", command: ["true"] };
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: { name, namespace: team },
    spec: { entrypoint: "main", templates: [{ name: "main", container }] },
  };
}
