import { IMAGES, imageReference } from "../../images";
import { buildAccount, buildRole } from "../access";
import { labelsOf } from "../labels";
import type { ManifestSet } from "../manifestSet";
import { buildArgoEventsConfiguration } from "./argoEventsConfiguration";
import { ARGO_EVENTS_RULES } from "./argoEventsRules";
import { buildDeployment } from "./deployment";
import { ownsController, type PlatformOptions } from "./options";

/** Ports of the events controller (argo-events, pkg/apis/events/v1alpha1/const.go). */
const PORTS = { metrics: 7777, health: 8081 };

/**
 * The events controller, where it is ours: it makes pods for event bus, event sources and sensors in the namespace
 * that it manages, where their objects are, and has no rights elsewhere.
 */
export function buildArgoEventsController(options: PlatformOptions): ManifestSet {
  if (!ownsController(options.argoEvents)) return {};
  const { namespace, controllerNamespace, placement } = options;
  const name = "argo-events-controller";
  const labels = labelsOf("argo-events", "controller");
  const account = { name, namespace: controllerNamespace };
  const configuration = buildArgoEventsConfiguration(options);
  const image = imageReference(IMAGES.argoEvents, placement);
  return {
    account: buildAccount(name, controllerNamespace, labels),
    ...buildRole({ name, namespace, labels, rules: ARGO_EVENTS_RULES, account }),
    configuration,
    controller: buildDeployment({
      name,
      namespace: controllerNamespace,
      labels,
      placement,
      // It names what it makes at random: two at once would make everything twice.
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
        resources: { requests: { cpu: "20m", memory: "96Mi" }, limits: { memory: "256Mi" } },
        // The path is fixed in the program.
        volumeMounts: [{ name: "configuration", mountPath: "/etc/argo-events", readOnly: true }],
      },
      volumes: [{ name: "configuration", configMap: { name: configuration.metadata.name } }],
    }),
  };
}
