import { specSchemaOf } from "../../../definition/customResourceDefinition";
import {
  INTAKE_FILE,
  type IntakeEvent,
  type IntakeFile,
  type Manifest,
  POD_LAYOUT,
  type PolicyRule,
  RUNNER_PORTS,
} from "../../../runtime/program";
import { buildAccount, buildGrant } from "../access";
import { buildNetworkPolicyOf, buildServiceOf } from "../calledPods";
import { buildConfigMap } from "../configMaps";
import { crdNameOf } from "../customResourceDefinition";
import { buildEngineDeployment } from "../engineDeployment";
import type { ConfigMap, Secret } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { intakePodLabels, outsideNames, runnerNameOf, sensorPodLabels } from "../names";
import { accountAnnotations, READ_ONLY } from "../pods";
import { transformed } from "../transform";
import { namespacesFor, type OperatorOutsideEvent, type OutsideOptions } from "./options";

/**
 * The intake: the engine, with the command to make custom resources of events. In the namespaces that the definitions name, its
 * account may create these kinds and read existing objects. It may also read the CRDs about which it warns, see whether a
 * namespace that events choose is gone, and write Warnings. Events that wake objects need no right: the operator's runner is
 * asked.
 *
 * @param engine the ConfigMap of the engine
 */
export function buildIntake(
  events: readonly OperatorOutsideEvent[],
  options: OutsideOptions,
  engine: Pick<Manifest, "metadata">,
): ManifestSet {
  const { platform, installation, name: path } = options;
  const { namespace } = platform;
  const { intake: name } = outsideNames(installation);
  const labels = intakePodLabels(installation);
  const pods = { name, namespace, labels };
  const file = buildFile(events, options);
  return {
    "intake-account": buildAccount(name, namespace, labels, accountAnnotations("intake", options)),
    ...buildRights(events, options),
    ...buildCaller(options),
    "intake-events": file,
    "intake-service": buildServiceOf(pods, "events"),
    "intake-network-policy": transformed(
      "intakeNetworkPolicy",
      buildNetworkPolicyOf(pods, [sensorPodLabels(path)], platform.prometheusNamespace),
      options,
    ),
    intake: buildEngineDeployment(
      {
        part: "intake",
        command: "intake",
        name,
        namespace,
        labels,
        replicas: options.intakes,
        strategy: "RollingUpdate",
        isCalled: true,
        ports: [{ name: "events", containerPort: RUNNER_PORTS.hints }],
        mounts: [
          {
            name: "events",
            mountPath: POD_LAYOUT.definition,
            volume: { configMap: { name: file.metadata.name, defaultMode: READ_ONLY } },
          },
          {
            name: "token",
            mountPath: POD_LAYOUT.intakeToken,
            volume: {
              secret: {
                secretName: outsideNames(installation).caller,
                items: [{ key: "token", path: "token" }],
                defaultMode: READ_ONLY,
              },
            },
          },
        ],
      },
      options,
      engine,
    ),
  };
}

/** The definition of the intake. */
function buildFile(events: readonly OperatorOutsideEvent[], options: OutsideOptions): ConfigMap {
  const { installation, platform, name } = options;
  const file: IntakeFile = {
    installation,
    events: events.map((event) => intakeEventOf(event, platform.namespace)),
  };
  return buildConfigMap(outsideNames(installation).intake, platform.namespace, labelsOf(name, "intake"), {
    data: { [INTAKE_FILE]: JSON.stringify(file) },
  });
}

/** An event as the intake knows it. @param home the namespace of the operators */
export function intakeEventOf({ operator, event, subject }: OperatorOutsideEvent, home: string): IntakeEvent {
  const { installation, name: operatorName, formerNames, crd, customResource } = operator;
  const { name, type, when } = event;
  const { group, version, kind, plural, namespaced } = customResource;
  if ("wake" in event) {
    const runner = `${runnerNameOf(operatorName)}.${home}.svc`;
    return { subject, name, type, when, wake: event.wake, kind, runner };
  }
  const { id, namespace, spec } = event;
  const schema = specSchemaOf({ crd, customResource });
  return {
    subject,
    operator: { installation, name: operatorName, formerNames },
    name,
    type,
    id,
    when,
    ...(namespace !== undefined && { namespace }),
    spec,
    apiVersion: `${group}/${version}`,
    kind,
    plural,
    namespaced,
    crd: crdNameOf(operator),
    ...(schema && { schema }),
  };
}

/**
 * The token by which the intake recognises the Sensor: that of an account without any rights, which the cluster itself makes and
 * keeps in a Secret (https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets). So the token is not
 * in the program, and no preview makes another one. Pulumi waits for the token, and keeps the Secret as it then is in the stack's
 * state. There its data is encrypted (`additionalSecretOutputs` of `k8s.core.v1.Secret`).
 */
function buildCaller({ installation, platform: { namespace }, name: path }: OutsideOptions): ManifestSet {
  const { caller: name } = outsideNames(installation);
  const labels = labelsOf(path, "caller");
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels, annotations: { "kubernetes.io/service-account.name": name } },
    type: "kubernetes.io/service-account-token",
  };
  return { "caller-token": secret };
}

/**
 * The account of the sensor's token. It comes before the token, because Kubernetes deletes a token without its account
 * (kubernetes, pkg/controller/serviceaccount/tokens_controller.go, syncSecret).
 */
export function buildCallerAccount({ installation, platform, name: path }: OutsideOptions): ManifestSet {
  const account = buildAccount(
    outsideNames(installation).caller,
    platform.namespace,
    labelsOf(path, "caller"),
  );
  return { "caller-account": { ...account, automountServiceAccountToken: false } };
}

/** The namespace of Events about CRDs, which are in no namespace. */
const NAMESPACE_OF_WARNINGS = "default";

function buildRights(all: readonly OperatorOutsideEvent[], options: OutsideOptions): ManifestSet {
  const events = all.filter(({ event }) => !("wake" in event));
  // A rule without names of CRDs would be about all of them.
  if (events.length === 0) return {};
  const { installation, platform, name: path } = options;
  const account = { name: outsideNames(installation).intake, namespace: platform.namespace };
  const labels = labelsOf(path, "intake");
  // Outside of the operators' namespace another program may have an intake of this name.
  const name = `${platform.namespace}.${account.name}`;
  const grant = (namespace: string | undefined, rules: readonly PolicyRule[]): ManifestSet =>
    buildGrant("intake", { name, namespace, labels, rules, account });
  const inCluster = events.filter(({ operator }) => !operator.customResource.namespaced);
  const namespaces = new Set(events.flatMap(({ event }) => namespacesFor(event)));
  const rulesIn = (namespace: string): PolicyRule[] => [
    ...createRules(events.filter(({ event }) => namespacesFor(event).includes(namespace))),
    ...(namespace === NAMESPACE_OF_WARNINGS ? [WARN] : []),
  ];
  const chosen = events.filter(({ event }) => "namespace" in event && typeof event.namespace === "object");
  const seen = [...new Set(chosen.flatMap(({ event }) => namespacesFor(event)))].sort();
  const crds = [...new Set(events.map(({ operator }) => crdNameOf(operator)))].sort();
  return {
    ...grant(undefined, [
      {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        verbs: ["get"],
        resourceNames: crds,
      },
      ...(seen.length > 0
        ? [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"], resourceNames: seen }]
        : []),
      ...createRules(inCluster),
    ]),
    ...Object.assign(
      {},
      ...[...new Set([...namespaces, NAMESPACE_OF_WARNINGS])]
        .sort()
        .map((namespace) => grant(namespace, rulesIn(namespace))),
    ),
  };
}

const WARN: PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create"] };

/** The rights to create these kinds, and to read existing objects of them. */
function createRules(events: readonly OperatorOutsideEvent[]): PolicyRule[] {
  const kinds = new Map(events.map(({ operator }) => [crdNameOf(operator), operator.customResource]));
  return [...kinds.values()].map(({ group, plural }) => ({
    apiGroups: [group],
    resources: [plural],
    verbs: ["create", "get"],
  }));
}
