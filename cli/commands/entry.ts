import type { Option, OptionValues } from "commander";

/** A command as it is typed. Its action is loaded only when it runs, because Pulumi alone takes a second to load. */
export interface Entry {
  readonly name: string;
  /** For the list of the commands. */
  readonly summary: string;
  /** For its own help. */
  readonly description: string;
  /** The argument after the name, and its meaning. */
  readonly argument?: readonly [name: string, description: string];
  readonly furtherArgument?: readonly [name: string, description: string];
  readonly options: readonly Option[];
  run(options: OptionValues, args: readonly string[], signal: AbortSignal): Promise<number>;
}
