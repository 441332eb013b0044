import { Option } from "commander";
import {
  clusterOptions,
  jsonOption,
  namespaceOption,
  operatorsOptions,
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
    summary: "make a program with an operator in an empty folder",
    description:
      "Makes a Pulumi program in TypeScript in an empty folder: a small operator with its fixture, the stack dev, and a " +
      "workflow for GitHub that tests, previews and deploys. Nothing is installed or deployed.",
    argument: ["[folder]", "where to make the program (default: here)"],
    options: [
      new Option("--name <project>", "the name of the Pulumi project (default: that of the folder)"),
      new Option("--force", "also in a folder that is not empty; what is there stays as it is"),
    ],
    run: (options, [folder]) => (require("../init") as typeof import("../init")).init(folder, options),
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
      (require("../new") as typeof import("../new")).newOperator(args, options as { in: string }),
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
    run: (options, args) => (require("../add") as typeof import("../add")).add(args, options),
  },
  {
    name: "start",
    summary: "play the life of a custom resource on this machine",
    description:
      "Plays the life of a Memcached with the real engine and its real handler, on a Kubernetes control plane of its " +
      "own: created, scaled, healed, refused, broken, mended, deleted. Fails where a step does not hold.",
    options: [...clusterOptions(), jsonOption("print a line of JSON for each step")],
    run: (options, _, signal) => (require("../start") as typeof import("../start")).start(options, signal),
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
      (require("../dev") as typeof import("../dev")).dev(
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
      (require("../test") as typeof import("../test")).test(operators, options, signal),
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
    run: (options, operators) => (require("../types") as typeof import("../types")).types(operators, options),
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
      (require("../files") as typeof import("../files")).files(operator, options as { out: string }),
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
    run: (options) =>
      (require("../render") as typeof import("../render")).render(options as { stack: string }),
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
      (require("../verdict") as typeof import("../verdict")).verdict(ref, options as { stack: string }),
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
      (require("../rights") as typeof import("../rights")).rights(operator, options as { stack: string }),
  },
];
