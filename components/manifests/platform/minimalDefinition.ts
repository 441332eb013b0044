import type { JsonObject, Manifest } from "../../../runtime/program";
import { awaited } from "../awaited";
import { labelsOf } from "../labels";

/** A kind of Argo's, as far as its CRD must know it. */
export interface MinimalKind {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  /** @default [] */
  readonly shortNames?: readonly string[];
  /** @default "Namespaced" */
  readonly scope?: "Namespaced" | "Cluster";
  /** The schema of each field beside metadata. */
  readonly fields: Readonly<Record<string, JsonObject>>;
  /** Fields beside metadata that must be there. */
  readonly required: readonly string[];
  /** Whether status is a subresource: what writes it elsewhere loses it. */
  readonly statusSubresource: boolean;
  /** @default the API server's own: the age */
  readonly columns?: readonly JsonObject[];
}

/** An object whose fields are Argo's controllers' to check. */
export const ANY_OBJECT: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** The same, which server-side apply replaces as a whole: an applied specification has no rest of an earlier one. */
export const WHOLE_OBJECT: JsonObject = { ...ANY_OBJECT, "x-kubernetes-map-type": "atomic" };

/** The column that the API server adds by itself only where there is no other one. */
export const AGE_COLUMN: JsonObject = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/**
 * A CRD of Argo's that says no more than the API server must know. Argo's complete ones take 2.8 MB each, which is
 * more than a preview can show or a state should hold.
 *
 * @param product - "argo-events"
 */
export function minimalDefinition(product: string, each: MinimalKind): Manifest {
  const { kind, plural, singular, shortNames = [], columns } = each;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.argoproj.io`,
      labels: labelsOf(product, "definitions"),
      // What is of this kind can be created only then, and Pulumi does not wait for it by itself.
      annotations: awaited("Established"),
    },
    spec: {
      group: "argoproj.io",
      scope: each.scope ?? "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        ...(shortNames.length > 0 && { shortNames }),
      },
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(each) },
          ...(each.statusSubresource && { subresources: { status: {} } }),
          ...(columns && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}

function rootSchema({ fields, required }: MinimalKind): JsonObject {
  return {
    type: "object",
    required: ["metadata", ...required],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      ...fields,
    },
  };
}
