import { type Manifest, memoryResourceOf, type Operator } from "../../../runtime/program";
import { awaited, labelsOf } from "../metadata";
import { WHOLE_OBJECT } from "./definitions";

/**
 * The CRD of Memory objects: the engine's memory of objects that are not ours, on which it may write nothing. Each installation
 * has a group of its own, so that no program removes another program's memories with its own. Undefined if no operator watches
 * such objects.
 */
export function buildMemoryDefinition(operators: readonly Operator[]): Manifest | undefined {
  const operator = operators.find(({ watch }) => watch);
  if (!operator) return undefined;
  const { apiVersion, kind, plural } = memoryResourceOf(operator);
  const [group = "", version = ""] = apiVersion.split("/");
  const column = (name: string, jsonPath: string, type = "string") => ({ name, type, jsonPath });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      labels: labelsOf(operator.installation, "memories"),
      annotations: awaited("Established"),
    },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, listKind: `${kind}List`, plural, singular: "memory" },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              description:
                "What Argosy remembers about an object that it watches but does not own. Do not edit it. If you delete it, Argosy forgets the handler's state.",
              properties: {
                // Only the engine uses these two.
                object: { ...WHOLE_OBJECT, description: "The object that it is about." },
                memory: {
                  ...WHOLE_OBJECT,
                  description: "The state that the handler returned, and what the engine remembers.",
                },
                // No subresource: the engine writes a Memory by one request.
                status: {
                  description: "How the reconciliation of the object stands.",
                  type: "object",
                  properties: {
                    conditions: {
                      description: "The conditions of the object.",
                      type: "array",
                      items: WHOLE_OBJECT,
                      "x-kubernetes-list-type": "atomic",
                    },
                    objectGeneration: {
                      description: "The metadata.generation of the object that the conditions are about.",
                      type: "integer",
                      format: "int64",
                    },
                  },
                },
              },
            },
          },
          additionalPrinterColumns: [
            column("Kind", ".object.kind"),
            column("In", ".object.namespace"),
            column("Object", ".object.name"),
            column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
            column("Age", ".metadata.creationTimestamp", "date"),
          ],
        },
      ],
    },
  };
}
