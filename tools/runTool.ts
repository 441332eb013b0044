import { spawn } from "node:child_process";
import path from "node:path";
import { PACKAGE_FOLDER } from "./packageFolder";

/** A development tool in node_modules. */
export interface Tool {
  /** A description for people: "type check". */
  readonly title: string;
  /** Its JavaScript entry, below node_modules. */
  readonly entry: string;
  readonly args: readonly string[];
  /** Options for Node. @default none */
  readonly nodeOptions?: readonly string[];
}

/** How a tool ended. */
export interface ToolResult<Told = unknown> {
  readonly exitCode: number;
  /** The message that it sent at its end, as tests/reporter.ts does. */
  readonly told?: Told;
}

/** Runs a tool with this Node and the option that makes the package's name mean the sources. The tool writes to our output. */
export function runTool<Told>(tool: Tool): Promise<ToolResult<Told>> {
  process.stderr.write(`${tool.title}\n`);
  const entry = path.join(PACKAGE_FOLDER, "node_modules", tool.entry);
  return runNode<Told>([...process.execArgv, ...(tool.nodeOptions ?? []), entry, ...tool.args]);
}

/**
 * The option that makes the package's name mean the sources. It is not an option of mocha, because mocha would then start another
 * process in between.
 */
const FROM_SOURCES = "--conditions=@argosy-dev/source";

/** If a tool is still running this long after it announced its end, it has left something running. */
const LINGER_MILLISECONDS = 30_000;

/** How {@link runNode} runs a script. */
interface RunNodeOptions {
  /** How long the script may take to exit after it has announced its end. @default half a minute */
  readonly lingerMilliseconds?: number;
}

/**
 * Runs a script with this Node. The script writes to our output. If it has announced its end but does not exit, because it left
 * something running, it is killed and has failed: its result exists, and the caller need not wait longer. The terminal sends Ctrl-C
 * to the script as well. We only make sure that we end after it.
 *
 * @param args the script and its arguments
 */
export function runNode<Told>(
  args: readonly string[],
  { lingerMilliseconds = LINGER_MILLISECONDS }: RunNodeOptions = {},
): Promise<ToolResult<Told>> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [FROM_SOURCES, ...args], {
      cwd: PACKAGE_FOLDER,
      stdio: ["inherit", "inherit", "inherit", "ipc"],
    });
    const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
    process.on("SIGINT", pass).on("SIGTERM", pass);
    let told: Told | undefined;
    let timer: NodeJS.Timeout | undefined;
    child.once("message", (message) => {
      told = message as Told;
      timer = setTimeout(() => {
        process.stderr.write("the script finished but left something running, and was killed\n");
        child.kill("SIGKILL");
      }, lingerMilliseconds);
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      process.off("SIGINT", pass).off("SIGTERM", pass);
      resolve({
        exitCode: code ?? (signal === "SIGINT" ? 130 : 1),
        ...(told !== undefined && { told }),
      });
    });
  });
}
