import { RunError } from "@pulumi/pulumi";
import { OperatorError } from "../definition/problems";
import { TransformError } from "./manifests/transform";
import type { OptionProblem } from "./manifests/workloads";

/**
 * A mistake in the arguments of a component or in a stack's configuration, which its author has to correct. Pulumi shows the
 * message without a stack trace.
 */
export class ConfigurationError extends RunError {
  override readonly name = "ConfigurationError";

  /** @param problems one sentence each: the argument or the key, the mistake, the remedy */
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
    // After the end of the program, Pulumi shows the stack of any error (sdk/nodejs/cmd/run/index.ts, uncaughtHandler). A check in
    // the cluster ends after the program.
    this.stack = this.message;
  }
}

/**
 * The name of a component in errors: `Operators "shop"`.
 * @throws ConfigurationError if Pulumi could not make a URN of its name
 */
export function componentNamed(type: "ArgoPlatform" | "Operators", name: string): string {
  if (typeof name === "string" && name !== "") return `${type} "${name}"`;
  throw new ConfigurationError([
    `${type}: the name is ${name === "" ? "empty" : "missing"}. Give one as the first argument, for example new ${type}("argosy", ...).`,
  ]);
}

/**
 * Refuses wrong options of a component.
 * @param component the name of the component in errors: `Operators "shop"`
 * @throws ConfigurationError that names every problem, if there is one
 */
export function refuse(component: string, problems: readonly OptionProblem[]): void {
  if (problems.length === 0) return;
  throw new ConfigurationError(
    problems.map(({ key, complaint, remedy }) => `${component}: ${key} ${complaint}. ${remedy}`),
  );
}

/**
 * Calls a function and returns its result. A mistake in the files of an operator, or in a transform, becomes an error that Pulumi
 * shows without a stack trace.
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
