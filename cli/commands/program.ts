import { Option } from "commander";
import {
  jsonOption,
  namespaceOption,
  operatorsOptions,
  ownClusterOptions,
  platformOption,
  port,
  projectOption,
  stackOperatorsOptions,
  stackOption,
  stackOptions,
} from "../options";
import type { Entry } from "./entry";

/** Commands for authors of operators, and for the program that deploys operators. */
export const PROGRAM_COMMANDS: readonly Entry[] = [
  {
    name: "init",
    summary: "create a program with an operator in an empty folder",
    description:
      "Creates a Pulumi program in TypeScript in an empty folder: a small operator with a fixture, the stack dev, and a " +
      "GitHub workflow that tests, previews and deploys. Nothing is installed or deployed.",
    argument: ["[folder]", "the folder for the program (default: the current one)"],
    options: [
      new Option("--name <project>", "the name of the Pulumi project (default: the name of the folder)"),
      new Option("--force", "also use a folder that is not empty; existing files stay as they are"),
    ],
    run: (options, [folder]) => (require("../init") as typeof import("../init")).init(folder, options),
  },
  {
    name: "new",
    summary: "create a new operator",
    description:
      "Creates a working operator in handlers/: its definition, its CRD with the given fields in spec, a handler that " +
      "returns a ConfigMap, and a fixture that passes. Nothing is overwritten.",
    argument: ["<kind>", "the group and the kind, for example shop.example.com/Cache"],
    furtherArgument: [
      "[fields...]",
      "fields of spec, for example size:int plan:string? (string, int, number, bool, list, map; with ? if the field is " +
        "optional)",
    ],
    options: [
      new Option(
        "--language <name>",
        "the language of the handler: python, typescript, javascript, bash, or program for any language",
      ).default("python"),
      new Option("--name <operator>", "the operator's name (default: the kind in lower case)"),
      new Option("--cluster", "objects of this kind are cluster-scoped"),
      ...operatorsOptions(),
    ],
    run: (options, args) =>
      (require("../new") as typeof import("../new")).newOperator(args, options as { language: string }),
  },
  {
    name: "add",
    summary: "add a kind of child, a used object, a schedule or an event to an operator",
    description:
      "Adds an entry to an operator's operator.yaml, and says which rights the operator's account gains. Comments stay. Nothing " +
      "is written if the definition would not be valid. Examples: argosy add child shop apps/v1/Deployment; argosy add uses shop " +
      'credentials v1/Secret spec.secret; argosy add schedule shop nightly "0 3 * * *"; argosy add event shop order-placed.',
    argument: ["<what>", "child, uses, schedule or event"],
    furtherArgument: ["<words...>", "the operator's name, and the entry to add"],
    options: [
      new Option("--update <how>", "for a child: apply, recreate or never"),
      new Option("--namespace <name>", "for used objects, or for the objects of an event: their namespace"),
      new Option(
        "--time-zone <name>",
        "for a schedule: its time zone, for example Europe/Berlin (default: UTC)",
      ),
      ...operatorsOptions(),
    ],
    run: (options, args) => (require("../add") as typeof import("../add")).add(args, options),
  },
  {
    name: "start",
    summary: "show the life of a custom resource on this machine",
    description:
      "Plays the life of a Memcached object with the real engine and handler, on its own Kubernetes control plane: " +
      "created, scaled, healed, refused, broken, repaired, deleted. The command fails if a step does not go as expected.",
    options: [...ownClusterOptions(), jsonOption("print a line of JSON for each step")],
    runUntil: (options, _, signal) =>
      (require("../start") as typeof import("../start")).start(options, signal),
  },
  {
    name: "dev",
    summary: "run the operators on this machine, and apply every edit",
    description:
      "Runs the operators of handlers/ on their own Kubernetes control plane until Ctrl-C. It prints a line for each " +
      "reconcile, and applies every edit in handlers/ as soon as it is saved. On a terminal, it shows a table of all " +
      "objects below these lines.",
    options: [
      ...ownClusterOptions(),
      ...stackOperatorsOptions(),
      new Option("--no-table", "do not show the table of objects"),
      new Option("--keep", "keep the control plane's objects for the next start with this option"),
      new Option("--fresh", "with --keep: delete the objects that were kept before"),
      new Option("--in-image", "run every handler in its image with Docker or Podman, as in a pod"),
      new Option(
        "--debug <object>",
        "run the handler of KIND/NAME under your debugger; all other objects go on",
      ),
      new Option("--debug-port <port>", "the port of the debugger on this machine; 0 means the usual port")
        .argParser(port)
        .default(0),
      namespaceOption("the namespace of the object to debug (default: that of the kubeconfig's context)"),
      new Option("--metrics-port <port>", "the port of the metrics on this machine; 0 means any free port")
        .argParser(port)
        .default(0),
    ],
    runUntil: (options, _, signal) =>
      (require("../dev") as typeof import("../dev")).dev(
        options as { metricsPort: number; debugPort: number; table: boolean },
        signal,
      ),
  },
  {
    name: "test",
    summary: "run the fixtures of the handlers",
    description:
      "Runs the fixtures of the operators: each handler gets the requests of its fixtures, and must return the expected " +
      "answers. No cluster is needed.",
    argument: ["[operators...]", "only these operators (default: all)"],
    options: [
      new Option("--watch", "run the fixtures again after each edit in handlers/, until Ctrl-C"),
      new Option("--update", "write the answers into the fixtures that expect something else or nothing"),
      ...stackOperatorsOptions(),
      jsonOption("print a line of JSON for each fixture"),
    ],
    run: (options, operators) => (require("../test") as typeof import("../test")).test(operators, options),
  },
  {
    name: "types",
    summary: "write types of the custom resources for their handlers",
    description:
      "Writes types for each operator's custom resource, from its CRD, into a file beside the handler: <kind>_types.py " +
      "with TypedDicts for Python, <kind>-types.d.ts for TypeScript and JavaScript.",
    argument: ["[operators...]", "only these operators (default: all)"],
    options: [
      new Option("--check", "write nothing; the exit code is 3 if a file is missing or outdated"),
      new Option("--language <name>", "the language for handlers that are programs: python or typescript"),
      ...operatorsOptions(),
    ],
    run: (options, operators) => (require("../types") as typeof import("../types")).types(operators, options),
  },
  {
    name: "files",
    summary: "write the files of a handler, to build an image from them",
    description:
      "Writes the files of an operator as its handler finds them in a cluster, with the folders that it includes. A " +
      "function in JavaScript or TypeScript is bundled. Name an image with these files in files: { image: ... }.",
    argument: ["<operator>", "the operator's name"],
    options: [
      new Option(
        "--out <folder>",
        "the folder to write to, which must be new or empty",
      ).makeOptionMandatory(),
      ...operatorsOptions(),
    ],
    run: (options, [operator = ""]) =>
      (require("../files") as typeof import("../files")).files(operator, options as { out: string }),
  },
  {
    name: "render",
    summary: "print the manifests of a stack, without a cluster",
    description:
      "Prints the objects that pulumi up would create for a stack as YAML, without Pulumi's engine and without a cluster: " +
      "for reviews, GitOps and checks. It fails if the result depends on something that only Pulumi has: encrypted values, " +
      "or Pulumi's transforms.",
    options: [
      stackOption(),
      new Option(
        "--out <folder>",
        "write one file for each object to this folder; files of an earlier run are removed",
      ),
      platformOption(),
      projectOption(),
      jsonOption("print one object of kind List in JSON instead of YAML"),
    ],
    run: (options) =>
      (require("../render") as typeof import("../render")).render(options as { stack: string }),
  },
  {
    name: "verdict",
    summary: "say whether changes of the CRDs break stored objects or clients",
    description:
      "Says what the changes of the operators' CustomResourceDefinitions since a git ref mean for stored objects and for " +
      "clients: each change is breaking or safe. The program of the ref is run with the packages that are installed now, " +
      "except for those of the repository itself. The exit code is 3 if a change is breaking.",
    argument: ["<ref>", "the git ref to compare with: a branch, a tag or a commit"],
    options: [...stackOptions(), jsonOption()],
    run: (options, [ref = ""]) =>
      (require("../verdict") as typeof import("../verdict")).verdict(ref, options as { stack: string }),
  },
  {
    name: "rights",
    summary: "list the rights of every account, and how a change affects them",
    description:
      "Lists the rights of the accounts of a program, or of one operator, from the manifests that pulumi up would deploy. " +
      "With --against, it lists the rights that were gained or lost since a git ref, whose program is run with the packages " +
      "that are installed now, except for those of the repository itself. The exit code is 3 if a right was gained.",
    argument: ["[operator]", "only the accounts of this operator (default: all)"],
    options: [
      new Option("--against <ref>", "the git ref to compare with: a branch, a tag or a commit"),
      ...stackOptions(),
      jsonOption(),
    ],
    run: (options, [operator]) =>
      (require("../rights") as typeof import("../rights")).rights(operator, options as { stack: string }),
  },
];
