import { readFileSync } from "node:fs";
import path from "node:path";
import { buildAccount, buildRole } from "../../components/manifests/access";
import { CONTAINER_SECURITY, POD_SECURITY } from "../../components/manifests/podSecurity";
import { instanceLabel } from "../../runtime/argo/workflows";
import type { Operator } from "../../runtime/definition/definition";
import { isRecord } from "../../runtime/definition/shape";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { inGroups, structuredCloneWith, WORKFLOWS_PATH } from "./argosyForms";
import { type Form, OPERATOR_NAMESPACE as namespace } from "./form";

const NAME = "tutorial";
const RUN_ACCOUNT = "tutorial-run";
/** Pods of one run, in sequence. */
const STEPS = ["event", "check", "names", "deployment", "service", "apply-service", "apply-deployment"];
const SCRIPT = readFileSync(path.join(__dirname, "tutorial.py"), "utf8");

/**
 * The Memcached operator of the published tutorial on Argo Events, written anew from its description: an event source
 * that skips what is older than itself, a sensor that submits a workflow by the `argo` program with the whole object as
 * an argument, seven pods in sequence, each with its script as an argument, and Argo's own defaults, among them ten
 * seconds until its controller looks at a workflow again.
 *
 * Argo itself, bus and CRDs are those of Argosy's platform, with Argosy's settings taken away.
 */
export function tutorialForm(platform: readonly Manifest[], operator: Operator, instanceId: string): Form {
  const labels = { "app.kubernetes.io/name": NAME };
  const argo = platform.filter(isArgos(operator)).map(withArgosDefaults);
  return {
    name: "tutorial",
    groups: inGroups([
      ...argo,
      ...accounts(labels),
      handlerFiles(operator),
      workflowTemplate(operator, instanceId),
      sensor(platform, instanceId),
      eventSource(platform, operator),
    ]),
    cluster: { size: 0, further: [WORKFLOWS_PATH] },
    isSlow: true,
  };
}

/** Whether a manifest is what Argo itself needs: no part of an operator's, and none that Argosy adds. */
function isArgos(operator: Operator): (manifest: Manifest) => boolean {
  return ({ kind, metadata: { labels = {} } }) =>
    labels["app.kubernetes.io/name"] !== operator.name &&
    !["keeper", "engine", "viewer"].includes(labels["app.kubernetes.io/component"] ?? "") &&
    !["Sensor", "EventSource"].includes(kind);
}

/** The Workflow controller as Argo delivers it: its requeue time of 10 s, its limits of 20 and 30 calls. */
function withArgosDefaults(manifest: Manifest): Manifest {
  if (manifest.metadata.name !== "workflow-controller" || manifest.kind !== "Deployment") return manifest;
  return structuredCloneWith(manifest, (value) => {
    if (!isRecord(value) || !Array.isArray(value["env"]) || !Array.isArray(value["args"])) return value;
    const args = value["args"].filter((argument) => !/^--(qps|burst)=/.test(String(argument)));
    const env = value["env"].filter(
      (variable) =>
        !isRecord(variable) ||
        !["DEFAULT_REQUEUE_TIME", "SEMAPHORE_NOTIFY_DELAY"].includes(String(variable["name"])),
    );
    return { ...value, args, env };
  });
}

function accounts(labels: Record<string, string>): Manifest[] {
  const grants = [
    {
      account: "tutorial-source",
      everywhere: [{ apiGroups: ["cache.example.com"], resources: ["memcacheds"], verbs: ["list", "watch"] }],
      here: [],
    },
    {
      account: "tutorial-sensor",
      everywhere: [],
      here: [
        { apiGroups: ["argoproj.io"], resources: ["workflows"], verbs: ["create", "get", "list"] },
        { apiGroups: ["argoproj.io"], resources: ["workflowtemplates"], verbs: ["get", "list"] },
      ],
    },
    {
      account: RUN_ACCOUNT,
      everywhere: [
        { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "create", "patch"] },
        { apiGroups: [""], resources: ["services"], verbs: ["get", "create", "patch"] },
        { apiGroups: ["cache.example.com"], resources: ["memcacheds/status"], verbs: ["patch"] },
      ],
      here: [{ apiGroups: ["argoproj.io"], resources: ["workflowtaskresults"], verbs: ["create", "patch"] }],
    },
  ];
  return grants.flatMap(({ account, everywhere, here }) => {
    const common = { labels, account: { name: account, namespace } };
    const inAll = buildRole({ ...common, name: `argosy-bench-${account}`, rules: everywhere });
    const inOne = buildRole({ ...common, name: account, namespace, rules: here });
    return [buildAccount(account, namespace, labels), ...Object.values(inAll), ...Object.values(inOne)];
  });
}

/** What each form makes is what the one handler says: the tutorial's steps ask it too. */
function handlerFiles({ folder }: Operator): Manifest {
  const data = { "main.py": readFileSync(path.join(folder, "main.py"), "utf8") };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: NAME, namespace }, data };
}

function workflowTemplate({ handler }: Operator, instanceId: string): Manifest {
  const arguments_ = [
    { name: "body", value: "{{workflow.parameters.body}}" },
    { name: "type", value: "{{workflow.parameters.type}}" },
  ];
  const steps = STEPS.map((step) => [
    {
      name: step,
      template: "step",
      arguments: { parameters: [{ name: "step", value: step }, ...arguments_] },
    },
  ]);
  const step = {
    name: "step",
    inputs: { parameters: [{ name: "step" }, { name: "body" }, { name: "type" }] },
    container: {
      image: handler.image,
      command: ["python3", "-c", "{{workflow.parameters.script}}"],
      args: ["{{inputs.parameters.step}}", "{{inputs.parameters.type}}", "{{inputs.parameters.body}}"],
      securityContext: CONTAINER_SECURITY,
      volumeMounts: [{ name: "handler", mountPath: "/handler", readOnly: true }],
    },
  };
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: { name: NAME, namespace, labels: instanceLabel(instanceId) },
    spec: {
      entrypoint: "all",
      serviceAccountName: RUN_ACCOUNT,
      securityContext: POD_SECURITY,
      podMetadata: { labels: { "app.kubernetes.io/component": "runs" } },
      arguments: { parameters: [{ name: "body" }, { name: "type" }, { name: "script", value: SCRIPT }] },
      podGC: { strategy: "OnPodSuccess" },
      volumes: [{ name: "handler", configMap: { name: NAME } }],
      templates: [{ name: "all", steps }, step],
    },
  };
}

/** The event source of the platform, with the tutorial's filter and in no namespace in particular. */
function eventSource(platform: readonly Manifest[], operator: Operator): Manifest {
  const { group, version, plural } = operator.customResource;
  return inPlaceOf(platform, "EventSource", "tutorial-source", {
    resource: {
      memcached: {
        namespace: "",
        group,
        version,
        resource: plural,
        eventTypes: ["ADD", "UPDATE", "DELETE"],
        filter: { afterStart: true },
      },
    },
  });
}

function sensor(platform: readonly Manifest[], instanceId: string): Manifest {
  const source = platform.find(({ kind }) => kind === "EventSource")?.metadata.name;
  const resource = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: { generateName: "tutorial-", labels: instanceLabel(instanceId) },
    spec: {
      workflowTemplateRef: { name: NAME },
      arguments: {
        parameters: [
          { name: "body", value: "" },
          { name: "type", value: "" },
        ],
      },
    },
  };
  const argoWorkflow = {
    operation: "submit",
    source: { resource },
    parameters: ["body", "type"].map((dataKey, index) => ({
      src: { dependencyName: "memcached", dataKey },
      dest: `spec.arguments.parameters.${index}.value`,
    })),
  };
  return inPlaceOf(platform, "Sensor", "tutorial-sensor", {
    dependencies: [
      {
        name: "memcached",
        eventSourceName: source,
        eventName: "memcached",
        // Its own status writes would be events too, and runs without an end.
        filters: { data: [{ path: "type", type: "string", value: ["ADD", "DELETE"] }] },
      },
    ],
    triggers: [{ template: { name: "submit", argoWorkflow } }],
  });
}

/** An object of the platform with another specification, its pod and its account the tutorial's. */
function inPlaceOf(
  platform: readonly Manifest[],
  kind: string,
  serviceAccountName: string,
  fields: object,
): Manifest {
  const original = platform.find((manifest) => manifest.kind === kind);
  if (!original) throw new Error(`the platform has no ${kind}`);
  const { metadata, apiVersion, spec } = original;
  const { eventBusName, replicas, template } = spec as Record<string, object>;
  const { name } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { eventBusName, replicas, template: { ...template, serviceAccountName }, ...fields },
  };
}
