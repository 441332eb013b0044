import { Command } from "commander";
import { version } from "../package.json";
import { type CommandLine, runCommand } from "./command";
import { EXIT_CODES, UsageError } from "./commandError";
import { CLUSTER_COMMANDS } from "./commands/cluster";
import type { Entry } from "./commands/entry";
import { PROGRAM_COMMANDS } from "./commands/program";

const COMMANDS: readonly Entry[] = [...PROGRAM_COMMANDS, ...CLUSTER_COMMANDS];

const HELP = `
argosy <command> --help shows the options of a command.

Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 the command worked and found something: a problem or a change.`;

/**
 * The command `argosy`. Errors are printed.
 * @returns the exit code
 */
export function main(args: readonly string[]): Promise<number> {
  const asked = args[0] === "help" && args[1] ? args[1] : undefined;
  const [first, ...rest] = asked ? [asked, "--help"] : args;
  const entry = COMMANDS.find(({ name }) => name === first);
  if (entry) return runCommand(commandLineOf(entry), rest);
  return runCommand(overview(), asked ? [asked] : args);
}

function commandLineOf(entry: Entry): CommandLine {
  const { name, description, argument, furtherArgument, options, check } = entry;
  const command = new Command(`argosy ${name}`).description(description);
  if (argument) command.argument(...argument);
  if (furtherArgument) command.argument(...furtherArgument);
  for (const option of options) command.addOption(option);
  const given = () => {
    refuseEmptyValues(command);
    check?.(command.args);
    return [command.opts(), command.args] as const;
  };
  return "run" in entry
    ? { command, run: async () => entry.run(...given()) }
    : { command, runUntil: async (signal) => entry.runUntil(...given(), signal) };
}

/** A variable that a shell does not know leaves an empty value. It would mean the default, for instance another cluster. */
function refuseEmptyValues(command: Command): void {
  const empty = command.options.find((option) => command.getOptionValue(option.attributeName()) === "");
  if (empty)
    throw new UsageError(`${empty.long} has an empty value. Give another one, or leave out the option.`);
}

/** Every command, as its help describes it: for the documentation. */
export function commands(): readonly { name: string; summary: string; command: Command }[] {
  return COMMANDS.map((entry) => ({
    name: entry.name,
    summary: entry.summary,
    command: commandLineOf(entry).command,
  }));
}

/** The list of commands, for help and for an unknown command. */
function overview(): CommandLine {
  const command = new Command("argosy")
    .usage("<command> [options]")
    .description("Kubernetes operators from plain handler files, on Argo Events and Argo Workflows.")
    .version(version, "--version")
    .addHelpText("after", HELP);
  for (const { name, summary } of COMMANDS) command.addCommand(new Command(name).summary(summary));
  return { command, run: async () => EXIT_CODES.fine };
}

if (require.main === module) {
  void main(process.argv.slice(2)).then((exitCode) => {
    process.exitCode = exitCode;
  });
}
