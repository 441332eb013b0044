import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { imageFiles } from "../../components/manifests/operator/handlerFiles";
import { FUNCTION_LOOPS } from "../../definition/handlerProgram";
import type { HandlerProcess, HandlerProcessListener, HandlerTransport, Operator } from "../../runtime/cli";
import { ChildProcessTransport, unstarted } from "../handler/childProcessTransport";
import type { ContainerEngine } from "./engine";
import { containerCommand } from "./runArguments";
import type { ContainerSession } from "./session";

/** @see ImageTransport */
export interface ImageTransportOptions {
  readonly operator: Operator;
  readonly engine: ContainerEngine;
  readonly session: ContainerSession;
  /** A folder that no other user may open. */
  readonly scratch: string;
  /** The handler's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the handler's account. @default no account */
  readonly account?: string | undefined;
  readonly onHostNetwork: boolean;
}

/** The same modes as in a volume of a ConfigMap: anyone who can open the folder may read and run its files. */
const MODE = 0o555;

/**
 * Runs each process of a handler in a container of its image, by an engine's program. That program is a child process whose
 * streams are the container's. The container gets the files that a pod would get at that time.
 */
export class ImageTransport implements HandlerTransport {
  private readonly loops: string;

  constructor(private readonly options: ImageTransportOptions) {
    this.loops = mkdtempSync(path.join(options.scratch, "engine-"));
    for (const file of Object.values(FUNCTION_LOOPS)) {
      copyFileSync(path.join(LOOPS_FOLDER, file), path.join(this.loops, file));
      chmodSync(path.join(this.loops, file), MODE);
    }
    chmodSync(this.loops, MODE);
  }

  start(listener: HandlerProcessListener): HandlerProcess {
    const { operator, session, account, onHostNetwork } = this.options;
    let handler: string;
    try {
      handler = this.filesNow();
    } catch (error) {
      return unstarted(listener, error as Error);
    }
    const name = session.nextName(operator.name);
    const { args, env } = containerCommand({
      operator,
      name,
      labels: session.labels,
      sources: { handler, engine: this.loops, account },
      env: this.options.env,
      onHostNetwork,
    });
    const transport = new ChildProcessTransport({
      command: [this.options.engine.name, ...args],
      folder: this.options.scratch,
      env: { ...engineVariables(), ...env },
    });
    const inner = transport.start({
      output: (chunk) => listener.output(chunk),
      log: (chunk) => listener.log(chunk),
      exited: (exit) => {
        removeFolder(handler);
        listener.exited(exit);
      },
    });
    return {
      write: (text) => inner.write(text),
      end: () => inner.end(),
      kill: () => {
        // If the engine's program is killed, the container goes on running.
        session.remove(name);
        inner.kill();
      },
    };
  }

  /** Creates a new folder with the author's files. A running process keeps its own folder. */
  private filesNow(): string {
    const { operator, scratch } = this.options;
    const files = imageFiles(operator);
    const root = mkdtempSync(path.join(scratch, "handler-"));
    for (const { path: file, content } of files) {
      const target = path.join(root, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, content);
      chmodSync(target, MODE);
    }
    // The folders in between are created with the umask, which may exclude others.
    for (const { path: file } of files)
      for (let folder = path.dirname(file); folder !== "."; folder = path.dirname(folder))
        chmodSync(path.join(root, folder), 0o755);
    chmodSync(root, 0o755);
    return root;
  }
}

/** The variables of our environment that the engine's program reads: where its server is, and how to log in. */
function engineVariables(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      /^(DOCKER|CONTAINER|CONTAINERS|XDG|SSH_AUTH|REGISTRY|DBUS|STORAGE)_/.test(entry[0]),
  );
  return Object.fromEntries(entries);
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
