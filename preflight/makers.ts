// Which program made an object, and what to do if that is this one under another name.
import { type KubernetesObject, type ObjectMeta, PROGRAM_ANNOTATION } from "../runtime/program";
import { type Findings, NOTHING } from "./lookInCluster";

/** On an object that stays in the cluster if it leaves the program: with which field manager Pulumi writes it, always the same. */
export const KEPT = "pulumi.com/patchFieldManager";

/** An object of which a cluster can have only one, and which Argosy marks with the program that made it. */
export interface Marked {
  readonly metadata: Pick<ObjectMeta, "labels" | "annotations">;
}

/** The program that created an object, from the object's annotation. Undefined if Argosy did not create it, or did not mark it. */
export function makerOf({ metadata }: Marked): string | undefined {
  return metadata.annotations?.[PROGRAM_ANNOTATION];
}

/** Whether an object is being deleted. It cannot be kept any more: it goes when the last finalizer is removed. */
export function isGoing({ metadata }: { readonly metadata: Pick<ObjectMeta, "deletionTimestamp"> }): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Warns of a CRD of this program that is being deleted. This is not refused, since only a deployed program removes the finalizers
 * that hold the CRD up.
 */
export function ifGoing(crd: KubernetesObject): Findings {
  if (!isGoing(crd)) return NOTHING;
  const warning =
    `the CRD ${crd.metadata.name} is being deleted. Kubernetes removes it, with all its objects, once the finalizers of these ` +
    "objects are gone. A deletion cannot be taken back. After that, pulumi up --refresh creates the CRD again.";
  return { problems: [], warnings: [warning] };
}

/**
 * What to do about an object of another program, if this program created it under another name: the stack was renamed.
 * @param maker the program that the object names
 * @param object its kind and its name, as kubectl takes them
 */
export function ifRenamed(maker: string, object: string, program: string): string {
  return (
    `If ${maker} is the former name of this stack: kubectl annotate --overwrite ${object} ` +
    `${PROGRAM_ANNOTATION}=${program}, and change nothing in the program.`
  );
}

/**
 * What to do about an object without a mark, if this program created it: before marks existed, or the mark was removed.
 * @param object its kind and its name, as kubectl takes them
 */
export function ifUnmarked(object: string, program: string): string {
  return `If this stack created it: kubectl annotate ${object} ${PROGRAM_ANNOTATION}=${program}.`;
}

/** Where an object comes from that this program has not made: ", from the stack acme/shop/dev". And how it becomes this program's. */
export function notOurs(
  found: Marked,
  object: string,
  program: string,
): { readonly origin: string; readonly way: string } {
  const maker = makerOf(found);
  if (maker !== undefined)
    return { origin: `, from the stack ${maker}`, way: ifRenamed(maker, object, program) };
  const way =
    `If this stack should own it: run kubectl annotate ${object} ` +
    `${PROGRAM_ANNOTATION}=${program}, and then pulumi up with data "keep".`;
  return { origin: "", way };
}
