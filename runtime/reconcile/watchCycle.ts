import type { Owner } from "../children/ownership";
import { ReconcileFailure } from "../failure";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { madeOf } from "../watch/watched";

/** What {@link whyCycling} looks at. */
export interface CycleSource {
  /** Whose child has that uid. Undefined: no known child has. */
  readonly ownerOf: (uid: string) => Owner | undefined;
  /** The uids of what a watched object was made of. */
  readonly madeOf: (name: ObjectName) => readonly string[];
}

/** So many times an object may come of this operator by way of others. Work in several steps takes one or two. */
const MOST_ROUNDS = 5;

/** Why no children are made of a watched object: it came of this operator's own children too many times in a row. */
export function whyCycling(object: KubernetesObject, source: CycleSource): ReconcileFailure | undefined {
  if (roundsOf(object, source) <= MOST_ROUNDS) return undefined;
  const message = `another operator makes objects of this operator's children, and this operator watches them: this one was made so more than ${MOST_ROUNDS} times in a row. No children are made of it, since that would go on without end.`;
  return new ReconcileFailure("WatchCycle", message, { permanent: true });
}

/**
 * How many times in a row a watched object comes of this operator: 1 if it was made of a child of the operator's, 2 if that
 * child is one of an object that was made in the same way, and so on.
 */
function roundsOf(object: KubernetesObject, source: CycleSource): number {
  let rounds = 0;
  for (let uids: readonly string[] = madeOf(object); rounds <= MOST_ROUNDS; rounds++) {
    const owner = uids.map((uid) => source.ownerOf(uid)).find((each) => each !== undefined);
    if (!owner) break;
    uids = source.madeOf(owner);
  }
  return rounds;
}
