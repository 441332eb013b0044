import type { EventPathPart } from "../../../runtime/program";
import { placementFields } from "../../placement";
import { labelsOf } from "../labels";
import { CONTAINER_SECURITY, POD_SECURITY } from "../podSecurity";
import type { EventPathOptions } from "./options";

/** What differs between the pods of an EventSource and of a Sensor. */
export interface EventPathPod {
  readonly component: Exclude<EventPathPart, "event-bus">;
  readonly serviceAccountName: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** What it needs when idle, and the most that it may have. */
  readonly memory: { readonly request: string; readonly limit: string };
}

/**
 * The labels of a Sensor's pods, whatever its shard: who sends hints to the runners. By them a NetworkPolicy lets
 * them in.
 */
export function sensorPodLabels(name: string): Record<string, string> {
  return labelsOf(name, "sensor");
}

/**
 * The template of an EventSource's or a Sensor's pod (argo-events, pkg/apis/events/v1alpha1/template.go). The
 * controller adds an emptyDir at /tmp, where the leader election has its log, and the bus's password as a volume
 * (pkg/reconciler/eventsource/resource.go, pkg/reconciler/sensor/resource.go): the root may stay read-only.
 */
export function podTemplate({ name, placement }: EventPathOptions, pod: EventPathPod) {
  const { component, serviceAccountName, annotations, memory } = pod;
  return {
    metadata: { labels: labelsOf(name, component), ...(annotations && { annotations }) },
    serviceAccountName,
    securityContext: POD_SECURITY,
    ...placementFields(placement),
    container: {
      securityContext: CONTAINER_SECURITY,
      resources: {
        requests: { cpu: "20m", memory: memory.request },
        limits: { memory: memory.limit },
      },
    },
  };
}
