import path from "node:path";
import { POD_USER } from "../../components/manifests/pods";
import type { Operator } from "../../runtime/definition/definition";
import { languageOf, programOf, workingFolderOf } from "../../runtime/definition/handlerProgram";
import { POD_LAYOUT } from "../../runtime/pod/layout";

/** Where things of one container are on this machine. */
export interface ContainerSources {
  /** The author's files, as a pod gets them. */
  readonly handler: string;
  /** The loops around functions. */
  readonly engine: string;
  /** The files of the handler's account. @default it has none */
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
  /** Whether it needs what listens on this machine alone: an API server on 127.0.0.1. */
  readonly onHostNetwork: boolean;
}

/** How the engine is started: its arguments, and variables of its environment. */
export interface EngineCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Variables that say something to the engine's own program, and are not to be changed for it. */
const OF_ENGINE =
  /^(PATH|HOME|USER|LANG|LC_.*|TMPDIR|.*_proxy|(DOCKER|CONTAINER|CONTAINERS|BUILDAH|PODMAN|XDG|SSH|REGISTRY|DBUS|STORAGE|LD)_.*)$/i;

/**
 * How an engine runs a handler as the pod does: its files and the loops read-only at the same places, the same user, nothing that can
 * be written but /tmp, no capabilities. The handler's input and answers are the container's standard streams.
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
      // Where SELinux is on, nothing of this machine could be read.
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

/** Descriptor 3 is standard output, and standard output is log. The rest is what the pod's shell starts. */
const PYTHON_ANSWERS = "import os, sys; os.dup2(1, 3); os.dup2(2, 1); os.execvp(sys.argv[1], sys.argv[1:])";
/** The same for Node, which cannot change its own descriptors. */
const NODE_ANSWERS =
  'require("node:child_process").spawn(process.execPath, process.argv.slice(2), { stdio: [0, 2, 2, 1] }).on("exit", (code) => process.exit(code ?? 1))';

/** An engine carries no descriptor but the standard ones, and an image may have no shell to turn them. */
function programInImage(operator: HandlerContainer["operator"]): readonly string[] {
  const { command, answersOn } = programOf(operator, POD_LAYOUT.engine);
  if (answersOn === 1 || "command" in operator.handler) return command;
  const [program = "", ...args] = command;
  return languageOf(operator.handler.function) === "python"
    ? [program, "-c", PYTHON_ANSWERS, program, ...args]
    : // Node takes the first word after the code for its own where it begins with a dash.
      [program, "-e", NODE_ANSWERS, "--", program, ...args];
}

/**
 * Values may be secrets, and everybody sees the words of a command: so the engine takes them from its own environment, by name.
 * Only what would change the engine itself is a word.
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
