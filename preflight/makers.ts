import { type ObjectMeta, PROGRAM_ANNOTATION } from "../runtime/program";

/** An object of which a cluster can have only one, and which Argosy marks with the program that made it. */
export interface Marked {
  readonly metadata: Pick<ObjectMeta, "labels" | "annotations">;
}

/** The program that made an object, from the object's annotation. Undefined if Argosy did not make it, or did not mark it. */
export function makerOf({ metadata }: Marked): string | undefined {
  return metadata.annotations?.[PROGRAM_ANNOTATION];
}

/**
 * What to do about an object of another program, if this program has made it under another name: the stack was renamed.
 * @param maker the program that the object names
 * @param object its kind and its name, as kubectl takes them
 */
export function ifRenamed(maker: string, object: string, program: string): string {
  return (
    `If ${maker} is the former name of this stack: kubectl annotate --overwrite ${object} ` +
    `${PROGRAM_ANNOTATION}=${program}, and change nothing in the program.`
  );
}

/** How an object is given up, so that this program may delete it. */
export function ifGivenUp(object: string): string {
  return `kubectl annotate ${object} ${PROGRAM_ANNOTATION}-`;
}
