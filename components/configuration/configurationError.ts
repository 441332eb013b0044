import { RunError } from "@pulumi/pulumi";
import type { OptionProblem } from "../manifests/workloads";

/** Something in a stack's configuration that its author has to put right. Pulumi shows it without a stack trace. */
export class ConfigurationError extends RunError {
  override readonly name = "ConfigurationError";

  /** @param problems - one sentence each: the key, what is wrong, the remedy */
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/** @throws ConfigurationError with what is wrong with options, where anything is */
export function refuse(problems: readonly OptionProblem[]): void {
  if (problems.length === 0) return;
  throw new ConfigurationError(
    problems.map(({ key, complaint, remedy }) => `${key} ${complaint}. ${remedy}`),
  );
}
