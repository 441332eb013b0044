import path from "node:path";
import type { Operator } from "./definition";

/** How a process of a handler is started. */
export interface HandlerProgram {
  /** Program and arguments. */
  readonly command: readonly string[];
  /**
   * The descriptor to which answers are written. 1: standard output, and requests are read from standard input. 3: a descriptor of
   * our own loop's, which reads requests from descriptor 4. Then standard output is log, as standard error is, and standard input
   * is empty: a child process may inherit both.
   */
  readonly answersOn: 1 | 3;
}

/** Our loops around functions, one for each language, as files of `runtime/functions`. */
export const FUNCTION_LOOPS = { python: "function.py", javascript: "function.js" } as const;

/** Given to the loop in JavaScript after the author's file: the bundle is the first line of its input. */
export const BUNDLED_FROM_INPUT = "--bundled-from-input";

/** The language of a function's file: by its ending. */
export function languageOf(file: string): keyof typeof FUNCTION_LOOPS {
  return file.endsWith(".py") ? "python" : "javascript";
}

/**
 * How an operator's handler is started.
 * @param loops the folder of {@link FUNCTION_LOOPS}
 */
export function programOf(
  { handler, include = [] }: Pick<Operator, "handler" | "include">,
  loops: string,
): HandlerProgram {
  if ("command" in handler) return { command: handler.command, answersOn: 1 };
  const language = languageOf(handler.function);
  const loop = path.posix.join(loops, FUNCTION_LOOPS[language]);
  // The bundle contains what a function in JavaScript imports of those folders.
  const command =
    language === "python"
      ? ["python3", loop, handler.function, ...include]
      : ["node", loop, handler.function];
  return { command, answersOn: 3 };
}

/**
 * The handler's working folder in a pod, within the folder that is mounted. "" is that folder itself. Included folders lie beside
 * the operator's folder there, as they do in its repository.
 */
export function workingFolderOf({ folder, include = [] }: Pick<Operator, "folder" | "include">): string {
  return include.length === 0 ? "" : path.basename(folder);
}
