import { z } from "zod";
import { POD_LAYOUT } from "../../runtime/cli";

/** The schema of a {@link Place}. */
export const PLACE = z.strictObject({ file: z.string(), line: z.number() });

/** Where in a handler's files something went wrong. */
export type Place = Readonly<z.infer<typeof PLACE>>;

/** How interpreters name a place: Python, Node, Bash, and compilers with all others, Argosy's own loops among them. */
const PLACES = [
  /File "([^"]+)", line (\d+)/g,
  /(?:\(|at (?:async )?)(?:file:\/\/)?([^\s()]+\.[cm]?[jt]s):(\d+):\d+/g,
  /(?:^|: )([^\s:]+\.(?:sh|bash)): line (\d+)/gm,
  /(?:^|: )([^\s:]+\.[a-z]+):(\d+)(?::\d+)?(?: ?in [^:\n]+)?:/gm,
] as const;

/** Files of the language or of Argosy, not of the author. */
const FOREIGN =
  /^node:|^<|\/node_modules\/|^\/argosy\/engine\/|\/lib\/python|\/functions\/function\.|(^|\/)function\.(py|js)$|(^|\/)handler\.sh$/;
/** The folder of an author's files in a pod. */
const IN_POD = `${POD_LAYOUT.handler}/`;

/**
 * The beginning of an error message that is a function's own fault: an exception, or an invalid answer (runtime/handler/functions).
 * An error that a handler answers on purpose begins with its author's words.
 */
const FAULT = /^(\S+\.(?:py|[cm]?[jt]s))(?::(\d+)(?: in [^:\n]+)?: |: | (?:has|exports) no function )/;

/**
 * The place of a handler's own fault, in words, from the message of its error: "main.py, line 12". Undefined if it is not the
 * handler's own fault.
 */
export function faultIn(message: string): string | undefined {
  const [, file, line] = FAULT.exec(message) ?? [];
  return file && line ? `${file}, line ${line}` : file;
}

/**
 * The place in the author's files that a text of standard error names: in Python the innermost one of the last traceback,
 * in Node that of the first line.
 */
export function placeIn(text: string): Place | undefined {
  for (const [index, pattern] of PLACES.entries()) {
    const found = [...text.matchAll(pattern)].filter(([, file = ""]) => !FOREIGN.test(file));
    const place = index === 0 ? found.at(-1) : found[0];
    if (!place) continue;
    const [, file = "", line = ""] = place;
    return { file: file.startsWith(IN_POD) ? file.slice(IN_POD.length) : file, line: Number(line) };
  }
  return undefined;
}
