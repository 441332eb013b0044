import type { Manifest } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";
import { OPERATOR_NAMESPACE as namespace } from "./form";

/** The name of the tutorial's WorkflowTemplate, and of related objects. */
export const TEMPLATE = "tutorial";
/** The account of its event source. */
export const SOURCE_ACCOUNT = "tutorial-source";
/** The account of its sensor. */
export const SENSOR_ACCOUNT = "tutorial-sensor";

/** The event source of the platform, with the tutorial's filter and for all namespaces. */
export function eventSource(platform: readonly Manifest[], operator: Operator): Manifest {
  const { group, version, plural } = operator.customResource;
  return inPlaceOf(platform, "EventSource", SOURCE_ACCOUNT, {
    resource: {
      memcached: {
        namespace: "",
        group,
        version,
        resource: plural,
        eventTypes: ["ADD", "UPDATE", "DELETE"],
        filter: { afterStart: true },
      },
    },
  });
}

/** The sensor of the platform, which submits a Workflow by the `argo` program of its image. */
export function sensor(platform: readonly Manifest[]): Manifest {
  const source = platform.find(({ kind }) => kind === "EventSource")?.metadata.name;
  const resource = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: { generateName: "tutorial-" },
    spec: {
      workflowTemplateRef: { name: TEMPLATE },
      arguments: {
        parameters: [
          { name: "body", value: "" },
          { name: "type", value: "" },
        ],
      },
    },
  };
  const argoWorkflow = {
    operation: "submit",
    source: { resource },
    parameters: ["body", "type"].map((dataKey, index) => ({
      src: { dependencyName: "memcached", dataKey },
      dest: `spec.arguments.parameters.${index}.value`,
    })),
  };
  return inPlaceOf(platform, "Sensor", SENSOR_ACCOUNT, {
    dependencies: [
      {
        name: "memcached",
        eventSourceName: source,
        eventName: "memcached",
        // Its own status writes would be events as well, and cause runs without end.
        filters: { data: [{ path: "type", type: "string", value: ["ADD", "DELETE"] }] },
      },
    ],
    triggers: [{ template: { name: "submit", argoWorkflow } }],
  });
}

/** An object of the platform with another specification, and with the tutorial's pod and account. */
function inPlaceOf(
  platform: readonly Manifest[],
  kind: string,
  serviceAccountName: string,
  fields: object,
): Manifest {
  const original = platform.find((manifest) => manifest.kind === kind);
  if (!original) throw new Error(`the platform has no ${kind}`);
  const { metadata, apiVersion, spec } = original;
  const { eventBusName, replicas, template } = spec as Record<string, object>;
  const { name } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { eventBusName, replicas, template: { ...template, serviceAccountName }, ...fields },
  };
}
