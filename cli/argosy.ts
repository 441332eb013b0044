import { Command, Option, type OptionValues } from "commander";
import { version } from "../package.json";
import { type CommandLine, runCommand } from "./command";
import { EXIT_CODES } from "./commandError";
import {
  clusterOptions,
  jsonOption,
  namespaceOption,
  objectOptions,
  operatorsOptions,
  platformOption,
  port,
  positiveInteger,
  projectOption,
  stackOperatorsOptions,
  stackOption,
  stackOptions,
  wholeNumber,
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
  readonly furtherArgument?: readonly [name: string, description: string];
  readonly options: readonly Option[];
  run(options: OptionValues, args: readonly string[], signal: AbortSignal): Promise<number>;
}

/** The options of what shows changes without making them. */
const previewOptions = () => [
  new Option("--details", "a line for each field that would change"),
  new Option("--with-secrets", "give the handlers the values of Secrets; they are never shown"),
  new Option("--installation <name>", "which one, if an operator is deployed more than once"),
  namespaceOption("only this namespace; of one object, its namespace (default: all; that of the context)"),
  ...operatorsOptions(),
  ...clusterOptions(),
  jsonOption("print a line of JSON for each object"),
];

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
    name: "new",
    summary: "write an operator to begin with",
    description:
      "Writes an operator that works into handlers/: its definition, its CRD with these fields in spec, a handler that answers " +
      "a ConfigMap, and a fixture that holds. Nothing is overwritten.",
    argument: ["<kind>", "its group and the kind itself, for example shop.example.com/Cache"],
    furtherArgument: [
      "[fields...]",
      "of spec, for example size:int plan:string? (string, int, number, bool, list, map; ? where it may be left out)",
    ],
    options: [
      new Option("--in <form>", "python, typescript, javascript, bash, or program for any language").default(
        "python",
      ),
      new Option("--name <operator>", "the operator's name (default: the kind in small letters)"),
      new Option("--cluster", "objects of this kind are in no namespace"),
      ...operatorsOptions(),
    ],
    run: (options, args) =>
      (require("./new") as typeof import("./new")).newOperator(args, options as { in: string }),
  },
  {
    name: "add",
    summary: "add a kind of children, a used object, a schedule or an event to an operator",
    description:
      "Adds to an operator's operator.yaml, and says which rights its account gains. Comments stay, and nothing is written that " +
      "would not be in order. argosy add child shop apps/v1/Deployment; argosy add uses shop credentials v1/Secret " +
      'spec.secret; argosy add schedule shop nightly "0 3 * * *"; argosy add event shop order-placed.',
    argument: ["<what>", "child, uses, schedule or event"],
    furtherArgument: ["<words...>", "the operator's name, and what is to be added"],
    options: [
      new Option("--update <how>", "of a child: apply, recreate or never"),
      new Option("--namespace <name>", "of what is used, or of an event's objects: a namespace"),
      new Option("--time-zone <name>", "of a schedule, for example Europe/Berlin (default: UTC)"),
      ...operatorsOptions(),
    ],
    run: (options, args) => (require("./add") as typeof import("./add")).add(args, options),
  },
  {
    name: "start",
    summary: "play the life of a custom resource on this machine",
    description:
      "Plays the life of a Memcached with the real engine and its real handler, on a Kubernetes control plane of its " +
      "own: created, scaled, healed, refused, broken, mended, deleted. Fails where a step does not hold.",
    options: [...clusterOptions(), jsonOption("print a line of JSON for each step")],
    run: (options, _, signal) => (require("./start") as typeof import("./start")).start(options, signal),
  },
  {
    name: "dev",
    summary: "run the operators on this machine, and take every edit in",
    description:
      "Runs the operators of handlers/ on a Kubernetes control plane of their own until Ctrl-C: a line for each " +
      "reconcile, and every edit of a handler or a definition is taken in as it is saved. On a terminal, a table of all " +
      "objects stands below the lines.",
    options: [
      ...clusterOptions(),
      ...stackOperatorsOptions(),
      new Option("--no-table", "no table of the objects below the lines"),
      new Option("--keep", "keep the control plane's objects for the next start with this option"),
      new Option("--fresh", "with --keep: throw away what was kept"),
      new Option("--in-image", "run every handler in its image, by Docker or Podman, as a pod would"),
      new Option(
        "--debug <object>",
        "stop in the handler of KIND/NAME with your debugger; other objects go on",
      ),
      new Option("--debug-port <port>", "where the debugger listens on this machine; 0 takes the usual port")
        .argParser(port)
        .default(0),
      namespaceOption("the namespace of the object to debug (default: that of the kubeconfig's context)"),
      new Option("--metrics-port <port>", "where metrics are served on this machine; 0 takes a free port")
        .argParser(port)
        .default(0),
    ],
    run: (options, _, signal) =>
      (require("./dev") as typeof import("./dev")).dev(
        options as { metricsPort: number; debugPort: number; table: boolean },
        signal,
      ),
  },
  {
    name: "test",
    summary: "run the fixtures of the handlers",
    description:
      "Runs the fixtures of the operators: each handler is asked what its fixtures ask, and must answer what they " +
      "say. No cluster is needed.",
    argument: ["[operators...]", "only these (default: all)"],
    options: [
      new Option("--watch", "again after each edit, until Ctrl-C"),
      new Option(
        "--update",
        "write what is answered into the fixtures, where they expect otherwise or nothing",
      ),
      ...stackOperatorsOptions(),
      jsonOption("print a line of JSON for each fixture"),
    ],
    run: (options, operators, signal) =>
      (require("./test") as typeof import("./test")).test(operators, options, signal),
  },
  {
    name: "types",
    summary: "write the types of the custom resources for their handlers",
    description:
      "Writes the types of each operator's custom resource, from its CRD, beside its handler: <kind>_types.py with TypedDicts " +
      "for Python, <kind>-types.d.ts for TypeScript and JavaScript.",
    argument: ["[operators...]", "only these (default: all)"],
    options: [
      new Option("--check", "write nothing, and fail where a file is missing or not current"),
      new Option("--in <language>", "python or typescript, for handlers that are programs"),
      ...operatorsOptions(),
    ],
    run: (options, operators) => (require("./types") as typeof import("./types")).types(operators, options),
  },
  {
    name: "files",
    summary: "write the files of a handler, for an image of them",
    description:
      "Writes the files of an operator as its handler finds them in a cluster: a function in JavaScript or TypeScript as " +
      "its bundle, with the folders that it includes. An image of them is what files: { image: ... } names.",
    argument: ["<operator>", "whose files"],
    options: [
      new Option(
        "--out <folder>",
        "the folder to write to, which is made, or is empty",
      ).makeOptionMandatory(),
      ...operatorsOptions(),
    ],
    run: (options, [operator = ""]) =>
      (require("./files") as typeof import("./files")).files(operator, options as { out: string }),
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
    options: [...stackOptions(), jsonOption()],
    run: (options, [ref = ""]) =>
      (require("./verdict") as typeof import("./verdict")).verdict(ref, options as { stack: string }),
  },
  {
    name: "rights",
    summary: "list what every account may do, and what a change adds to it",
    description:
      "Lists what the accounts of a program, or of one operator, may do, from the manifests that pulumi up would make. With " +
      "--against, what of that was gained or lost since a git ref. The exit code is 3 where a right is gained.",
    argument: ["[operator]", "only its accounts (default: all)"],
    options: [
      new Option("--against <ref>", "what to compare with: a branch, a tag or a commit"),
      ...stackOptions(),
      jsonOption(),
    ],
    run: (options, [operator]) =>
      (require("./rights") as typeof import("./rights")).rights(operator, options as { stack: string }),
  },
  {
    name: "diff",
    summary: "say what this working tree's handlers would change for live objects",
    description:
      "Asks the handlers of this folder about every live object of their operators, and tries their answers child by child as " +
      "server-side dry runs: nothing is written. The exit code is 3 if something would change. Handlers are told dryRun, and get " +
      "fakes for the values of Secrets. Operators with rules or secretEnv are left out unless they are named.",
    argument: ["[names...]", "operators, or objects as KIND/NAME (default: all operators)"],
    options: previewOptions(),
    run: (options, names, signal) =>
      (require("./diff") as typeof import("./diff")).diff(names, options, signal),
  },
  {
    name: "try",
    summary: "say what this working tree's handler would make of an object in a file",
    description:
      "Asks the handler of this folder about an object in a file, new or changed, as argosy diff does about live ones: nothing is " +
      "written. The exit code is 3 if something would change.",
    options: [
      new Option("-f, --file <file>", "the objects, in YAML").makeOptionMandatory(),
      ...previewOptions(),
    ],
    run: (options, _, signal) =>
      (require("./try") as typeof import("./try")).tryFile(options as { file: string }, signal),
  },
  {
    name: "record",
    summary: "write a live object as a fixture of its handler",
    description:
      "Writes what the handler is asked about a live object (the object, its children, what it uses) as a fixture, with what " +
      "this folder's handler answers as what is expected. Fakes take the place of the values of Secrets. The exit code is 1 " +
      "if the fixture does not hold.",
    argument: ["[object]", "KIND/NAME, for example memcached/sessions"],
    options: [
      new Option("--run <run>", "in place of an object: a recorded run, as argosy runs names it"),
      new Option(
        "--out <file>",
        "the file to write (default: fixtures/<name>.yaml in the operator's folder)",
      ),
      new Option("--force", "overwrite a file that is there"),
      new Option("--installation <name>", "which one, if an operator is deployed more than once"),
      namespaceOption(),
      ...operatorsOptions(),
      ...clusterOptions(),
      jsonOption("print a line of JSON"),
    ],
    run: (options, [object]) => (require("./record") as typeof import("./record")).record(object, options),
  },
  {
    name: "doctor",
    summary: "say what is missing here or in the cluster, and what to do",
    description:
      "Looks at this machine, at the program's operators and at the cluster of the kubeconfig: what is missing, which runners do " +
      "not lead, which deletions are held. With a remedy for each. The exit code is 1 if something is in the way.",
    options: [
      ...operatorsOptions(),
      ...clusterOptions(),
      jsonOption("print a line of JSON for each finding"),
    ],
    run: (options) => (require("./doctor") as typeof import("./doctor")).doctor(options),
  },
  {
    name: "errors",
    summary: "say what an error code means, where to look and what to do",
    description:
      "Says of a code, such as the reason of a Ready condition or of a Warning Event, what happened, where to look and what to " +
      "do. Without a code it lists all of them.",
    argument: ["[code]", "for example HandlerCrashed (default: all)"],
    options: [jsonOption("print a line of JSON for each code")],
    run: (options, [code]) => (require("./errors") as typeof import("./errors")).errors(code, options),
  },
  {
    name: "explain",
    summary: "say why an object is not Ready, or what holds its deletion",
    description:
      "Says why an object in a cluster is not Ready: since when, which attempt is next, the handler's last words with file " +
      "and line, its runs; or what holds its deletion, and by whom. With what to do. The exit code is 1 if it is not Ready.",
    argument: ["<object>", "KIND/NAME, for example memcached/sessions"],
    options: objectOptions(),
    run: (options, [object = ""]) =>
      (require("./explain") as typeof import("./explain")).explain(object, options),
  },
  {
    name: "runs",
    summary: "list the runs of an operator or of an object",
    description:
      "Lists the recorded runs of a cluster, the newest first: of all operators, of one, or of one object.",
    argument: ["[of]", "an operator's name, or KIND/NAME (default: all)"],
    options: [
      new Option("--failed", "only those that failed"),
      new Option("--log", "with the end of what the handler wrote to standard error"),
      new Option("--limit <number>", "how many").argParser(positiveInteger).default(20),
      ...objectOptions("print a line of JSON for each run"),
    ],
    run: (options, [of]) =>
      (require("./runs") as typeof import("./runs")).runs(of, options as { limit: number }),
  },
  {
    name: "logs",
    summary: "show what an operator's engine and handler wrote",
    description:
      "Shows the logs of all pods of an operator in the order of their times, the engine's and the handler's; or what the " +
      "engine wrote about one object.",
    argument: ["<of>", "an operator's name, or KIND/NAME"],
    options: [
      new Option("-f, --follow", "go on until Ctrl-C, with the pods of a roll-out too"),
      new Option("--tail <lines>", "how many lines of each container").argParser(wholeNumber).default(100),
      ...objectOptions("print a line of JSON for each line"),
    ],
    run: (options, [of = ""], signal) =>
      (require("./logs") as typeof import("./logs")).logs(of, options as { tail: number }, signal),
  },
  {
    name: "replay",
    summary: "submit a recorded run again, or have an object reconciled at once",
    description:
      "Submits a recorded run again and waits for its end: its object is reconciled as it is now. For KIND/NAME it asks for " +
      "a reconcile of the object, which needs no Argo Workflows. The exit code is 1 if the run fails.",
    argument: ["<of>", "a run, as argosy runs names it, or KIND/NAME"],
    options: [
      new Option("--no-wait", "do not wait for the end of the run"),
      new Option("--timeout <seconds>", "how long to wait").argParser(positiveInteger).default(120),
      ...objectOptions(),
    ],
    run: (options, [of = ""], signal) =>
      (require("./replay") as typeof import("./replay")).replay(
        of,
        options as { wait: boolean; timeout: number },
        signal,
      ),
  },
  {
    name: "pause",
    summary: "leave objects alone until they are resumed",
    description:
      "Pauses objects: nothing is done for them, not even when they are deleted, until argosy resume.",
    argument: ["<objects...>", "KIND/NAME, for example memcached/sessions"],
    options: objectOptions(),
    run: (options, objects) => (require("./pause") as typeof import("./pause")).pause(objects, options),
  },
  {
    name: "resume",
    summary: "look after paused objects again",
    description: "Resumes paused objects: their operator reconciles them at once.",
    argument: ["<objects...>", "KIND/NAME, for example memcached/sessions"],
    options: objectOptions(),
    run: (options, objects) => (require("./pause") as typeof import("./pause")).resume(objects, options),
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
  const asked = args[0] === "help" && args[1] ? args[1] : undefined;
  const [first, ...rest] = asked ? [asked, "--help"] : args;
  const entry = COMMANDS.find(({ name }) => name === first);
  if (entry) return runCommand(commandLineOf(entry), rest);
  return runCommand(overview(), asked ? [asked] : args);
}

function commandLineOf(entry: Entry): CommandLine {
  const { name, description, argument, furtherArgument, options, run } = entry;
  const command = new Command(`argosy ${name}`).description(description);
  if (argument) command.argument(...argument);
  if (furtherArgument) command.argument(...furtherArgument);
  for (const option of options) command.addOption(option);
  return { command, run: (signal) => run(command.opts(), command.args, signal) };
}

/** Every command, as its help describes it: for the documentation. */
export function commands(): readonly { name: string; summary: string; command: Command }[] {
  return COMMANDS.map((entry) => ({
    name: entry.name,
    summary: entry.summary,
    command: commandLineOf(entry).command,
  }));
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
