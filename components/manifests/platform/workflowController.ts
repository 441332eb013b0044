import type { PolicyRule } from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
import { embeddedYaml } from "../configMaps";
import { type ArgoProgram, buildDeployment } from "../deployment";
import { imageOf } from "../images";
import type { ConfigMap } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { accountAnnotations, CONTAINER_SECURITY, POD_SECURITY } from "../pods";
import { resourcesOf } from "../resources";
import { transformed } from "../transform";
import { ARCHIVE_ENVIRONMENT, archiveRules, buildPersistence, withCertificateAuthority } from "./archive";
import { ownsController, type PlatformOptions } from "./options";

/** Settings of the controller that are no flags (argo-workflows, docs/environment-variables.md). */
const ENVIRONMENT = {
  /** How late a change is noticed. With the default of 10 s, a run's end would stay unseen for that long. */
  DEFAULT_REQUEUE_TIME: "1s",
  /** How long the next Workflow that waits for a lock still waits. */
  SEMAPHORE_NOTIFY_DELAY: "100ms",
  /** It is the only replica. */
  LEADER_ELECTION_DISABLE: "true",
  /** A change of its own ConfigMap restarts it, and it reads the limit of a semaphore whenever a Workflow wants it. */
  WATCH_CONTROLLER_SEMAPHORE_CONFIGMAPS: "false",
  /** With that index, one Workflow that cannot be read ends the controller, each time that it starts (seen with 4.1.2). */
  INDEX_WORKFLOW_SEMAPHORE_KEYS: "false",
};

/**
 * The Workflow controller, if it is ours. It takes only Workflows with our instance id, in the namespace that it manages, and has
 * no rights elsewhere.
 */
export function buildWorkflowController(options: PlatformOptions): ManifestSet {
  if (!ownsController(options.argoWorkflows)) return {};
  const { namespace, controllerNamespace, archive } = options;
  const name = "workflow-controller";
  const labels = labelsOf("argo-workflows", "controller");
  const account = { name, namespace: controllerNamespace };
  const configuration = buildWorkflowConfiguration(options);
  const own = buildRole({
    name: `${name}-configuration`,
    namespace: controllerNamespace,
    labels,
    rules: workflowConfigurationRules(options),
    account,
  });
  const environment = { ...ENVIRONMENT, ...(archive && ARCHIVE_ENVIRONMENT) };
  const health = { path: "/healthz", port: "health" };
  const program: ArgoProgram = {
    part: "workflowController",
    name,
    namespace: controllerNamespace,
    labels,
    // Two at once would both start the pods of a Workflow.
    strategy: "Recreate",
    configuration,
    container: {
      image: imageOf("workflowController", options),
      command: ["workflow-controller"],
      args: [
        "--namespaced",
        `--managed-namespace=${namespace}`,
        `--configmap=${WORKFLOW_CONFIGURATION}`,
        `--executor-image=${imageOf("argoExecutor", options)}`,
        "--executor-image-pull-policy=IfNotPresent",
        // Each run costs about a dozen calls: its defaults of 20 and 30 allow no more than two runs a second.
        "--qps=100",
        "--burst=150",
      ],
      env: Object.entries(environment).map(([key, value]) => ({ name: key, value })),
      ports: [
        { name: "metrics", containerPort: 9090 },
        { name: "health", containerPort: 6060 },
      ],
      // The check fails if a Workflow has waited for minutes and none has moved (workflow/controller/healthz.go).
      livenessProbe: { httpGet: health, initialDelaySeconds: 90, periodSeconds: 60, timeoutSeconds: 30 },
      readinessProbe: { httpGet: health, periodSeconds: 5 },
    },
  };
  return {
    account: buildAccount(
      name,
      controllerNamespace,
      labels,
      accountAnnotations("workflowController", options),
    ),
    ...buildRole({ name, namespace, labels, rules: WORKFLOW_CONTROLLER_RULES, account }),
    "configuration-role": own.role,
    "configuration-binding": own.binding,
    configuration,
    controller: buildDeployment(withCertificateAuthority(program, archive), options),
  };
}

/**
 * The most Workflows in progress at once, unless the options say otherwise. Workflows that wait for their operator's turn count
 * too, because each operator has a number of pods of its own. With a lower limit, the queue of one operator would hold up all
 * others. Further Workflows wait in the order in which they came, before their deadlines begin (argo-workflows,
 * workflow/controller/controller.go). Recorded runs do not count.
 */
const PARALLELISM = 500;

/** The name of the ConfigMap that the controller and argo-server read. */
export const WORKFLOW_CONFIGURATION = "workflow-controller-configmap";

/**
 * The Workflow controller's configuration, which argo-server reads as well. Each key's value is YAML, in lines of its own, since
 * the controller joins them. An unknown key ends the controller (argo-workflows, config/controller.go, config/config.go).
 */
export function buildWorkflowConfiguration(options: PlatformOptions): ConfigMap {
  const { controllerNamespace, instanceId, initlessPods, archive, parallelism = PARALLELISM } = options;
  const configuration = {
    ...(instanceId !== "" && { instanceID: instanceId }),
    ...CONFIGURATION,
    parallelism,
    ...(initlessPods && { initlessPod: { enabled: true } }),
    // Argo's own containers. The image is given on the command line.
    executor: { securityContext: SECURITY, resources: resourcesOf("argoExecutor", options) },
    ...(archive && { persistence: buildPersistence(archive) }),
  };
  return transformed(
    "workflowConfiguration",
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: WORKFLOW_CONFIGURATION,
        namespace: controllerNamespace,
        labels: labelsOf("argo-workflows", "controller"),
      },
      data: Object.fromEntries(
        Object.entries(configuration).map(([key, value]) => [key, embeddedYaml(value)]),
      ),
    },
    options,
  );
}

const { fsGroup: _ofPodsOnly, ...runAs } = POD_SECURITY;
/** The settings that the `restricted` Pod Security Standard requires of a container, whatever its pod has. */
const SECURITY = { ...runAs, ...CONTAINER_SECURITY };

const CONFIGURATION = {
  /**
   * A submitted Workflow must refer to a WorkflowTemplate. Apart from that it may set only arguments, entrypoint, ttlStrategy,
   * podGC, deadline, priority, suspend, shutdown and its own metadata: no service account, no volume, no securityContext, no
   * synchronization (workflow/util/merge.go). The same holds for a Workflow of a CronWorkflow.
   */
  workflowRestrictions: { templateReferencing: "Strict" },
  /** Plugin templates are answered by the runners, not by a pod of Argo's for each Workflow. */
  disableAgentPodCreation: true,
  /** They would be two to four writes for every run. Failures are reported nevertheless. */
  nodeEvents: { enabled: false },
  workflowEvents: { enabled: false },
  /** The template's own fields win. */
  mainContainer: { securityContext: SECURITY },
  podGCDeleteDelayDuration: "30s",
  /** A pod that was evicted before it ran is made again. */
  failedPodRestart: { enabled: true },
  metricsConfig: {
    // The controller would sign its certificate itself, so no client could verify it.
    secure: false,
    // These metrics have the lock's name as a label, and there is a lock for each object.
    modifiers: {
      locks_held: { disabled: true },
      locks_pending: { disabled: true },
      locks_taken_total: { disabled: true },
    },
  },
};

/**
 * The rights of the Workflow controller in the namespace that it manages, for the Workflows that Argosy makes (argo-workflows,
 * workflow/controller, workflow/cron, workflow/gccontroller). It reads no account's token, and makes no volume or disruption
 * budget. It watches neither ClusterWorkflowTemplates nor namespaces without rights.
 *
 * Without pods/exec it cannot signal a container: the pod of a run that is terminated by hand goes on until the run notices that
 * (`RunFence` of the engine). With pods/exec, it could enter the runners.
 */
const WORKFLOW_CONTROLLER_RULES: readonly PolicyRule[] = [
  // Created for CronWorkflows, deleted when their time to live is over. The patch marks a Workflow as archived. Without this
  // mark a Workflow that waits for the archive is never deleted, not even after the archive was removed (controller.go,
  // archiveWorkflowAux; workflow/common/util.go, IsDone).
  argo(["workflows"], ["get", "list", "watch", "create", "update", "patch", "delete"]),
  argo(["workflowtemplates"], ["get", "list", "watch"]),
  argo(["cronworkflows"], ["list", "watch", "patch"]),
  // Without this right the admission plugin OwnerReferencesPermissionEnforcement refuses pods, and Workflows of CronWorkflows.
  argo(["workflows/finalizers", "cronworkflows/finalizers"], ["update"]),
  argo(["workflowtasksets"], ["list", "watch", "create", "patch"]),
  argo(["workflowtasksets/status"], ["patch"]),
  argo(["workflowtaskresults"], ["list", "watch", "deletecollection"]),
  // It waits for its caches of all kinds before it begins.
  argo(["workflowartifactgctasks"], ["list", "watch"]),
  core(["pods"], ["get", "list", "watch", "create", "patch", "delete"]),
  // They are created if a template is too large for an environment variable, as it is with a large `object` parameter.
  core(["configmaps"], ["get", "list", "watch", "create"]),
  core(["events"], ["create", "patch"]),
];

/**
 * The rights of the Workflow controller and argo-server in their own namespace: to read their configuration, and the credentials
 * of their archive.
 */
export function workflowConfigurationRules({ archive }: PlatformOptions): readonly PolicyRule[] {
  return [
    { ...core(["configmaps"], ["get"]), resourceNames: [WORKFLOW_CONFIGURATION] },
    ...(archive ? archiveRules(archive) : []),
  ];
}

function argo(resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: ["argoproj.io"], resources, verbs };
}

function core(resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [""], resources, verbs };
}
