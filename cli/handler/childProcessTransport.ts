import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import type { Writable } from "node:stream";
import { type HandlerProgram, LOOP_DESCRIPTORS } from "../../definition/handlerProgram";
import {
  DEAF,
  DRAIN_MS,
  type HandlerExit,
  type HandlerProcess,
  type HandlerProcessListener,
  type HandlerTransport,
} from "../../runtime/cli";

/** Which program to start, and where. */
export interface ChildProcessOptions {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** See {@link HandlerProgram}. @default false */
  readonly isFunction?: HandlerProgram["isFunction"];
  /** The working directory: the operator's folder. */
  readonly folder: string;
  /** The operator's own environment variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The variables of our environment that a handler gets: enough to find its interpreter. It gets no credentials and no kubeconfigs
 * of the author's shell, because it would not have them in a cluster either.
 */
const PASSED_ON = [
  "PATH",
  "HOME",
  "LANG",
  "LC_ALL",
  "TMPDIR",
  "TZ",
  "SystemRoot",
  "PYENV_ROOT",
  "PYENV_VERSION",
];

/** Runs handlers as child processes, each the leader of a process group of its own. */
export class ChildProcessTransport implements HandlerTransport {
  constructor(private readonly options: ChildProcessOptions) {}

  start(listener: HandlerProcessListener): HandlerProcess {
    const { isFunction = false } = this.options;
    const answersOn = isFunction ? LOOP_DESCRIPTORS.answers : 1;
    let child: ChildProcess;
    try {
      child = this.spawn();
    } catch (error) {
      return unstarted(listener, error as Error);
    }
    const exited = once((exit: HandlerExit) => {
      killGroup(child.pid);
      // A process that has left the group may hold the other ends for ever, and an open pipe keeps this program from its end.
      for (const stream of child.stdio ?? []) stream?.destroy();
      listener.exited(exit);
    });
    child.on("error", (error) => {
      // Node blames the program if the folder does not exist.
      const { folder } = this.options;
      const startError = existsSync(folder) ? error : new Error(`its folder ${folder} does not exist`);
      exited({ code: null, signal: null, startError });
    });
    for (const descriptor of [1, 2, 3] as const) {
      // Without a free file descriptor there are no pipes, although the types say otherwise. The error above reports that.
      child.stdio?.[descriptor]?.on("data", (chunk: Buffer) => {
        if (descriptor === answersOn) listener.output(chunk);
        else listener.log(chunk);
      });
    }
    const input = (isFunction ? child.stdio?.[LOOP_DESCRIPTORS.requests] : child.stdin) as
      | Writable
      | null
      | undefined;
    // The process reads no more, perhaps because it ends.
    input?.on("error", () => setTimeout(() => exited(DEAF), DRAIN_MS).unref());
    child.on("exit", (code, signal) => setTimeout(() => exited({ code, signal }), DRAIN_MS).unref());
    child.on("close", (code, signal) => exited({ code, signal }));
    return {
      write: (text) => {
        if (input?.writable) input.write(text);
      },
      end: () => input?.end(),
      kill: () => killGroup(child.pid),
    };
  }

  /** @throws Error if the system refuses it at once: an environment that is too large, or no memory */
  private spawn(): ChildProcess {
    const { command, isFunction = false, folder, env } = this.options;
    const [program = "", ...args] = command;
    return spawn(program, args, {
      cwd: folder,
      env: { ...inheritedEnvironment(), ...env },
      stdio: isFunction ? ["ignore", "pipe", "pipe", "pipe", "pipe"] : ["pipe", "pipe", "pipe"],
      // A group of its own, so that a kill reaches the processes that the handler has started.
      detached: true,
    });
  }
}

/** A kubeconfig without credentials. If KUBECONFIG is not set, Kubernetes' clients take the author's own, in HOME. */
const NO_KUBECONFIG = { KUBECONFIG: devNull };

function inheritedEnvironment(): Record<string, string> {
  const entries = PASSED_ON.map((name) => [name, process.env[name]] as const);
  const inherited = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...NO_KUBECONFIG, ...Object.fromEntries(inherited) };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}

function once<T>(action: (value: T) => void): (value: T) => void {
  let done = false;
  return (value) => {
    if (done) return;
    done = true;
    action(value);
  };
}

/** A process that could not be started, as its listener soon learns. */
export function unstarted(listener: HandlerProcessListener, startError: Error): HandlerProcess {
  setImmediate(() => listener.exited({ code: null, signal: null, startError }));
  return { write: () => {}, end: () => {}, kill: () => {} };
}
