import { IMAGES, imageReference } from "../../images";
import { buildAccount, buildRole } from "../access";
import { labelsOf } from "../labels";
import type { ManifestSet } from "../manifestSet";
import { ARCHIVE_ENVIRONMENT, withCertificateAuthority } from "./archive";
import { type ArgoProgram, buildDeployment } from "./deployment";
import { ownsController, type PlatformOptions } from "./options";
import { buildWorkflowConfiguration, WORKFLOW_CONFIGURATION } from "./workflowControllerConfiguration";
import { workflowConfigurationRules, workflowControllerRules } from "./workflowControllerRules";

/** The controller's own settings that are no flags (argo-workflows, docs/environment-variables.md). */
const ENVIRONMENT = {
  /** How late a change is noticed; the default of 10 s is how long a run's end would stay unseen. */
  DEFAULT_REQUEUE_TIME: "1s",
  /** How long the next one that waits for a lock waits on. */
  SEMAPHORE_NOTIFY_DELAY: "100ms",
  /** It is alone. */
  LEADER_ELECTION_DISABLE: "true",
  /** Its own ConfigMap starts it anew, and no semaphore is in one: there is nothing to watch. */
  WATCH_CONTROLLER_SEMAPHORE_CONFIGMAPS: "false",
  /** With that index, one Workflow that cannot be read ends the controller, each time that it starts (seen with 4.1.2). */
  INDEX_WORKFLOW_SEMAPHORE_KEYS: "false",
};

/**
 * The Workflow controller, where it is ours: it takes only Workflows with our instance id, in the namespace that it
 * manages, and has no rights elsewhere.
 */
export function buildWorkflowController(options: PlatformOptions): ManifestSet {
  if (!ownsController(options.argoWorkflows)) return {};
  const { namespace, controllerNamespace, placement, archive } = options;
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
    name,
    namespace: controllerNamespace,
    labels,
    placement,
    // Two at once would both start the pods of a Workflow.
    strategy: "Recreate",
    configuration,
    container: {
      image: imageReference(IMAGES.workflowController, placement),
      command: ["workflow-controller"],
      args: [
        "--namespaced",
        `--managed-namespace=${namespace}`,
        `--configmap=${WORKFLOW_CONFIGURATION}`,
        `--executor-image=${imageReference(IMAGES.argoExecutor, placement)}`,
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
      // It fails where a Workflow has waited for minutes and none has moved (workflow/controller/healthz.go).
      livenessProbe: { httpGet: health, initialDelaySeconds: 90, periodSeconds: 60, timeoutSeconds: 30 },
      readinessProbe: { httpGet: health, periodSeconds: 5 },
      resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "1Gi" } },
    },
  };
  return {
    account: buildAccount(name, controllerNamespace, labels),
    ...buildRole({ name, namespace, labels, rules: workflowControllerRules(options), account }),
    "configuration-role": own.role,
    "configuration-binding": own.binding,
    configuration,
    controller: buildDeployment(withCertificateAuthority(program, archive)),
  };
}
