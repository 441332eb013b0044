import { ReconcileFailure } from "../failure";
import type { KubernetesObject, Manifest } from "../kubernetes/objects";
import { CHILD_OF_LABEL, LEVEL_ANNOTATION } from "../names";

/** How many objects in a row may each be a child of the one before. Work that is divided among operators has two or three. */
const MOST_LEVELS = 12;

/** How many objects in a row led to an object, each as a child of the one before: 0 for an object that is nobody's child. */
function levelOf({ metadata: { labels, annotations } }: Manifest): number {
  if (labels?.[CHILD_OF_LABEL] === undefined) return 0;
  const level = Number(annotations?.[LEVEL_ANNOTATION]);
  return Number.isSafeInteger(level) && level > 1 ? level : 1;
}

/** The annotation that tells the level of an object's children. None for the first level, which the other marks tell. */
export function levelAnnotation(object: KubernetesObject): Record<string, string> {
  const level = levelOf(object);
  return level === 0 ? {} : { [LEVEL_ANNOTATION]: String(level + 1) };
}

/** Why an object gets no children: operators seem to create each other's objects, without end. */
export function whyTooDeep(object: KubernetesObject): ReconcileFailure | undefined {
  if (levelOf(object) < MOST_LEVELS) return undefined;
  const message =
    `this object is the last in a chain of ${MOST_LEVELS} objects, each of which is a child of the one before. It gets no ` +
    "children, because operators that create each other's objects never stop. Let one of their handlers return no child for such " +
    "an object. Then delete the first object of the chain.";
  return new ReconcileFailure("ChildCycle", message, { permanent: true });
}
