import { ReconcileFailure } from "../failure";
import type { HandlerAnswer, HandlerQuestion } from "./contract";
import type { HandlerPool } from "./handlerPool";
import { parseAnswer } from "./parseAnswer";

/**
 * Asks the handler, and takes its answer only if it keeps the contract and is no failure.
 *
 * @param checkStatus says what is wrong with an answered status, or undefined
 * @returns the answer, its length in characters, and the end of what the handler wrote to standard error
 * @throws ReconcileFailure if the handler crashes, hangs, breaks the contract, or says itself that it failed, and if it
 *   cannot be asked
 */
export async function askHandler<Answer extends HandlerAnswer>(
  pool: Pick<HandlerPool, "ask">,
  question: HandlerQuestion,
  checkStatus: (status: unknown) => string | undefined,
): Promise<{ answer: Exclude<Answer, { error: unknown }>; length: number; log: string }> {
  const { answer: given, length, log } = await pool.ask(question);
  try {
    const answer = parseAnswer(given, question.event);
    if ("error" in answer) {
      const { message, ...when } = answer.error;
      throw new ReconcileFailure("HandlerError", message, when);
    }
    const problem = answer.status && checkStatus(answer.status);
    if (problem) throw new ReconcileFailure("InvalidAnswer", `the handler answered wrongly: ${problem}.`);
    return { answer: answer as Exclude<Answer, { error: unknown }>, length, log };
  } catch (error) {
    if (error instanceof ReconcileFailure) error.log = log;
    throw error;
  }
}
