import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import {
  checkOperators,
  definitionFile,
  displayPath,
  isRecord,
  type LoadOptions,
  languageOf,
  loadOperator,
  type Operator,
  OperatorError,
  Problems,
} from "../runtime/program";
import { checkFunction } from "./bundleFunction";

/**
 * Loads the operators of a program: each folder in `handlersFolder` that has an operator.ts or operator.js, in
 * the order of their names. To be called again after an edit: nothing of an earlier call is kept. TypeScript
 * must have been registered with Node by the caller.
 *
 * @throws OperatorError with the problems of all of them
 */
export function loadOperators(handlersFolder: string, options: LoadOptions = {}): Operator[] {
  if (!existsSync(handlersFolder)) {
    throw new OperatorError([`${displayPath(handlersFolder)}: the folder is missing. ${LAYOUT_ADVICE}`]);
  }
  // Node keeps modules under their real paths.
  const root = realpathSync(handlersFolder);
  forgetModules(root);
  const folders = readdirSync(root)
    .sort()
    .map((name) => path.join(root, name))
    .filter((folder) => existsSync(definitionFile(folder)));
  if (folders.length === 0) {
    throw new OperatorError([`${displayPath(root)}: no operator is in this folder. ${LAYOUT_ADVICE}`]);
  }
  const operators: Operator[] = [];
  const problems: string[] = [];
  for (const folder of folders) {
    try {
      const operator = loadOperator(folder, readDefinition(folder), options);
      checkHandler(operator);
      operators.push(operator);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new OperatorError(problems);
  checkOperators(operators);
  return operators;
}

function checkHandler({ handler, folder, finalize }: Operator): void {
  if ("command" in handler || languageOf(handler.function) === "python") return;
  checkFunction(folder, handler.function, finalize);
}

const LAYOUT_ADVICE = "Give each operator a folder of its own, for example handlers/memcached/operator.ts.";

function forgetModules(root: string): void {
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(root + path.sep)) delete require.cache[file];
  }
}

/** The default export of a folder's definition; undefined where there is none. */
function readDefinition(folder: string): unknown {
  let exports: unknown;
  try {
    exports = require(definitionFile(folder));
  } catch (error) {
    throw loadingError(folder, error);
  }
  if (!isRecord(exports)) return undefined;
  if ("default" in exports) return exports.default;
  // In CommonJS by hand, `module.exports = defineOperator({ ... })` is the default export.
  const isEmpty = Object.keys(exports).length === 0;
  return "__esModule" in exports || isEmpty ? undefined : exports;
}

function loadingError(folder: string, error: unknown): OperatorError {
  const problems = new Problems();
  const remedy = "Correct it there or just before.";
  for (const { file, line, column, reason } of compilerErrors(error)) {
    const complaint = `does not compile: ${withoutStop(reason)}`;
    problems.in(path.resolve(file))(`line ${line}, column ${column}`, complaint, remedy);
  }
  if (!problems.found) {
    const { file, line } = placeOf(folder, error);
    const [reason = ""] = String(error).split("\n");
    problems.in(file)(line, `cannot be loaded: ${withoutStop(reason)}`, remedy);
  }
  return problems.toError();
}

interface CompilerError {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

/** What the compiler complains of: ts-node's in `pulumi up`, tsx's in the commands. */
function compilerErrors(error: unknown): CompilerError[] {
  if (!isRecord(error)) return [];
  const [text, pattern, firstColumn] =
    typeof error.diagnosticText === "string"
      ? [error.diagnosticText, TYPESCRIPT_ERROR, 1]
      : [error.name === "TransformError" ? String(error.message) : "", ESBUILD_ERROR, 0];
  return [...text.matchAll(pattern)].map(([, file = "", line, column, reason = ""]) => ({
    file,
    line: Number(line),
    column: Number(column) + 1 - firstColumn,
    reason,
  }));
}

/** A line of the TypeScript compiler: "handlers/memcached/operator.ts(4,3): error TS1005: ',' expected." */
const TYPESCRIPT_ERROR = /^(.+)\((\d+),(\d+)\): error TS\d+: (.*)$/gm;

/** A line of esbuild, by which tsx compiles: "/a/operator.ts:4:2: ERROR: Expected "}" but found "children"". */
const ESBUILD_ERROR = /^(.+):(\d+):(\d+): ERROR: (.*)$/gm;

/** The innermost line of the operator's own files that an error's stack names. */
function placeOf(folder: string, error: unknown): { file: string; line: string } {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const start = stack.indexOf(folder + path.sep);
  const [, file, line] = (start < 0 ? null : /^([^:\n]+):(\d+)/.exec(stack.slice(start))) ?? [];
  return { file: file ?? definitionFile(folder), line: line === undefined ? "the file" : `line ${line}` };
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
