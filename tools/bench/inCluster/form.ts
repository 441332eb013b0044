import type { Manifest } from "../../../runtime/base/objects";
import type { ClusterOptions } from "../cluster";
import type { Stage } from "./stages";

/** The forms of an operator that are measured on a cluster, in the order of the table. */
export const formNames = [
  "tutorial",
  "pod",
  "initless-pod",
  "resident",
  "kopf",
  "controller-runtime",
  "controller-runtime-raised",
  "bare-pod",
] as const;

/** Name of a form: a way to run an operator, or, for comparison, a pod without an operator. */
export type FormName = (typeof formNames)[number];

/** The part that belongs to the operator, and the part that it shares with other operators. */
export type Part = "platform" | "operator";

/** The namespace of all parts of a form, except the objects of the work. */
export const OPERATOR_NAMESPACE = "argosy-bench";
/** The namespace of Argo's controllers. */
export const CONTROLLER_NAMESPACE = "argosy-bench-system";

/** One form of an operator on a cluster. */
export interface Form {
  readonly name: FormName;
  /**
   * The manifests that it needs in addition to the CRD of the Memcacheds. They are applied group by group, and each is awaited.
   */
  readonly groups: readonly (readonly Manifest[])[];
  /** The objects that are created instead of Memcacheds, and those to be cleared with them. */
  readonly cluster?: ClusterOptions;
  /** Whether each object costs at least a pod: such a form gets the smaller work, and rests between its objects. */
  readonly isSlow: boolean;
  /** Whether this is the bare minimum, without a status and without a Service. */
  readonly isBare?: boolean;
  /** The stages between an object and its Deployment. */
  readonly stages?: readonly Stage[];
}

/** The part to which a pod belongs. */
export function partOf(labels: Readonly<Record<string, string>>): Part {
  const component = labels["app.kubernetes.io/component"] ?? "";
  return ["runner", "run", "runs", "peer"].includes(component) ? "operator" : "platform";
}

/** A namespace of the benchmark's own. */
export function buildNamespace(name: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}
