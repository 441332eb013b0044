import type { Manifest } from "../../../runtime/program";
import { labelsOf } from "../labels";
import { CONTAINER_SECURITY, POD_SECURITY } from "../podSecurity";
import { buildPersistence } from "./archive";
import { embeddedYaml } from "./embeddedYaml";
import type { PlatformOptions } from "./options";

/** The name under which the controller and argo-server look for it. */
export const WORKFLOW_CONFIGURATION = "workflow-controller-configmap";

/**
 * The Workflow controller's configuration, which argo-server reads as well. Each key's value is YAML, in lines of its
 * own since the controller glues them together, and an unknown key ends the controller
 * (argo-workflows, config/controller.go, config/config.go).
 */
export function buildWorkflowConfiguration(options: PlatformOptions): Manifest {
  const { controllerNamespace, instanceId, archive } = options;
  const configuration = {
    ...(instanceId !== "" && { instanceID: instanceId }),
    ...CONFIGURATION,
    ...(archive && { persistence: buildPersistence(archive) }),
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: WORKFLOW_CONFIGURATION,
      namespace: controllerNamespace,
      labels: labelsOf("argo-workflows", "controller"),
    },
    data: Object.fromEntries(Object.entries(configuration).map(([key, value]) => [key, embeddedYaml(value)])),
  };
}

const { fsGroup: _ofPodsOnly, ...runAs } = POD_SECURITY;
/** What the `restricted` Pod Security Standard wants of a container, whatever its pod says. */
const SECURITY = { ...runAs, ...CONTAINER_SECURITY };

const CONFIGURATION = {
  /**
   * A submitted Workflow must refer to a WorkflowTemplate, and may set beside that only arguments, entrypoint,
   * ttlStrategy, podGC, deadline, priority, suspend, shutdown and metadata of itself: no service account, no volume,
   * no securityContext, no synchronization (workflow/util/merge.go). The same holds for one of a CronWorkflow.
   */
  workflowRestrictions: { templateReferencing: "Strict" },
  /** Plugin templates are answered by the runners, not by a pod of Argo's for each Workflow. */
  disableAgentPodCreation: true,
  /**
   * So many Workflows go on at once. The others wait in the order in which they came, without a pod and before their
   * deadlines begin (argo-workflows, workflow/controller/operator.go, markWorkflowPhase): 300 at once on one small node
   * have pods that find no place until their `pendingTimeout` is over. Recorded runs do not count.
   */
  parallelism: 50,
  /** Two to four writes for every run. What went wrong is told nevertheless. */
  nodeEvents: { enabled: false },
  workflowEvents: { enabled: false },
  /** The containers init and wait. The image is given on the command line. */
  executor: {
    securityContext: SECURITY,
    resources: { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "256Mi" } },
  },
  /** A template's own words win. */
  mainContainer: { securityContext: SECURITY },
  podGCDeleteDelayDuration: "30s",
  /** A pod that was evicted before it ran is made anew. */
  failedPodRestart: { enabled: true },
  metricsConfig: {
    // Its certificate would be signed by itself: nobody could check it.
    secure: false,
    // They have the lock's name as a label, and there is a lock for each object.
    modifiers: {
      locks_held: { disabled: true },
      locks_pending: { disabled: true },
      locks_taken_total: { disabled: true },
    },
  },
};
