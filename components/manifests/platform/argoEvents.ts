import type { PolicyRule } from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
import { embeddedYaml } from "../configMaps";
import { buildDeployment } from "../deployment";
import { IMAGES, imageOf } from "../images";
import type { ConfigMap } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { accountAnnotations } from "../pods";
import { ownsController, type PlatformOptions } from "./options";

/** Ports of the events controller (argo-events, pkg/apis/events/v1alpha1/const.go). */
const PORTS = { metrics: 7777, health: 8081 };

/**
 * The events controller, if it is ours. It makes pods for event bus, event sources and sensors in the namespace that it manages,
 * which has their objects, and has no rights elsewhere.
 */
export function buildArgoEventsController(options: PlatformOptions): ManifestSet {
  if (!ownsController(options.argoEvents)) return {};
  const { namespace, controllerNamespace } = options;
  const name = "argo-events-controller";
  const labels = labelsOf("argo-events", "controller");
  const account = { name, namespace: controllerNamespace };
  const configuration = buildArgoEventsConfiguration(options);
  const image = imageOf("argoEvents", options);
  return {
    account: buildAccount(
      name,
      controllerNamespace,
      labels,
      accountAnnotations("argoEventsController", options),
    ),
    ...buildRole({ name, namespace, labels, rules: ARGO_EVENTS_RULES, account }),
    configuration,
    controller: buildDeployment(
      {
        part: "argoEventsController",
        name,
        namespace: controllerNamespace,
        labels,
        // It gives random names to the objects that it makes. Two controllers at once would make everything twice.
        strategy: "Recreate",
        configuration,
        container: {
          image,
          args: [
            "controller",
            "--namespaced",
            `--managed-namespace=${namespace}`,
            "--leader-election=false",
            `--metrics-port=${PORTS.metrics}`,
            `--health-port=${PORTS.health}`,
          ],
          env: [
            // The pods of event sources and sensors run the same image.
            { name: "ARGO_EVENTS_IMAGE", value: image },
            // Their own template has a field for it, which is ignored (pkg/apis/events/v1alpha1/template.go).
            { name: "IMAGE_PULL_POLICY", value: "IfNotPresent" },
          ],
          ports: [
            { name: "metrics", containerPort: PORTS.metrics },
            { name: "health", containerPort: PORTS.health },
          ],
          livenessProbe: { httpGet: { path: "/healthz", port: "health" }, periodSeconds: 10 },
          readinessProbe: { httpGet: { path: "/readyz", port: "health" }, periodSeconds: 3 },
          // The path is fixed in the program.
          volumeMounts: [{ name: "configuration", mountPath: "/etc/argo-events", readOnly: true }],
        },
        volumes: [{ name: "configuration", configMap: { name: configuration.metadata.name } }],
      },
      options,
    ),
  };
}

/** The JetStream version that the events controller's configuration knows, for `spec.jetstream.version` of an EventBus. */
export const JETSTREAM_VERSION: string = IMAGES.eventBus.tag;

/** The events controller's configuration (argo-events, pkg/reconciler/config.go). */
export function buildArgoEventsConfiguration(options: PlatformOptions): ConfigMap {
  const { controllerNamespace } = options;
  const configuration = {
    eventBus: {
      nats: { versions: [NO_STREAMING] },
      jetstream: {
        settings: "",
        streamConfig: embeddedYaml(STREAM),
        versions: [
          {
            version: JETSTREAM_VERSION,
            natsImage: imageOf("eventBus", options),
            configReloaderImage: imageOf("eventBusReloader", options),
            metricsExporterImage: imageOf("eventBusMetrics", options),
            startCommand: "/nats-server",
          },
        ],
      },
    },
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "argo-events-controller-config",
      namespace: controllerNamespace,
      labels: labelsOf("argo-events", "controller"),
    },
    data: { "controller-config.yaml": embeddedYaml(configuration) },
  };
}

/** NATS Streaming is discontinued, but without an entry for it the controller exits (`ValidateConfig`). It has no image. */
const NO_STREAMING = { version: "none", natsStreamingImage: "", metricsExporterImage: "" };

/**
 * Streams of an EventBus without settings of its own. Events are hints, worth little after a day. `maxBytes` must be a number:
 * "1GB" would be read as 0, which is no limit (argo-events, pkg/eventbus/jetstream/base/jetstream.go).
 */
const STREAM = {
  maxMsgs: 20_000,
  maxAge: "24h",
  maxBytes: 256 * 1024 * 1024,
  replicas: 1,
  duplicates: "300s",
  retention: 0,
  discard: 0,
};

const KINDS = ["eventbus", "eventsources", "sensors"];

/**
 * It reads through a cache, which lists and watches, and never gets a single object (controller-runtime's `Manager.GetClient`).
 */
const READ = ["list", "watch"];

/**
 * The rights of the events controller in the namespace that it manages, for an EventBus of JetStream, event sources and sensors
 * (argo-events, pkg/reconciler). It reads no pod, records no event, and, being alone, holds no lease. In its
 * own namespace it does nothing at all.
 */
const ARGO_EVENTS_RULES: readonly PolicyRule[] = [
  // Updated for their finalizers only.
  { apiGroups: ["argoproj.io"], resources: KINDS, verbs: [...READ, "update"] },
  { apiGroups: ["argoproj.io"], resources: KINDS.map((plural) => `${plural}/status`), verbs: ["update"] },
  // Without this right the admission plugin OwnerReferencesPermissionEnforcement refuses the objects that they own.
  { apiGroups: ["argoproj.io"], resources: KINDS.map((plural) => `${plural}/finalizers`), verbs: ["update"] },
  // Event sources and sensors are Deployments, the event bus is a StatefulSet.
  { apiGroups: ["apps"], resources: ["deployments", "statefulsets"], verbs: [...READ, "create", "update"] },
  { apiGroups: [""], resources: ["configmaps"], verbs: [...READ, "create", "update"] },
  // The Service of an event source is deleted and created again when its ports change (eventsource/resource.go, Reconcile).
  { apiGroups: [""], resources: ["services"], verbs: [...READ, "create", "update", "delete"] },
  // The event bus's certificates and passwords, which it looks for by listing (installer/jetstream.go, getSecret).
  { apiGroups: [""], resources: ["secrets"], verbs: ["list", "create", "delete"] },
  // A StatefulSet leaves its volumes behind: they go with the EventBus (installer/jetstream.go, uninstallPVCs).
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...READ, "delete"] },
];
