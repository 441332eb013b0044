import type { Command } from "commander";
import { asCommandError, CommandError } from "./commandError";
import { interruptible } from "./interruption";

/**
 * Parses the arguments and runs a command, with a signal that aborts on Ctrl-C.
 *
 * @param action gives the exit code
 * @throws CommandError for every foreseen end other than success, with the exit code: 2 for wrong arguments
 */
export async function runCommand<Options>(
  program: Command,
  args: readonly string[],
  action: (options: Options, signal: AbortSignal) => Promise<number>,
): Promise<void> {
  try {
    const options = program.exitOverride().parse(args, { from: "user" }).opts() as Options;
    const exitCode = await interruptible((signal) => action(options, signal));
    if (exitCode !== 0) throw new CommandError("", exitCode);
  } catch (error) {
    throw asCommandError(error);
  }
}
