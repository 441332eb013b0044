import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Progress } from "./peer";

/** How {@link runCommand} runs a program. */
export interface CommandOptions {
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Added to the benchmark's own environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const REPORT_EVERY_MS = 15_000;

/**
 * Runs a program to its end.
 * @throws Error with the program's own words if it fails or is not there
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

/** Tells of a long step at once and every 15 s until it ends. */
export async function tellWhile(progress: Progress, line: string, step: () => Promise<void>): Promise<void> {
  const startedAt = Date.now();
  progress(line);
  const tell = () => progress(`${line}: ${Math.round((Date.now() - startedAt) / 1000)} s so far`);
  const timer = setInterval(tell, REPORT_EVERY_MS);
  try {
    await step();
  } finally {
    clearInterval(timer);
  }
}
