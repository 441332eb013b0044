import type { Manifest } from "../../../runtime/program";
import { IMAGES, imageReference } from "../../images";
import { labelsOf } from "../labels";
import { embeddedYaml } from "./embeddedYaml";
import type { PlatformOptions } from "./options";

/** The JetStream version that the events controller's configuration knows, for `spec.jetstream.version` of an EventBus. */
export const JETSTREAM_VERSION: string = IMAGES.nats.tag;

/** The events controller's configuration (argo-events, pkg/reconciler/config.go). */
export function buildArgoEventsConfiguration(options: PlatformOptions): Manifest {
  const { controllerNamespace, placement } = options;
  const configuration = {
    eventBus: {
      nats: { versions: [NO_STREAMING] },
      jetstream: {
        settings: "",
        streamConfig: embeddedYaml(STREAM),
        versions: [
          {
            version: JETSTREAM_VERSION,
            natsImage: imageReference(IMAGES.nats, placement),
            configReloaderImage: imageReference(IMAGES.natsConfigReloader, placement),
            metricsExporterImage: imageReference(IMAGES.natsMetricsExporter, placement),
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

/** NATS Streaming is dead, but without an entry for it the controller ends (`ValidateConfig`). It has no image. */
const NO_STREAMING = { version: "none", natsStreamingImage: "", metricsExporterImage: "" };

/**
 * Streams of an EventBus that does not say otherwise. Events are hints, worth little after a day. `maxBytes` must be a
 * number: "1GB" would be read as 0, which is no limit (argo-events, pkg/eventbus/jetstream/base/jetstream.go).
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
