import { buildAccount, buildRole } from "../../../components/manifests/access";
import { CONTAINER_SECURITY, POD_SECURITY } from "../../../components/manifests/pods";
import type { Manifest } from "../../../runtime/base/objects";
import type { PolicyRule } from "../../../runtime/operator/definition";
import { CONTROLLER_RUNTIME_ARGUMENTS } from "../controllerRuntime";
import { buildNamespace, type Form, type FormName, OPERATOR_NAMESPACE } from "./form";

/** The peers' images, by the option that names each. */
export interface PeerImages {
  readonly kopf?: string;
  readonly controllerRuntime?: string;
}

const CHILDREN: readonly PolicyRule[] = [
  {
    apiGroups: ["apps"],
    resources: ["deployments"],
    verbs: ["get", "list", "watch", "create", "update", "patch"],
  },
  { apiGroups: [""], resources: ["services"], verbs: ["get", "list", "watch", "create", "update", "patch"] },
];
const MEMCACHEDS: readonly PolicyRule[] = [
  { apiGroups: ["cache.example.com"], resources: ["memcacheds"], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: ["cache.example.com"], resources: ["memcacheds/status"], verbs: ["patch"] },
  { apiGroups: ["cache.example.com"], resources: ["memcacheds/finalizers"], verbs: ["update"] },
];
/** Kopf discovers the kinds of the cluster, and reports its work in Events. */
const KOPF: readonly PolicyRule[] = [
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["list", "watch"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
];

/** The peers whose image is given: each a Deployment of one pod, with the rights that it needs and no limits. */
export function peerForms({ kopf, controllerRuntime }: PeerImages): Form[] {
  const raised = CONTROLLER_RUNTIME_ARGUMENTS["controller-runtime-raised"];
  return [
    ...(kopf === undefined ? [] : [peerForm("kopf", kopf, [], [...CHILDREN, ...MEMCACHEDS, ...KOPF])]),
    ...(controllerRuntime === undefined
      ? []
      : [
          peerForm(
            "controller-runtime",
            controllerRuntime,
            CONTROLLER_RUNTIME_ARGUMENTS["controller-runtime"],
            [...CHILDREN, ...MEMCACHEDS],
          ),
          peerForm("controller-runtime-raised", controllerRuntime, raised, [...CHILDREN, ...MEMCACHEDS]),
        ]),
  ];
}

function peerForm(
  name: FormName,
  image: string,
  args: readonly string[],
  rules: readonly PolicyRule[],
): Form {
  const namespace = OPERATOR_NAMESPACE;
  const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/component": "peer" };
  const account = { name, namespace };
  const { role, binding } = buildRole({ name: `argosy-bench-${name}`, labels, rules, account });
  const container = {
    name,
    image,
    args,
    securityContext: CONTAINER_SECURITY,
    imagePullPolicy: "IfNotPresent",
  };
  const deployment: Manifest = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: name, securityContext: POD_SECURITY, containers: [container] },
      },
    },
  };
  return {
    name,
    groups: [[buildNamespace(namespace), buildAccount(name, namespace, labels), role, binding, deployment]],
    isSlow: false,
  };
}
