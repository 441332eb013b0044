import type { Option, OptionValues } from "commander";
import type { Action } from "../command";

/** A command as users type it. Its action is loaded only when the command runs, because Pulumi alone takes a second to load. */
export type Entry = Description & Action<[options: OptionValues, args: readonly string[]]>;

interface Description {
  readonly name: string;
  /** The text in the list of commands. */
  readonly summary: string;
  /** The text in the command's own help. */
  readonly description: string;
  /** The argument after the name, and its meaning. */
  readonly argument?: readonly [name: string, description: string];
  readonly furtherArgument?: readonly [name: string, description: string];
  readonly options: readonly Option[];
  /** Checks the arguments before the action is loaded. @throws UsageError */
  check?(args: readonly string[]): void;
}
