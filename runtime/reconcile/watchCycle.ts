import type { Owner } from "../children/ownership";
import { ReconcileFailure } from "../failure";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { madeOf } from "../watch/watched";

/** The parts that {@link whyCycling} asks. */
export interface CycleSource {
  /** The owner of the child with that uid. Undefined: no known child has the uid. */
  readonly ownerOf: (uid: string) => Owner | undefined;
  /** The uids of the objects that led to a watched object. */
  readonly madeOf: (name: ObjectName) => readonly string[];
}

/** How many times in a row an object may come from this operator by way of others. Work in several steps takes one or two. */
const MOST_ROUNDS = 5;

/** Why no children are created for a watched object: it came from this operator's own children too many times in a row. */
export function whyCycling(object: KubernetesObject, source: CycleSource): ReconcileFailure | undefined {
  if (roundsOf(object, source) <= MOST_ROUNDS) return undefined;
  const message = `this operator watches objects that another operator creates for this operator's children. The chain that led to this object went back and forth more than ${MOST_ROUNDS} times. This object gets no children, because the chain would never end.`;
  return new ReconcileFailure("WatchCycle", message, { permanent: true });
}

/**
 * How many times in a row a watched object comes from this operator: 1 if it was created because of one of the operator's
 * children, 2 if that child belongs to an object that was created in the same way, and so on.
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
