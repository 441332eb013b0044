/** What a function returned, and what it printed. */
export interface Captured<Result> {
  readonly result: Result;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command says of a handler that takes long, as each does on a slow machine. */
const WAITS = /^.*: waiting for the handler's answer, for at most .*\n/gm;

/** What was printed on standard error, except what a slow machine adds. */
export function withoutWaits(stderr: string): string {
  return stderr.replaceAll(WAITS, "");
}

/** Runs something in this process and keeps what it prints. @param keepsWaits whether also what a slow machine adds */
export async function captured<Result>(
  run: () => Promise<Result>,
  { keepsWaits = false } = {},
): Promise<Captured<Result>> {
  const texts = { stdout: "", stderr: "" };
  const names = ["stdout", "stderr"] as const;
  const originals = names.map((name) => process[name].write);
  for (const name of names) {
    process[name].write = (text: string | Uint8Array) => {
      texts[name] += text;
      return true;
    };
  }
  try {
    const result = await run();
    return { result, stdout: texts.stdout, stderr: keepsWaits ? texts.stderr : withoutWaits(texts.stderr) };
  } finally {
    for (const [index, name] of names.entries()) {
      process[name].write = originals[index] as typeof process.stdout.write;
    }
  }
}
