import type { ExpectedProgram } from "./checkLosses";
import { type Findings, type Look, NOTHING } from "./lookInCluster";

/** A namespace in which an operator gets a Role. */
export interface NeededNamespace {
  readonly namespace: string;
  /** Where the operator names it: "handlers/press/operator.yaml". */
  readonly place: string;
}

/** The namespaces that the operators of a program name. */
export interface ExpectedNamespaces extends Pick<ExpectedProgram, "makes"> {
  readonly namespaces: readonly NeededNamespace[];
}

/**
 * Checks that the namespaces exist that the operators name, or that a platform of the program creates them. This is not refused,
 * since the program may also create them itself, beside its components.
 */
export async function checkNamespaces(
  look: Look,
  { namespaces, makes }: ExpectedNamespaces,
): Promise<Findings> {
  const isMissing = async (name: string) =>
    (await look.namespace(name)) === "absent" && !(await makes({ kind: "Namespace", metadata: { name } }));
  const names = [...new Set(namespaces.map(({ namespace }) => namespace))];
  const areMissing = await Promise.all(names.map(isMissing));
  const missing = names.filter((_, index) => areMissing[index]);
  if (missing.length === 0) return NOTHING;
  const placesOf = (name: string) =>
    new Set(namespaces.filter(({ namespace }) => namespace === name).map(({ place }) => place));
  const named = missing.map((name) => `${name} (${[...placesOf(name)].join(", ")})`);
  const warning =
    `these namespaces are not in the cluster: ${named.join(", ")}. Kubernetes refuses the operators' Roles there, so pulumi up ` +
    "stops half-way. Create the namespaces first, or name others in the places in brackets. If this program creates them, name " +
    "them in the option dependsOn of the operators.";
  return { problems: [], warnings: [warning] };
}
