import type { Manifest } from "../../../runtime/kubernetes/objects";
import type { ClusterOptions } from "../cluster";
import type { Stage } from "./stages";

/** The forms of an operator that are measured on a cluster, in the order of the table. */
export const formNames = [
  "tutorial",
  "pod",
  "resident",
  "resident-by-events",
  "kopf",
  "controller-runtime",
  "controller-runtime-raised",
  "bare-pod",
] as const;

/** Name of a form: a way to run an operator, or for scale a pod without any. */
export type FormName = (typeof formNames)[number];

/** What belongs to the operator, and what it shares with other operators. */
export type Part = "platform" | "operator";

/** Where everything of a form is, beside the objects of the work. */
export const OPERATOR_NAMESPACE = "argosy-bench";
/** Where Argo's controllers are. */
export const CONTROLLER_NAMESPACE = "argosy-bench-system";

/** One form of an operator on a cluster. */
export interface Form {
  readonly name: FormName;
  /** What it needs beside the CRD of the Memcacheds, applied group by group; each is waited for. */
  readonly groups: readonly (readonly Manifest[])[];
  /** What is created, where it is no Memcached, and what is to be cleared with it. */
  readonly cluster?: ClusterOptions;
  /** Whether each object costs at least a pod: such a form gets the smaller work, and rests between its objects. */
  readonly isSlow: boolean;
  /** Whether the bare minimum is measured: nobody writes a status, and there is no Service. */
  readonly isBare?: boolean;
  /** Where the time goes between an object and its Deployment. */
  readonly stages?: readonly Stage[];
}

/** To which part a pod belongs. */
export function partOf(labels: Readonly<Record<string, string>>): Part {
  const component = labels["app.kubernetes.io/component"] ?? "";
  return ["runner", "run", "runs", "peer"].includes(component) ? "operator" : "platform";
}

/** A namespace of the benchmark's own. */
export function buildNamespace(name: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}
