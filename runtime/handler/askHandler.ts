import { ReconcileFailure } from "../failure";
import { jsonOf } from "../flaw";
import type { HandlerAnswer, HandlerRequest } from "./contract";
import type { HandlerPool } from "./handlerPool";
import { parseAnswer } from "./parseAnswer";

/**
 * Asks the handler, and takes its answer only where it keeps the contract and is no failure.
 *
 * @param checkStatus says what is wrong with an answered status, or undefined
 * @returns the answer, with the end of what the handler wrote to standard error
 * @throws ReconcileFailure where the handler crashes, hangs, breaks the contract, or says itself that it failed, and
 *   where it cannot be asked
 */
export async function askHandler<Answer extends HandlerAnswer>(
  pool: HandlerPool,
  request: HandlerRequest,
  checkStatus: (status: unknown) => string | undefined,
): Promise<{ answer: Exclude<Answer, { error: unknown }>; log: string }> {
  const question = jsonOf(request);
  if (question === undefined) {
    const message = "the object or a child of it is nested too deeply to be given to a handler";
    throw new ReconcileFailure("HandlerNotStarted", message, { permanent: true });
  }
  const { answer, log } = await pool.ask(question, (line, conversation) =>
    parseAnswer(line, request.event, request.id, conversation),
  );
  if ("error" in answer) {
    const { message, ...when } = answer.error;
    throw new ReconcileFailure("HandlerError", message, { ...when, log });
  }
  const problem = answer.status && checkStatus(answer.status);
  if (problem)
    throw new ReconcileFailure("InvalidAnswer", `the handler answered wrongly: ${problem}.`, { log });
  return { answer: answer as Exclude<Answer, { error: unknown }>, log };
}
