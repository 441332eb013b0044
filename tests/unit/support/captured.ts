/** What a function returned, and what it printed. */
export interface Captured<Result> {
  readonly result: Result;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs something in this process and keeps what it prints. */
export async function captured<Result>(run: () => Promise<Result>): Promise<Captured<Result>> {
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
    return { result: await run(), ...texts };
  } finally {
    for (const [index, name] of names.entries()) {
      process[name].write = originals[index] as typeof process.stdout.write;
    }
  }
}
