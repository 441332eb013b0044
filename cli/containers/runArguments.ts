import path from "node:path";
import { POD_USER } from "../../components/manifests/pods";
import { languageOf, programOf, workingFolderOf } from "../../definition/handlerProgram";
import { type Operator, POD_LAYOUT } from "../../runtime/cli";

/** The folders of one container on this machine. */
export interface ContainerSources {
  /** The author's files, in the form that a pod gets. */
  readonly handler: string;
  /** The loops around functions. */
  readonly engine: string;
  /** The files of the handler's account. @default no account */
  readonly account?: string | undefined;
}

/** One container of a handler. */
export interface HandlerContainer {
  readonly operator: Pick<Operator, "handler" | "include" | "folder">;
  /** Its name, which no other container has. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly sources: ContainerSources;
  /** The handler's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether it needs the network of this machine, because the API server listens on 127.0.0.1. */
  readonly onHostNetwork: boolean;
}

/** How the engine is started: its arguments, and variables of its environment. */
export interface EngineCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Variables that the engine's own program reads. A handler's variables must not change them. */
const OF_ENGINE =
  /^(PATH|HOME|USER|LANG|LC_.*|TMPDIR|.*_proxy|(DOCKER|CONTAINER|CONTAINERS|BUILDAH|PODMAN|XDG|SSH|REGISTRY|DBUS|STORAGE|LD)_.*)$/i;

/**
 * How an engine runs a handler as the pod does: with its files and the loops read-only at the same paths, as the same user, with
 * no writable folder but /tmp, and without capabilities. The handler's input and answers are the container's standard streams.
 */
export function containerCommand(container: HandlerContainer): EngineCommand {
  const { operator, name, labels, sources, onHostNetwork } = container;
  const [program = "", ...rest] = programInImage(operator);
  const environment = passedOn({ HOME: "/tmp", ...container.env });
  return {
    args: [
      ...["run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name],
      ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
      ...["--user", `${POD_USER}:${POD_USER}`, "--read-only", "--tmpfs", "/tmp:rw,exec,mode=1777"],
      ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
      // With SELinux, the container could not read any file of this machine.
      ...["--security-opt", "label=disable"],
      ...mount(sources.handler, POD_LAYOUT.handler),
      ...mount(sources.engine, POD_LAYOUT.engine),
      ...(sources.account === undefined ? [] : mount(sources.account, POD_LAYOUT.serviceAccount)),
      ...["--workdir", path.posix.join(POD_LAYOUT.handler, workingFolderOf(operator))],
      ...(onHostNetwork ? ["--network", "host"] : []),
      ...environment.args,
      ...["--entrypoint", program, operator.handler.image, ...rest],
    ],
    env: environment.env,
  };
}

/**
 * Makes descriptor 3 the standard output, standard output the log, descriptor 4 the standard input, and standard input empty. The
 * rest is the same command that the pod's shell starts.
 */
const PYTHON_ANSWERS =
  "import os, sys; os.dup2(0, 4); os.dup2(os.open(os.devnull, os.O_RDONLY), 0); os.dup2(1, 3); os.dup2(2, 1); os.execvp(sys.argv[1], sys.argv[1:])";
/** The same for Node, which cannot change its own descriptors. */
const NODE_ANSWERS =
  'require("node:child_process").spawn(process.execPath, process.argv.slice(2), { stdio: ["ignore", 2, 2, 1, 0] }).on("exit", (code) => process.exit(code ?? 1))';

/** An engine passes on only the standard descriptors, and an image may have no shell to redirect them. */
function programInImage(operator: HandlerContainer["operator"]): readonly string[] {
  const { command, isFunction } = programOf(operator, POD_LAYOUT.engine);
  if (!isFunction || "command" in operator.handler) return command;
  const [program = "", ...args] = command;
  return languageOf(operator.handler.function) === "python"
    ? [program, "-c", PYTHON_ANSWERS, program, ...args]
    : // Node takes the first word after the code for its own where it begins with a dash.
      [program, "-e", NODE_ANSWERS, "--", program, ...args];
}

/**
 * Values may be secret, and anyone can see the words of a command. So the engine takes values from its own environment, by
 * name. Only variables that would change the engine itself are given as words.
 */
function passedOn(env: Readonly<Record<string, string>>): EngineCommand {
  const entries = Object.entries(env);
  return {
    args: entries.flatMap(([name, value]) => ["--env", OF_ENGINE.test(name) ? `${name}=${value}` : name]),
    env: Object.fromEntries(entries.filter(([name]) => !OF_ENGINE.test(name))),
  };
}

/** The value is a line of CSV. */
function mount(source: string, target: string): string[] {
  const field = /[",]/.test(source) ? `"source=${source.replaceAll('"', '""')}"` : `source=${source}`;
  return ["--mount", `type=bind,${field},target=${target},readonly`];
}
