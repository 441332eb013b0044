/** Tells on standard error how far a command is: standard output is for what it gives. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
