import type { Option, OptionValues } from "commander";

/** A command, as it is typed. What it does is loaded only when it is asked for: Pulumi alone takes a second. */
export interface Entry {
  readonly name: string;
  /** For the list of the commands. */
  readonly summary: string;
  /** For its own help. */
  readonly description: string;
  /** What follows the name, and what it means. */
  readonly argument?: readonly [name: string, description: string];
  readonly furtherArgument?: readonly [name: string, description: string];
  readonly options: readonly Option[];
  run(options: OptionValues, args: readonly string[], signal: AbortSignal): Promise<number>;
}
