// Which namespaces and CRDs of a platform would Pulumi delete although the program keeps them?
import { PROGRAM_ANNOTATION } from "../runtime/program";
import type { Findings, Look } from "./lookInCluster";
import { isGoing, KEPT, makerOf } from "./makers";

/** What a program has of the objects that hold users' data, if it says that they are kept. */
export interface ExpectedData {
  /** The program, as "organization/project/stack". */
  readonly program: string;
  /** Whether the program has the object of this kind and name. */
  readonly has: (kind: string, name: string) => boolean;
}

/**
 * Refuses a program that says "keep" and no longer has a namespace or a CRD of a platform that was made with other `data`. Pulumi
 * does what the last `pulumi up` has recorded, so it would delete the object with everything in it.
 */
export async function checkLeftPlatform(look: Look, { program, has }: ExpectedData): Promise<Findings> {
  const left = ((await look.platformData()) ?? []).filter(
    (object) =>
      makerOf(object) === program &&
      object.metadata.annotations?.[KEPT] === undefined &&
      !isGoing(object) &&
      !has(object.kind, object.metadata.name),
  );
  const problems = left.map(({ kind, metadata: { name } }) => {
    const isNamespace = kind === "Namespace";
    const what = isNamespace
      ? `the namespace ${name} and everything in it`
      : `the CRD ${name} and all its objects`;
    return (
      `pulumi up would delete ${what}: data is "keep" now, and was not in the last pulumi up. Take back the change that leaves it out, ` +
      "run pulumi up, and then make the change again. If this stack does not have it any more: " +
      `kubectl annotate ${isNamespace ? "namespace" : "crd"} ${name} ${PROGRAM_ANNOTATION}-`
    );
  });
  return { problems };
}
