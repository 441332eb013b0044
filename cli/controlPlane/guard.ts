import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { assetPath } from "../../components/assets";

/** How a guarded command is run. */
export interface GuardedOptions {
  /** Working directory. */
  readonly directory: string;
  /** Its whole environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** Receives standard output and standard error. */
  readonly output: Writable;
  /** Kills the command and everything it started. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a command whose whole process group is killed when `signal` aborts and when this process ends for any reason. So no
 * compiler goes on after Ctrl-C.
 *
 * @returns its exit code
 * @throws the signal's reason, after an abort; the error of spawn, if there is no `sh`
 */
export async function runGuarded(
  command: string,
  commandArguments: readonly string[],
  options: GuardedOptions,
): Promise<number> {
  options.signal?.throwIfAborted();
  const child = spawn("sh", [assetPath("guard.sh"), command, ...commandArguments], {
    cwd: options.directory,
    env: options.environment,
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  child.stdin.on("error", () => undefined); // the child ended before us
  child.stdout.pipe(options.output, { end: false });
  child.stderr.pipe(options.output, { end: false });
  const abort = (): void => void child.stdin.end();
  options.signal?.addEventListener("abort", abort, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode) => resolve(exitCode ?? 1));
    });
    options.signal?.throwIfAborted();
    return code;
  } finally {
    options.signal?.removeEventListener("abort", abort);
    options.output.end();
    await finished(options.output);
  }
}
