import { spawn } from "node:child_process";
import path from "node:path";
import { PACKAGE_FOLDER } from "../cli/project";
import { formatDuration } from "../cli/terminal";

/** A development tool out of node_modules. */
export interface Tool {
  /** What it does, for people: "type check". */
  readonly title: string;
  /** Its JavaScript entry, below node_modules. */
  readonly entry: string;
  readonly args: readonly string[];
}

/** How a tool ended. */
export interface ToolResult<Told = unknown> {
  readonly exitCode: number;
  /** What it told us, as tests/reporter.ts does, when it came to its end. */
  readonly told?: Told;
}

/** Runs a check; standard error tells what runs, how it ended and how long it took. Gives its exit code. */
export async function runCheck(tool: Tool): Promise<number> {
  const startedAt = performance.now();
  const { exitCode } = await runTool(tool);
  const outcome = exitCode === 0 ? "passed" : "failed";
  process.stderr.write(`${tool.title} ${outcome} (${formatDuration(performance.now() - startedAt)})\n`);
  return exitCode;
}

/** Runs a tool with this very Node, its output on ours. */
export function runTool<Told>(tool: Tool): Promise<ToolResult<Told>> {
  process.stderr.write(`${tool.title}\n`);
  return runNode<Told>([path.join(PACKAGE_FOLDER, "node_modules", tool.entry), ...tool.args]);
}

/** The package's name means the sources. Not by an option of mocha's: it would start a process of its own between us and it. */
const FROM_SOURCES = "--conditions=@argosy-dev/source";

/** What runs on this long after a tool has told its end is something that it left running. */
const LINGER_MILLISECONDS = 30_000;

/**
 * Runs a script with this very Node, its output on ours. One that has told its end and does not go, by something that
 * it left running, is ended and has failed: nobody should wait for a result that is there. Ctrl-C reaches it by the
 * terminal; we only see to it that we end after it.
 *
 * @param args the script and its arguments
 * @param lingerMilliseconds how long it may take to go. @default half a minute
 */
export function runNode<Told>(
  args: readonly string[],
  lingerMilliseconds: number = LINGER_MILLISECONDS,
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
        process.stderr.write("it has come to its end and left something running: ended\n");
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
