import { RunError } from "@pulumi/pulumi";

/** Something in a stack's configuration that its author has to put right. Pulumi shows it without a stack trace. */
export class ConfigurationError extends RunError {
  override readonly name = "ConfigurationError";

  /** @param problems - one sentence each: the key, what is wrong, the remedy */
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}
