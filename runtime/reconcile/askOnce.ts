// Whether a pure handler need be asked: `ask: changed`.
import { isDeepStrictEqual } from "node:util";
import { fieldManagerOf } from "../base/names";
import { type KubernetesObject, keyOf } from "../base/objects";
import { kindKey } from "../base/resource";
import type { ReconcileAnswer } from "../handler/contract";
import { digestOf } from "../handler/digest";
import { isReady } from "../observe/watched";
import { statusAfter } from "../remember/composeStatus";
import type { Memory } from "../remember/memory";
import { answerTo, type Gathered, gather, SMALL_ANSWER } from "./ask";
import { type Made, saidIn } from "./remember";
import type { Parts, Run } from "./run";

/** The digest of a question. Undefined if the handler is not given everything whole: then the rest may differ. */
export function digestIfWhole({ others }: Parts, { content, warnings }: Gathered): string | undefined {
  return warnings.length === 0 ? digestOf(content, !others) : undefined;
}

/**
 * Whether a look may end without asking the handler: it is a routine one, the object is ready, nothing is left to be done for it,
 * and the answer to the question stands. If not, the former answer no longer stands.
 *
 * A look that a change, a hint or a user has caused always asks the handler. Such looks are few, and their cause may be something
 * that no question shows, such as the loss of a finalizer.
 */
export function needNotBeAsked(
  { standing, operator, others }: Parts,
  run: Run,
  object: KubernetesObject,
  memory: Memory,
  digest: string,
): boolean {
  const key = keyOf(run.name);
  const declared = operator.children.filter(({ retired }) => !retired).map(kindKey);
  const mayStand =
    run.context.arrival?.cause === "time" &&
    (others ? others.memories.isReady(object) : isReady(object)) &&
    memory.kinds.every((kind) => declared.includes(kind)) &&
    operator.formerNames.length === 0;
  if (mayStand && standing?.stands(key, object.metadata.uid, digest, memory.digest)) {
    run.digest = digest;
    return true;
  }
  standing?.asked(key);
  return false;
}

/**
 * The digest of the next question, if its answer is known to be the same as this one. What was written has changed the question,
 * so the handler is asked once more, as in a dry run. The status is not written yet, so the question has the status that is to be
 * written.
 * @param asked the digest of the question that the answer is to
 * @returns undefined if the handler would answer something else, or wants to be asked again, or if the question is large
 */
export async function digestThatStands(
  parts: Parts,
  run: Run,
  { object, answer, before }: Made,
  asked: string,
): Promise<string | undefined> {
  const { operator, others } = parts;
  if (answer.requeueAfterSeconds !== undefined) return undefined;
  const composing = {
    fieldManager: fieldManagerOf(operator),
    now: new Date(),
    schema: operator.customResource.statusSchema,
  };
  const after = others
    ? object
    : { ...object, status: statusAfter(object, saidIn(answer, object), composing) };
  const state = (answer.state as Memory["state"]) ?? before.state;
  try {
    const gathered = await gather(parts, { event: "reconcile", object: after, state });
    const digest = digestIfWhole(parts, gathered);
    if (digest === undefined || digest === asked) return digest;
    if (gathered.bytes > SMALL_ANSWER) return undefined;
    const { answer: again } = await answerTo<ReconcileAnswer>(parts, run, gathered, { dryRun: true });
    return isDeepStrictEqual(again, answer) ? digest : undefined;
  } catch {
    // If the fault lasts, the next question meets it again.
    return undefined;
  }
}
