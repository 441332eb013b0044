import { ReconcileFailure } from "../failure";
import type { HandlerAnswer, HandlerQuestion, ReconcileAnswer } from "./contract";
import type { HandlerPool } from "./handlerPool";
import { invalid, invalidStatus } from "./invalidAnswer";
import { parseAnswer } from "./parseAnswer";

/**
 * Asks the handler, and accepts its answer only if the answer keeps the contract and does not report a failure.
 *
 * @param checkStatus says what is wrong with an answered status, or undefined
 * @param isOurs whether the object is one of the operator's own custom resources. If so, it has a status. If not, it has a state
 * @returns the answer, its length in characters, and the end of the handler's standard error
 * @throws ReconcileFailure if the handler crashes, hangs, breaks the contract, or says itself that it failed, and if it cannot be
 *   asked
 */
export async function askHandler<Answer extends HandlerAnswer>(
  pool: Pick<HandlerPool, "ask">,
  question: HandlerQuestion,
  checkStatus: (status: unknown) => string | undefined,
  isOurs = true,
): Promise<{ answer: Exclude<Answer, { error: unknown }>; length: number; log: string }> {
  const { answer: given, length, log } = await pool.ask(question);
  try {
    const answer = parseAnswer(given, question.event);
    if ("error" in answer) {
      const { message, ...when } = answer.error;
      throw new ReconcileFailure("HandlerError", message, when);
    }
    const problem = partWithoutPlace(answer, isOurs);
    if (problem) throw invalid(problem);
    const flaw = answer.status && checkStatus(answer.status);
    if (flaw) throw invalidStatus(flaw);
    return { answer: answer as Exclude<Answer, { error: unknown }>, length, log };
  } catch (error) {
    if (error instanceof ReconcileFailure) error.log = log;
    throw error;
  }
}

/** Says which part of an answer its object has no place for. */
export function partWithoutPlace(
  { status, state, conditions }: Pick<ReconcileAnswer, "status" | "state" | "conditions">,
  isOurs: boolean,
): string | undefined {
  if (isOurs && state !== undefined)
    return '"state", which is for an operator with "watch". A custom resource has a status: return "status"';
  if (!isOurs && status !== undefined)
    return '"status", but the operator may not write on a watched object. Use "state" for what the next request should contain';
  if (!isOurs && conditions !== undefined)
    return '"conditions", but the operator may not write on a watched object. Report with "events", and remember with "state"';
  return undefined;
}
