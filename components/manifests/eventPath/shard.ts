import type { Operator } from "../../../runtime/program";

/** One pair of an EventSource and a Sensor, and the operators whose events it carries. */
export interface EventPathShard {
  /** The name of both: the event path's own, "argosy", and then "argosy-2", "argosy-3". */
  readonly name: string;
  readonly operators: readonly Operator[];
}
