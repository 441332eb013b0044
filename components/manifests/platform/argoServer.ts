import type { PolicyRule } from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
import { type ArgoProgram, buildDeployment, selectorOf } from "../deployment";
import { imageOf } from "../images";
import type { ConfigMap } from "../kinds";
import { labelsOf, type ManifestSet, NOT_AWAITED } from "../metadata";
import { accountAnnotations } from "../pods";
import { transformed } from "../transform";
import { withCertificateAuthority } from "./archive";
import type { PlatformOptions } from "./options";
import { WORKFLOW_CONFIGURATION, workflowConfigurationRules } from "./workflowController";

/** The port of the UI and its API. */
const PORT = 2746;

/**
 * The rights of argo-server's own token: it keeps lists of these two kinds (argo-workflows, server/workflow/workflow_server.go,
 * server/workflowtemplate/informer.go). For everything else, and for who may see those lists, the user's own token decides
 * (server/auth/gatekeeper.go).
 */
const RULES: readonly PolicyRule[] = [
  { apiGroups: ["argoproj.io"], resources: ["workflows", "workflowtemplates"], verbs: ["list", "watch"] },
];

/**
 * argo-server, the UI, if the Workflow controller is ours. Its users bring tokens of their own. It makes its certificate at its
 * start, in memory, and signs it itself.
 *
 * @param configuration the Workflow controller's. Undefined if that controller is not ours
 */
export function buildArgoServer(options: PlatformOptions, configuration: ConfigMap | undefined): ManifestSet {
  if (!configuration) return {};
  const { namespace, controllerNamespace } = options;
  const name = "argo-server";
  const labels = labelsOf("argo-workflows", "server");
  const account = { name, namespace: controllerNamespace };
  const own = buildRole({
    name: `${name}-configuration`,
    namespace: controllerNamespace,
    labels,
    rules: workflowConfigurationRules(options),
    account,
  });
  const page = { path: "/", port: "web", scheme: "HTTPS" };
  const program: ArgoProgram = {
    part: "argoServer",
    name,
    namespace: controllerNamespace,
    labels,
    strategy: "RollingUpdate",
    configuration,
    container: {
      image: imageOf("argoServer", options),
      args: [
        "server",
        "--auth-mode=client",
        "--secure=true",
        "--namespaced",
        `--managed-namespace=${namespace}`,
        `--configmap=${WORKFLOW_CONFIGURATION}`,
      ],
      ports: [{ name: "web", containerPort: PORT }],
      livenessProbe: { httpGet: page, initialDelaySeconds: 30, periodSeconds: 30, timeoutSeconds: 5 },
      readinessProbe: { httpGet: page, periodSeconds: 5, timeoutSeconds: 5 },
      volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
    },
    // It keeps its lists in an in-memory SQLite, which may sort a long list in a file.
    volumes: [{ name: "tmp", emptyDir: { sizeLimit: "64Mi" } }],
  };
  return {
    account: buildAccount(name, controllerNamespace, labels, accountAnnotations("argoServer", options)),
    ...buildRole({ name, namespace, labels, rules: RULES, account }),
    "configuration-role": own.role,
    "configuration-binding": own.binding,
    server: buildDeployment(withCertificateAuthority(program, options.archive), options),
    service: transformed(
      "argoServerService",
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: controllerNamespace, labels, annotations: NOT_AWAITED },
        spec: {
          selector: selectorOf(labels),
          ports: [{ name: "web", port: PORT, targetPort: "web", appProtocol: "https" }],
        },
      },
      options,
    ),
  };
}
