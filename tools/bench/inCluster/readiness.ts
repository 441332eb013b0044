import { isTrue, type Manifest } from "../../../runtime/base/objects";
import type { Objects } from "../../objects";

/** The label by which the pods of an object of Argo Events are found (argo-events, pkg/reconciler). */
const POD_LABELS: Readonly<Record<string, string>> = {
  EventBus: "eventbus-name",
  EventSource: "eventsource-name",
  Sensor: "sensor-name",
};

/** The reason why a manifest's object is not ready yet. Undefined if it is ready, or if its kind has nothing to wait for. */
export async function whyNotReady(objects: Objects, manifest: Manifest): Promise<string | undefined> {
  const { kind, metadata } = manifest;
  const what = `${kind} ${metadata.name}`;
  if (kind === "CustomResourceDefinition") {
    return isTrue((await objects.find(manifest))?.status, "Established")
      ? undefined
      : `${what} is not served`;
  }
  if (kind === "Deployment") {
    return isTrue((await objects.find(manifest))?.status, "Available")
      ? undefined
      : `${what} is not available`;
  }
  const label = POD_LABELS[kind];
  if (label === undefined) return undefined;
  const pods = await objects.list(POD, metadata.namespace, `${label}=${metadata.name}`);
  if (pods.length === 0) return `${what} has no pod`;
  return pods.every((pod) => isTrue(pod.status, "Ready")) ? undefined : `the pod of ${what} is not ready`;
}

/** The kind Pod. */
export const POD = { apiVersion: "v1", kind: "Pod" } as const;
