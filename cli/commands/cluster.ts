import { Option } from "commander";
import {
  clusterOptions,
  jsonOption,
  namespaceOption,
  objectOptions,
  operatorsOptions,
  positiveInteger,
  wholeNumber,
} from "../options";
import type { Entry } from "./entry";

/** The options of commands that show changes without making them. */
const previewOptions = () => [
  new Option("--details", "a line for each field that would change"),
  new Option("--with-secrets", "give the handlers the values of Secrets; they are never shown"),
  new Option("--installation <name>", "which one, if an operator is deployed more than once"),
  namespaceOption("only this namespace; of one object, its namespace (default: all; that of the context)"),
  ...operatorsOptions(),
  ...clusterOptions(),
  jsonOption("print a line of JSON for each object"),
];

/** Commands that look into a cluster. */
export const CLUSTER_COMMANDS: readonly Entry[] = [
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
      (require("../diff") as typeof import("../diff")).diff(names, options, signal),
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
      (require("../try") as typeof import("../try")).tryFile(options as { file: string }, signal),
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
    run: (options, [object]) => (require("../record") as typeof import("../record")).record(object, options),
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
    run: (options) => (require("../doctor") as typeof import("../doctor")).doctor(options),
  },
  {
    name: "errors",
    summary: "say what an error code means, where to look and what to do",
    description:
      "Says of a code, such as the reason of a Ready condition or of a Warning Event, what happened, where to look and what to " +
      "do. Without a code it lists all of them.",
    argument: ["[code]", "for example HandlerCrashed (default: all)"],
    options: [jsonOption("print a line of JSON for each code")],
    run: (options, [code]) => (require("../errors") as typeof import("../errors")).errors(code, options),
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
      (require("../explain") as typeof import("../explain")).explain(object, options),
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
      (require("../runs") as typeof import("../runs")).runs(of, options as { limit: number }),
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
      (require("../logs") as typeof import("../logs")).logs(of, options as { tail: number }, signal),
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
      (require("../replay") as typeof import("../replay")).replay(
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
    run: (options, objects) => (require("../pause") as typeof import("../pause")).pause(objects, options),
  },
  {
    name: "resume",
    summary: "look after paused objects again",
    description: "Resumes paused objects: their operator reconciles them at once.",
    argument: ["<objects...>", "KIND/NAME, for example memcached/sessions"],
    options: objectOptions(),
    run: (options, objects) => (require("../pause") as typeof import("../pause")).resume(objects, options),
  },
];
