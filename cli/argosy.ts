import { Command, Option, type OptionValues } from "commander";
import { version } from "../package.json";
import { type CommandLine, runCommand } from "./command";
import { EXIT_CODES } from "./commandError";
import {
  contextOption,
  handlersOption,
  jsonOption,
  kubeconfigOption,
  platformOption,
  port,
  projectOption,
  stackOption,
} from "./options";

/** A command, as it is typed. What it does is loaded only when it is asked for: Pulumi alone takes a second. */
interface Entry {
  readonly name: string;
  /** For the list of the commands. */
  readonly summary: string;
  /** For its own help. */
  readonly description: string;
  /** What follows the name, and what it means. */
  readonly argument?: readonly [name: string, description: string];
  readonly options: readonly Option[];
  run(options: OptionValues, args: readonly string[], signal: AbortSignal): Promise<number>;
}

const COMMANDS: readonly Entry[] = [
  {
    name: "init",
    summary: "make a program with an operator in an empty folder",
    description:
      "Makes a Pulumi program in TypeScript in an empty folder: a small operator with its fixture, the stack dev, and a " +
      "workflow for GitHub that tests, previews and deploys. Nothing is installed or deployed.",
    argument: ["[folder]", "where to make the program (default: here)"],
    options: [
      new Option("--name <project>", "the name of the Pulumi project (default: that of the folder)"),
      new Option("--force", "also in a folder that is not empty; what is there stays as it is"),
    ],
    run: (options, [folder]) => (require("./init") as typeof import("./init")).init(folder, options),
  },
  {
    name: "start",
    summary: "play the life of a custom resource on this machine",
    description:
      "Plays the life of a Memcached with the real engine and its real handler, on a Kubernetes control plane of its " +
      "own: created, scaled, healed, refused, broken, mended, deleted. Fails where a step does not hold.",
    options: [contextOption(), kubeconfigOption(), jsonOption("print a line of JSON for each step")],
    run: (options, _, signal) => (require("./start") as typeof import("./start")).start(options, signal),
  },
  {
    name: "dev",
    summary: "run the operators on this machine, and take every edit in",
    description:
      "Runs the operators of handlers/ on a Kubernetes control plane of their own until Ctrl-C: a line for each " +
      "reconcile, and every edit of a handler or a definition is taken in as it is saved.",
    options: [
      contextOption(),
      kubeconfigOption(),
      handlersOption(),
      projectOption(),
      new Option("--metrics-port <port>", "where metrics are served on this machine; 0 takes a free port")
        .argParser(port)
        .default(0),
    ],
    run: (options, _, signal) =>
      (require("./dev") as typeof import("./dev")).dev(options as { metricsPort: number }, signal),
  },
  {
    name: "test",
    summary: "run the fixtures of the handlers",
    description:
      "Runs the fixtures of the operators: each handler is asked what its fixtures ask, and must answer exactly what they " +
      "say. No cluster is needed.",
    argument: ["[operators...]", "only these (default: all)"],
    options: [handlersOption(), projectOption(), jsonOption("print a line of JSON for each fixture")],
    run: (options, operators) => (require("./test") as typeof import("./test")).test(operators, options),
  },
  {
    name: "render",
    summary: "print the manifests of a stack, without a cluster",
    description:
      "Prints what pulumi up makes of a stack as YAML, without Pulumi's engine and without a cluster: for review, for " +
      "GitOps, for checks. Refuses what only Pulumi can know (encrypted values, transforms) rather than differ from it.",
    options: [
      stackOption(),
      new Option(
        "--out <folder>",
        "write one file for each object there; what an earlier run left there is removed",
      ),
      platformOption(),
      projectOption(),
      jsonOption("print a JSON list in place of YAML"),
    ],
    run: (options) => (require("./render") as typeof import("./render")).render(options as { stack: string }),
  },
  {
    name: "verdict",
    summary: "say what changes of the CRDs mean for stored objects and clients",
    description:
      "Says what the changes of the operators' CustomResourceDefinitions since a git ref mean for stored objects and for " +
      "clients: each is breaking or safe. The exit code is 3 where one is breaking.",
    argument: ["<ref>", "what to compare with: a branch, a tag or a commit"],
    options: [stackOption(), platformOption(), projectOption(), jsonOption()],
    run: (options, [ref = ""]) =>
      (require("./verdict") as typeof import("./verdict")).verdict(ref, options as { stack: string }),
  },
];

const HELP = `
argosy <command> --help names the options of a command.

Exit codes: 0 it is done, 1 it failed, 2 the arguments are wrong, 3 something would change or break.`;

/**
 * The command `argosy`. What goes wrong is printed.
 * @returns the exit code
 */
export function main(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args[0] === "help" && args[1] ? [args[1], "--help"] : args;
  const entry = COMMANDS.find(({ name }) => name === first);
  return entry ? runCommand(commandLineOf(entry), rest) : runCommand(overview(), args);
}

function commandLineOf({ name, description, argument, options, run }: Entry): CommandLine {
  const command = new Command(`argosy ${name}`).description(description);
  if (argument) command.argument(...argument);
  for (const option of options) command.addOption(option);
  const action = (signal: AbortSignal) => {
    // A program may be TypeScript.
    require("tsx/cjs");
    return run(command.opts(), command.args, signal);
  };
  return { command, run: action };
}

/** What there is: for help, and for what is no command. */
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
