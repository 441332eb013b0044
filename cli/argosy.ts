// The list of commands. Each is a file of commands/.
import { Command } from "commander";
import { version } from "../package.json";
import { type CommandLine, runCommand } from "./common/command";
import { EXIT_CODES } from "./common/commandError";

/** What each command does. Its file is loaded when it is typed, because all of them together take a second to load. */
const SUMMARIES = {
  init: "create a program with an operator in an empty folder",
  new: "create a new operator",
  add: "add a kind of child, a used object, a schedule, an event, a right or a variable to an operator",
  remove: "remove one of these from an operator",
  start: "show the life of a custom resource on this machine",
  dev: "run the operators on this machine, and apply every edit",
  test: "run the fixtures of the handlers",
  fuzz: "look for bugs in the handlers, and write each as a fixture",
  types: "write types of the custom resources for their handlers",
  files: "write the files of a handler, to build an image from them",
  render: "print the manifests of a stack, without a cluster",
  verdict: "say whether changes of the CRDs break stored objects or clients",
  rights: "list the rights of every account, and how a change affects them",
  diff: "show what the handlers of this working tree would change for live objects",
  try: "show what the handler of this working tree would do for an object in a file",
  record: "write a live object as a fixture of its handler",
  doctor: "find problems on this machine and in the cluster, with remedies",
  errors: "explain an error code: what happened, where to look and what to do",
  explain: "explain why an object is not Ready, or what holds up its deletion",
  runs: "list the runs of an operator or of an object",
  logs: "show the logs of an operator's engine and handler",
  replay: "submit a recorded run again, or reconcile an object at once",
  rollout: "show the staged roll-outs of new versions, resume one that has halted, or undo it",
  pause: "stop reconciling objects until they are resumed",
  resume: "reconcile paused objects again",
  completion: "print a script by which a shell completes the command line",
};

const HELP = `
argosy <command> --help shows the options of a command.

Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 the command worked and found something: a problem or a change.`;

/**
 * The command `argosy`. Errors are printed.
 * @returns the exit code
 */
export function main(args: readonly string[]): Promise<number> {
  const asked = args[0] === "help" && args[1] ? args[1] : undefined;
  const [first = "", ...rest] = asked ? [asked, "--help"] : args;
  if (Object.hasOwn(SUMMARIES, first)) return runCommand(commandLineOf(first), rest);
  return runCommand(overview(), asked ? [asked] : args);
}

function commandLineOf(name: string): CommandLine {
  // biome-ignore lint/style/useTemplate: by this form, esbuild and tools/affectedTests.ts see that these are the folder's files.
  const file = require("./commands/" + name + ".ts") as {
    default(name: string, all: typeof commands): CommandLine;
  };
  return file.default(name, commands);
}

/** Every command, as its help describes it: for the documentation. */
export function commands(): readonly { name: string; summary: string; command: Command }[] {
  return Object.entries(SUMMARIES).map(([name, summary]) => ({
    name,
    summary,
    command: commandLineOf(name).command,
  }));
}

/** The list of commands, for help and for an unknown command. */
function overview(): CommandLine {
  const command = new Command("argosy")
    .usage("<command> [options]")
    .description("Kubernetes operators from plain handler files, on Argo Events and Argo Workflows.")
    .version(version, "--version")
    .addHelpText("after", HELP);
  for (const [name, summary] of Object.entries(SUMMARIES))
    command.addCommand(new Command(name).summary(summary));
  return { command, run: async () => EXIT_CODES.fine };
}

if (require.main === module) {
  void main(process.argv.slice(2)).then((exitCode) => {
    process.exitCode = exitCode;
  });
}
