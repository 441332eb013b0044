import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The options of {@link runCommand}. */
export interface CommandOptions {
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Added to the benchmark's own environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a program to its end.
 * @throws Error with the program's own message if it fails or does not exist
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<void> {
  const { folder, signal, env } = options;
  try {
    await promisify(execFile)(program, args, { cwd: folder, signal, env: { ...process.env, ...env } });
  } catch (error) {
    signal.throwIfAborted();
    const { message, stdout, stderr } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")}: ${stderr?.trim() || stdout?.trim() || message}`);
  }
}
