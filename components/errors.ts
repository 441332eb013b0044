import { RunError } from "@pulumi/pulumi";
import { OperatorError } from "../definition/problems";
import { TransformError } from "./manifests/transform";

/**
 * Something in the arguments of a component or in a stack's configuration that its author has to put right. Pulumi shows
 * the message without a stack trace.
 */
export class ConfigurationError extends RunError {
  override readonly name = "ConfigurationError";

  /** @param problems one sentence each: the argument or the key, what is wrong, the remedy */
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/**
 * What errors call a component: `Operators "shop"`.
 * @throws ConfigurationError if Pulumi could make no URN of its name
 */
export function componentNamed(type: "ArgoPlatform" | "Operators", name: string): string {
  if (typeof name === "string" && name !== "") return `${type} "${name}"`;
  throw new ConfigurationError([
    `${type}: the name is ${name === "" ? "empty" : "missing"}. Give one as the first argument, for example new ${type}("argosy", ...).`,
  ]);
}

/**
 * Gives what a function gives. What an author has to put right in the files of an operator, or in a transform, becomes an
 * error that Pulumi shows without a stack trace.
 */
export function withReadableErrors<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    const isAuthors = error instanceof OperatorError || error instanceof TransformError;
    if (isAuthors) throw new RunError(error.message, { cause: error });
    throw error;
  }
}
