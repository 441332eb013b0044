import { styleText } from "node:util";
import { clean } from "../../runtime/base/text";

/** The writer that receives the output instead of the streams, if there is one. */
let above: ((text: string) => void) | undefined;

/** Prints a line of a command's result on standard output. */
export function print(line: string): void {
  if (above) above(`${line}\n`);
  else process.stdout.write(`${line}\n`);
}

/**
 * Prints a line about a command's progress on standard error, because standard output is for the command's result. It has no
 * colours, and may quote others.
 */
export function progress(line: string): void {
  const shown = `${safe(line)}\n`;
  if (above && process.stderr.isTTY) above(shown);
  else process.stderr.write(shown);
}

/** Text from others, without control characters of terminals. */
export function safe(text: string): string {
  return clean(text, Number.POSITIVE_INFINITY);
}

/**
 * Redirects the output to a writer that writes it to the terminal above further lines.
 * @returns a function that restores the streams
 */
export function printAbove(write: (text: string) => void): () => void {
  above = write;
  return () => {
    if (above === write) above = undefined;
  };
}

/** Highlights a text. */
export type Style = (format: "dim" | "bold" | "red" | "green" | "yellow", text: string) => string;

/** The style for a stream: colours on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function styleFor(stream: NodeJS.WritableStream): Style {
  return (format, text) => styleText(format, text, { stream });
}

/** Text without any colours. */
export const plain: Style = (_format, text) => text;

/** A span of time for people: "8 ms", "1.3 s", "2 min 5 s". */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Puts `prefix` before every line of a text, its trailing blank lines left out. */
export function indent(text: string, prefix = "    "): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => prefix + line)
    .join("\n");
}

/** A number of things: "1 file", "2 files". */
export function numbered(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The last lines of a text. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split("\n").slice(-count).join("\n");
}
