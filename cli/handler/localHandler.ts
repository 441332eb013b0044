import { statSync } from "node:fs";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { bundleFunction } from "../../definition/bundleFunction";
import { BUNDLED_FROM_INPUT, languageOf, programOf } from "../../definition/handlerProgram";
import type { HandlerProcess, HandlerProcessListener, HandlerTransport, Operator } from "../../runtime/cli";
import { ChildProcessTransport, unstarted } from "./childProcessTransport";
import { endedAtExit } from "./endedAtExit";

/**
 * Runs an operator's handler as child processes of this one, without its image: a function in JavaScript uses the files that are
 * in its folder when a process starts. No process of the handler outlives this one.
 *
 * @param started changes the command: with a debugger, in a container.
 * @default the command is not changed
 */
export function localHandler(
  operator: Pick<Operator, "handler" | "folder" | "include">,
  env: Readonly<Record<string, string>>,
  started: (command: readonly string[]) => readonly string[] = (command) => command,
): HandlerTransport {
  const { handler, folder } = operator;
  const { command: own, isFunction } = programOf(operator, LOOPS_FOLDER);
  if ("command" in handler || languageOf(handler.function) === "python") {
    return endedAtExit(new ChildProcessTransport({ command: started(own), isFunction, folder, env }));
  }
  const bundled = started([...own, BUNDLED_FROM_INPUT]);
  const transport = new ChildProcessTransport({ command: bundled, isFunction, folder, env });
  return endedAtExit(new BundledFunction(transport, folder, handler.function));
}

/** Bundles a function again when one of its files has changed, and gives the bundle to each process. */
class BundledFunction implements HandlerTransport {
  private bundle: { line: string; inputs: readonly string[]; version: string } | undefined;

  constructor(
    private readonly transport: HandlerTransport,
    private readonly folder: string,
    private readonly file: string,
  ) {}

  start(listener: HandlerProcessListener): HandlerProcess {
    let line: string;
    try {
      line = this.current();
    } catch (error) {
      return unstarted(listener, error as Error);
    }
    const process = this.transport.start(listener);
    process.write(line);
    return process;
  }

  private current(): string {
    if (!this.bundle || versionOf(this.bundle.inputs) !== this.bundle.version) {
      const { code, inputs } = bundleFunction(this.folder, this.file);
      this.bundle = { line: `${JSON.stringify(code)}\n`, inputs, version: versionOf(inputs) };
    }
    return this.bundle.line;
  }
}

/** A version that changes with any of the files. */
function versionOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stats = statSync(file, { throwIfNoEntry: false });
      return `${stats?.mtimeMs} ${stats?.size} ${stats?.ino}`;
    })
    .join();
}
