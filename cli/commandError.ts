import { CommanderError } from "commander";
import { KubeconfigError } from "../components/kubeconfig";
import { OperatorError } from "../runtime/definition/operatorError";
import { UnknownKindError } from "../runtime/kubernetes/discovery";
import { ApiError, ApiUnreachableError } from "../runtime/kubernetes/errors";

/** Exit code for arguments that are not understood. */
const USAGE_EXIT_CODE = 2;

/**
 * A command that ends in a foreseen way: `tools/bootstrap.mjs` prints its message without a stack, or nothing where
 * there is no message, and exits with its code.
 */
export class CommandError extends Error {
  override readonly name: string = "CommandError";

  constructor(
    message: string,
    /** The process's exit code. @default 1 */
    readonly exitCode = 1,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Errors whose message tells the user all that he needs. */
const FORESEEN = [OperatorError, KubeconfigError, ApiError, ApiUnreachableError, UnknownKindError];

/** The error as a {@link CommandError}, where it is none of ours to correct; any other error as it is. */
export function asCommandError(error: unknown): unknown {
  // Commander has printed it already. Help is an error to it, with the code 0.
  if (error instanceof CommanderError) return new CommandError("", error.exitCode && USAGE_EXIT_CODE);
  if (!FORESEEN.some((known) => error instanceof known)) return error;
  const { message } = error as Error;
  return new CommandError(message, 1, { cause: error });
}
