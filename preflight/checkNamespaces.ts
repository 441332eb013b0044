// Are the namespaces there that the operators name?
import { type Findings, type Look, NOTHING } from "./lookInCluster";

/** A namespace in which a component makes objects, and which it does not create. */
export interface NeededNamespace {
  readonly namespace: string;
  /** The file or the argument that names it: "handlers/press/operator.yaml", "controllerNamespace". */
  readonly place: string;
}

/** Checks that these namespaces exist. A missing one is not refused, since the program may create it itself. */
export async function checkNamespaces(look: Look, namespaces: readonly NeededNamespace[]): Promise<Findings> {
  const isMissing = async (name: string) => (await look.namespace(name)) === "absent";
  const names = [...new Set(namespaces.map(({ namespace }) => namespace))];
  const areMissing = await Promise.all(names.map(isMissing));
  const missing = names.filter((_, index) => areMissing[index]);
  if (missing.length === 0) return NOTHING;
  const placesOf = (name: string) =>
    new Set(namespaces.filter(({ namespace }) => namespace === name).map(({ place }) => place));
  const named = missing.map((name) => `${name} (${[...placesOf(name)].join(", ")})`);
  const warning =
    `these namespaces are not in the cluster: ${named.join(", ")}. Kubernetes creates nothing there, so pulumi up may fail ` +
    "half-way. Create the namespaces first, or correct the names in the files or arguments in brackets. If this program creates " +
    "the namespaces, name them in the option dependsOn of this component.";
  return { problems: [], warnings: [warning] };
}
