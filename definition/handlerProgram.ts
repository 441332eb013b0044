import path from "node:path";
import type { Operator } from "../runtime/operator/definition";

/** How a process of a handler is started. */
export interface HandlerProgram {
  /** Program and arguments. */
  readonly command: readonly string[];
  /**
   * Whether the program is one of the {@link FUNCTION_LOOPS}, which use {@link LOOP_DESCRIPTORS}. Any other program reads requests
   * from standard input and writes answers to standard output.
   */
  readonly isFunction: boolean;
}

/** Our loops around functions, one for each language, as files of `runtime/handler/functions`. */
export const FUNCTION_LOOPS = { python: "function.py", javascript: "function.js" } as const;

/**
 * The descriptors on which a loop reads requests and writes answers. Its standard output is log, as standard error is, and its
 * standard input is empty, because a child process of the function may inherit both.
 */
export const LOOP_DESCRIPTORS = { answers: 3, requests: 4 } as const;

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
  if ("command" in handler) return { command: handler.command, isFunction: false };
  const language = languageOf(handler.function);
  const loop = path.posix.join(loops, FUNCTION_LOOPS[language]);
  // The bundle contains what a function in JavaScript imports of those folders.
  const command =
    language === "python"
      ? ["python3", loop, handler.function, ...include]
      : ["node", loop, handler.function];
  return { command, isFunction: true };
}

/**
 * The handler's working folder in a pod, within the mounted folder. "" is that folder itself. Included folders are
 * next to the operator's folder, as in its repository.
 */
export function workingFolderOf({ folder, include = [] }: Pick<Operator, "folder" | "include">): string {
  return include.length === 0 ? "" : path.basename(folder);
}
