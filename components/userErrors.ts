import { RunError } from "@pulumi/pulumi";
import { OperatorError } from "../runtime/program";
import { TransformError } from "./manifests/transform";

/**
 * Wraps a Pulumi program so that what its author has to put right in an operator's files, or in a transform, is shown as
 * that, without a stack trace: nothing in our code is at fault.
 *
 * @example
 * ```ts
 * export = showUserErrors(async () => ({ platform: new ArgoPlatform("argosy", options).platform }));
 * ```
 */
export function showUserErrors<Outputs>(program: () => Promise<Outputs>): () => Promise<Outputs> {
  return async () => {
    try {
      return await program();
    } catch (error) {
      if (error instanceof OperatorError || error instanceof TransformError)
        throw new RunError(error.message, { cause: error });
      throw error;
    }
  };
}
