import { Option } from "commander";
import { checkNames, checkObjectNames } from "../objectName";
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

/** The options of commands that preview changes. */
const previewOptions = () => [
  new Option("--details", "print a line for each field that would change"),
  new Option("--with-secrets", "give the handlers the values of Secrets; they are never shown"),
  new Option("--installation <name>", "the installation, if an operator is deployed more than once"),
  namespaceOption(
    "only this namespace; for a single object, its namespace (default: all namespaces; for an object, that of the context)",
  ),
  ...operatorsOptions(),
  ...clusterOptions(),
  jsonOption("print a line of JSON for each object"),
];

/** Commands that work with a cluster. */
export const CLUSTER_COMMANDS: readonly Entry[] = [
  {
    name: "diff",
    summary: "show what the handlers of this working tree would change for live objects",
    description:
      "Asks the handlers of this folder about every live object of their operators, and tries each returned child as " +
      "a server-side dry run. Nothing is written. The exit code is 3 if something would change. Handlers get the field " +
      "dryRun, and fakes instead of the values of Secrets. Operators with rules or secretEnv are left out unless they are " +
      "named.",
    argument: ["[names...]", "operators, or objects as KIND/NAME (default: all operators)"],
    check: checkNames,
    options: previewOptions(),
    run: (options, names) => (require("../diff") as typeof import("../diff")).diff(names, options),
  },
  {
    name: "try",
    summary: "show what the handler of this working tree would do for an object in a file",
    description:
      "Asks the handler of this folder about a new or changed object in a file, like argosy diff does about live objects. " +
      "Nothing is written. The exit code is 3 if something would change.",
    options: [
      new Option("-f, --file <file>", "a YAML file with the objects").makeOptionMandatory(),
      ...previewOptions(),
    ],
    run: (options) => (require("../try") as typeof import("../try")).tryFile(options as { file: string }),
  },
  {
    name: "record",
    summary: "write a live object as a fixture of its handler",
    description:
      "Writes a fixture from a live object: the request contains the object, its children and the objects that it uses, and the " +
      "expectation is the answer of this folder's handler. Fakes replace the values of Secrets. The exit code is 1 if the " +
      "fixture does not pass.",
    argument: ["[object]", "KIND/NAME, for example memcached/sessions"],
    check: checkObjectNames,
    options: [
      new Option("--run <run>", "a recorded run instead of an object, by its name in argosy runs"),
      new Option(
        "--out <file>",
        "the file to write (default: fixtures/<name>.yaml in the operator's folder)",
      ),
      new Option("--force", "overwrite an existing file"),
      new Option("--installation <name>", "the installation, if an operator is deployed more than once"),
      namespaceOption(),
      ...operatorsOptions(),
      ...clusterOptions(),
      jsonOption("print a line of JSON"),
    ],
    run: (options, [object]) => (require("../record") as typeof import("../record")).record(object, options),
  },
  {
    name: "doctor",
    summary: "find problems on this machine and in the cluster, with remedies",
    description:
      "Checks this machine, the program's operators and the cluster of the kubeconfig: missing parts, operators without a " +
      "leader, and deletions that are held up. Each problem comes with a remedy. The exit code is 3 if there is a problem.",
    options: [
      ...operatorsOptions(),
      ...clusterOptions(),
      jsonOption("print a line of JSON for each finding"),
    ],
    run: (options) => (require("../doctor") as typeof import("../doctor")).doctor(options),
  },
  {
    name: "errors",
    summary: "explain an error code: what happened, where to look and what to do",
    description:
      "Explains a code, such as the reason of a Ready condition or of a Warning Event: what happened, where to look and " +
      "what to do. Without a code, it lists all codes.",
    argument: ["[code]", "for example HandlerCrashed (default: all)"],
    options: [jsonOption("print a line of JSON for each code")],
    run: (options, [code]) => (require("../errors") as typeof import("../errors")).errors(code, options),
  },
  {
    name: "explain",
    summary: "explain why an object is not Ready, or what holds up its deletion",
    description:
      "Explains why an object in a cluster is not Ready: since when, which attempt is next, the end of the handler's log " +
      "with file and line, and the runs of the object. Or explains what holds up its deletion. It also says what to do. " +
      "The exit code is 3 if the object is not Ready.",
    argument: ["<object>", "KIND/NAME, for example memcached/sessions"],
    check: checkObjectNames,
    options: objectOptions(),
    run: (options, [object = ""]) =>
      (require("../explain") as typeof import("../explain")).explain(object, options),
  },
  {
    name: "runs",
    summary: "list the runs of an operator or of an object",
    description:
      "Lists the recorded runs of a cluster, the newest first: those of all operators, of one operator, or of one object.",
    argument: ["[of]", "an operator's name, or KIND/NAME (default: all)"],
    check: checkNames,
    options: [
      new Option("--failed", "only failed runs"),
      new Option("--log", "show the end of the handler's standard error for each run"),
      new Option("--limit <number>", "the most runs to list").argParser(positiveInteger).default(20),
      ...objectOptions("print a line of JSON for each run"),
    ],
    run: (options, [of]) =>
      (require("../runs") as typeof import("../runs")).runs(of, options as { limit: number }),
  },
  {
    name: "logs",
    summary: "show the logs of an operator's engine and handler",
    description:
      "Shows the logs of all pods of an operator, from the engine and the handler, in the order of time. For KIND/NAME it " +
      "shows only the engine's lines about this object.",
    argument: ["<of>", "an operator's name, or KIND/NAME"],
    check: checkNames,
    options: [
      new Option("-f, --follow", "follow the logs until Ctrl-C, including those of new pods"),
      new Option("--tail <lines>", "how many of the last lines of each container")
        .argParser(wholeNumber)
        .default(100),
      ...objectOptions("print each line as JSON"),
    ],
    run: (options, [of = ""]) =>
      (require("../logs") as typeof import("../logs")).logs(of, options as { tail: number }),
  },
  {
    name: "replay",
    summary: "submit a recorded run again, or reconcile an object at once",
    description:
      "Submits a recorded run again and waits until it has ended. The object is reconciled in its present state. For " +
      "KIND/NAME it requests a reconcile of the object, which does not need Argo Workflows. The exit code is 1 if the run " +
      "fails.",
    argument: ["<of>", "a run, by its name in argosy runs, or KIND/NAME"],
    check: checkNames,
    options: [
      new Option("--no-wait", "do not wait until the run has ended"),
      new Option("--timeout <seconds>", "how long to wait, in seconds")
        .argParser(positiveInteger)
        .default(120),
      ...objectOptions(),
    ],
    run: (options, [of = ""]) =>
      (require("../replay") as typeof import("../replay")).replay(
        of,
        options as { wait: boolean; timeout: number },
      ),
  },
  {
    name: "pause",
    summary: "stop reconciling objects until they are resumed",
    description:
      "Pauses objects: until argosy resume, their operator does nothing for them, not even if they are deleted.",
    argument: ["<objects...>", "KIND/NAME, for example memcached/sessions"],
    check: checkObjectNames,
    options: objectOptions(),
    run: (options, objects) => (require("../pause") as typeof import("../pause")).pause(objects, options),
  },
  {
    name: "resume",
    summary: "reconcile paused objects again",
    description: "Resumes paused objects: their operator reconciles them at once.",
    argument: ["<objects...>", "KIND/NAME, for example memcached/sessions"],
    check: checkObjectNames,
    options: objectOptions(),
    run: (options, objects) => (require("../pause") as typeof import("../pause")).resume(objects, options),
  },
];
