import { readFileSync } from "node:fs";
import path from "node:path";
import { buildAccount, buildRole } from "../../../components/manifests/access";
import { CONTAINER_SECURITY, POD_SECURITY } from "../../../components/manifests/pods";
import { isRecord } from "../../../runtime/base/json";
import type { Manifest } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";
import { inGroups, WORKFLOWS_PATH } from "./argosyForms";
import { type Form, OPERATOR_NAMESPACE as namespace } from "./form";
import { eventSource, SENSOR_ACCOUNT, SOURCE_ACCOUNT, sensor, TEMPLATE } from "./tutorialEvents";

/** The variables that Argosy sets in the controller's environment. */
const OWN_VARIABLES = ["DEFAULT_REQUEUE_TIME", "SEMAPHORE_NOTIFY_DELAY"];
const RUN_ACCOUNT = "tutorial-run";
/** Pods of one run, in sequence. */
const STEPS = ["event", "check", "names", "deployment", "service", "apply-service", "apply-deployment"];
const SCRIPT = readFileSync(path.join(__dirname, "tutorial.py"), "utf8");

/**
 * The Memcached operator of the published tutorial on Argo Events, rewritten from its description: an event source that skips
 * objects older than itself, a sensor that submits a workflow with the `argo` program and the whole object as an argument, seven
 * pods in sequence, each with its script as an argument, and Argo's own defaults, including ten seconds until its controller
 * handles a workflow again.
 *
 * Argo itself, the bus and the CRDs are those of Argosy's platform, without Argosy's settings.
 */
export function tutorialForm(platform: readonly Manifest[], operator: Operator): Form {
  const labels = { "app.kubernetes.io/name": TEMPLATE };
  const argo = platform.filter(isArgos(operator)).map(withArgosDefaults);
  return {
    name: "tutorial",
    groups: inGroups([
      ...argo,
      ...accounts(labels),
      handlerFiles(operator),
      workflowTemplate(operator),
      sensor(platform),
      eventSource(platform, operator),
    ]),
    cluster: { size: 0, further: [WORKFLOWS_PATH] },
    isSlow: true,
  };
}

/** Whether a manifest is one that Argo itself needs, and neither part of an operator nor an addition of Argosy. */
function isArgos(operator: Operator): (manifest: Manifest) => boolean {
  return ({ kind, metadata: { labels = {} } }) =>
    labels["app.kubernetes.io/name"] !== operator.name &&
    !["keeper", "engine", "viewer"].includes(labels["app.kubernetes.io/component"] ?? "") &&
    !["Sensor", "EventSource"].includes(kind);
}

/**
 * The Workflow controller as Argo delivers it: its requeue time of 10 s, its limits of 20 and 30 calls, no instance id, because
 * the `argo` program would remove its label from submitted workflows.
 */
function withArgosDefaults(manifest: Manifest): Manifest {
  return structuredCloneWith(manifest, (value) => {
    if (!isRecord(value)) return value;
    if (typeof value["instanceID"] === "string") return { ...value, instanceID: undefined };
    if (value["name"] !== "workflow-controller") return value;
    const { args, env } = value;
    if (!Array.isArray(args) || !Array.isArray(env)) return value;
    return {
      ...value,
      args: args.filter((argument) => !/^--(qps|burst)=/.test(String(argument))),
      env: env.filter((variable) => !isRecord(variable) || !OWN_VARIABLES.includes(String(variable["name"]))),
    };
  });
}

function accounts(labels: Record<string, string>): Manifest[] {
  const grants = [
    {
      account: SOURCE_ACCOUNT,
      everywhere: [{ apiGroups: ["cache.example.com"], resources: ["memcacheds"], verbs: ["list", "watch"] }],
      here: [],
    },
    {
      account: SENSOR_ACCOUNT,
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

/** All forms create the objects that the same handler answers. The tutorial's steps call it as well. */
function handlerFiles({ folder }: Operator): Manifest {
  const data = { "main.py": readFileSync(path.join(folder, "main.py"), "utf8") };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: TEMPLATE, namespace }, data };
}

function workflowTemplate({ handler }: Operator): Manifest {
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
    metadata: { name: TEMPLATE, namespace },
    spec: {
      entrypoint: "all",
      serviceAccountName: RUN_ACCOUNT,
      securityContext: POD_SECURITY,
      podMetadata: { labels: { "app.kubernetes.io/component": "runs" } },
      arguments: { parameters: [{ name: "body" }, { name: "type" }, { name: "script", value: SCRIPT }] },
      podGC: { strategy: "OnPodSuccess" },
      volumes: [{ name: "handler", configMap: { name: TEMPLATE } }],
      templates: [{ name: "all", steps }, step],
    },
  };
}

/** A copy in which each object is replaced by the result of `change`. */
function structuredCloneWith(manifest: Manifest, change: (value: unknown) => unknown): Manifest {
  return JSON.parse(JSON.stringify(manifest, (_key, value: unknown) => change(value))) as Manifest;
}
