import { invalid, quote } from "../handler/invalidAnswer";
import type { ObjectMeta } from "../kubernetes/objects";
import {
  ADOPT_ANNOTATION,
  AFTER_ANNOTATION,
  CHILD_OF_LABEL,
  DOMAIN,
  EVENT_CONTENT_ANNOTATION,
  EVENT_ID_ANNOTATION,
  EVENT_LABEL,
  LEVEL_ANNOTATION,
  OBJECT_UID_LABEL,
  ONCE_ANNOTATION,
  OPERATOR_LABEL,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
  PAUSED_ANNOTATION,
  PROGRAM_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  SKIP_FINALIZE_ANNOTATION,
  TRACE_ID_LABEL,
  TRUNCATED_ANNOTATION,
  USED_BY_LABEL,
} from "../names";

/** What becomes of Argosy's own labels, or annotations, if a handler answers them on a child. All others are refused. */
interface Known {
  readonly applied: readonly string[];
  readonly leftOut: readonly string[];
  /** Which of them a handler may mean. */
  readonly meant: string;
}

const LABELS: Known = {
  applied: [USED_BY_LABEL],
  // Copied from the object or from another child. They would be wrong on this child: as marks of a second owner, of an event of
  // which the child was not made, or of the record of a run.
  leftOut: [CHILD_OF_LABEL, OWNER_UID_LABEL, EVENT_LABEL, OPERATOR_LABEL, OBJECT_UID_LABEL, TRACE_ID_LABEL],
  meant: `the label for a child is ${USED_BY_LABEL}`,
};
const ANNOTATIONS: Known = {
  // A child may be another operator's custom resource.
  applied: [ADOPT_ANNOTATION, PAUSED_ANNOTATION, SKIP_FINALIZE_ANNOTATION, RECONCILE_AT_ANNOTATION],
  leftOut: [
    // Only the engine reads annotations about the order: they do not count in the cluster.
    AFTER_ANNOTATION,
    ONCE_ANNOTATION,
    // Copied, as the labels are.
    OWNER_ANNOTATION,
    LEVEL_ANNOTATION,
    EVENT_ID_ANNOTATION,
    EVENT_CONTENT_ANNOTATION,
    PROGRAM_ANNOTATION,
  ],
  meant: `the annotations for an order are ${AFTER_ANNOTATION} and ${ONCE_ANNOTATION}`,
};

/** What to say of an annotation that is refused, if it has a remedy of its own. */
const REMEDIES: Readonly<Record<string, string>> = {
  // People guess it, since other tools have one of this name.
  [`${DOMAIN}/keep`]: `which Argosy does not know: ${ONCE_ANNOTATION} lets a child be created only once, and no annotation keeps a child when its object goes`,
  // Applied as it was given, the child would lose all its fields.
  [TRUNCATED_ANNOTATION]:
    "so it is the part of a child that the request had, because the children are too large together: return the whole child",
};

/**
 * Checks Argosy's own labels and annotations on an answered child. One that is unknown is a mistake, which nobody would notice, or
 * one that gets a meaning later.
 * @param path of the child in the answer: "children[0]"
 * @throws ReconcileFailure `InvalidAnswer`
 */
export function checkMarks({ labels, annotations }: ObjectMeta, path: string): void {
  checkKnown(labels, LABELS, `${path}.metadata.labels`);
  checkKnown(annotations, ANNOTATIONS, `${path}.metadata.annotations`);
}

/** The labels and annotations of an answered child that are applied. */
export function appliedMarks({
  labels,
  annotations,
}: ObjectMeta): Required<Pick<ObjectMeta, "labels" | "annotations">> {
  return { labels: without(labels, LABELS.leftOut), annotations: without(annotations, ANNOTATIONS.leftOut) };
}

/** @param map a handler may answer null for it */
function checkKnown(map: Readonly<Record<string, string>> | undefined, known: Known, path: string): void {
  const { applied, leftOut, meant } = known;
  const unknown = Object.keys(map ?? {}).find(
    (key) => key.startsWith(`${DOMAIN}/`) && !applied.includes(key) && !leftOut.includes(key),
  );
  if (unknown === undefined) return;
  const remedy = REMEDIES[unknown] ?? `which Argosy does not know: ${meant}`;
  throw invalid(`${path} has ${quote(unknown)}, ${remedy}`);
}

function without(
  map: Readonly<Record<string, string>> | undefined,
  leftOut: readonly string[],
): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !leftOut.includes(key)));
}
