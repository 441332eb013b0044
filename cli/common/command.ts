import { type Command, CommanderError } from "commander";
import { asCommandError, CommandError, complaintOfSystem, EXIT_CODES, UsageError } from "./commandError";
import { endedAtOnce, interruptForClosedOutput, interruptible } from "./interruption";
import { safe } from "./terminal";

/**
 * A command: its arguments, and its action. The arguments and options have their values when the action is called. It returns the
 * exit code, and throws CommandError, or any error that {@link asCommandError} knows, for a foreseen end.
 */
export type CommandLine = { readonly command: Command } & Action<[]>;

/** What a command does with these arguments. */
export type Action<Args extends readonly unknown[]> =
  /** It leaves nothing behind, so Ctrl-C ends the process at once. */
  | { run(...args: Args): Promise<number> }
  /** Its last argument aborts on Ctrl-C. Then it cleans up, says so if that takes long, and throws the signal's reason. */
  | { runUntil(...args: [...Args, signal: AbortSignal]): Promise<number> };

/** The complaints of the library that name an argument, but not what to write. The library has printed them. */
const NEEDS_USAGE = [
  "commander.missingArgument",
  "commander.excessArguments",
  "commander.missingMandatoryOptionValue",
];

/**
 * Parses arguments, runs the command to its end, and prints an error: a foreseen one without its stack.
 *
 * @param environment the environment, in which npm leaves options that it mistook for its own
 * @returns the exit code
 */
export async function runCommand(
  { command, ...action }: CommandLine,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  endWhenUnread(process.stdout, process.stderr);
  try {
    refuseOptionsOfNpm(command, environment);
    command.exitOverride().parse(args, { from: "user" });
    return await ("run" in action ? endedAtOnce(action.run) : interruptible(action.runUntil));
  } catch (error) {
    if (error instanceof CommanderError && NEEDS_USAGE.includes(error.code))
      process.stderr.write(
        `Usage: ${command.name()} ${command.usage()}\n${command.name()} --help explains each of them.\n`,
      );
    return report(error);
  }
}

/** Prints an error. Returns the exit code. */
function report(thrown: unknown): number {
  const error = asCommandError(thrown);
  if (error instanceof CommandError) {
    // The API server and its webhooks may quote text of any user.
    if (error.message) process.stderr.write(`${safe(error.message)}\n`);
    return error.exitCode;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`${stack}\nThis is a defect of Argosy. Please report it with these lines.\n`);
  return EXIT_CODES.failed;
}

/** The program that reads our output may stop early: `argosy render | head`. */
function endWhenUnread(...streams: readonly NodeJS.WriteStream[]): void {
  for (const stream of streams) {
    if (!stream.listeners("error").includes(endForOutput)) stream.on("error", endForOutput);
  }
}

function endForOutput(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") failForOutput(error);
  interruptForClosedOutput();
}

let hasFailedForOutput = false;

/** The output cannot be written, for instance to a file system that is full: the command fails, even if it has done its work. */
function failForOutput(error: NodeJS.ErrnoException): void {
  if (hasFailedForOutput) return;
  hasFailedForOutput = true;
  process.stderr.write(
    `The output cannot be written: ${complaintOfSystem(error) ?? error.message}. Direct it elsewhere.\n`,
  );
  process.on("exit", () => {
    process.exitCode = EXIT_CODES.failed;
  });
}

/**
 * npm takes every option before a "--" as its own, and leaves it only in the environment. The command would run without the
 * option.
 */
function refuseOptionsOfNpm(command: Command, environment: NodeJS.ProcessEnv): void {
  const { npm_command: npm, npm_lifecycle_event: script } = environment;
  if (script === undefined || npm === "exec") return;
  const taken = command.options.find(({ long, short }) => {
    const names = [long?.slice("--".length).replaceAll("-", "_"), short === "-g" ? "global" : undefined];
    return names.some((name) => name !== undefined && environment[`npm_config_${name}`]);
  });
  if (!taken) return;
  const typed = script === "test" || script === "start" ? `npm ${script}` : `npm run ${script}`;
  throw new UsageError(
    `npm mistook ${taken.long} for an option of its own. Write "--" before the options of the command: ${typed} -- ` +
      `${taken.flags.replace(/^-\w, /, "")}`,
  );
}
