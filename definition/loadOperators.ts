// The folder of all operators; loadOperator.ts: one of them, step by step.
import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { isRecord } from "../runtime/base/json";
import type { Operator } from "../runtime/operator/definition";
import { checkOperators } from "./checkOperators";
import { definitionFile, overridesOf, signOfOperator } from "./definitionFile";
import { type LoadOptions, loadOperator } from "./loadOperator";
import { didYouMean } from "./nearest";
import { OperatorError, Problems } from "./problems";

/**
 * Loads the operators of a program: each folder in `handlersFolder` that has an operator.yaml, in the order of their names.
 * Hidden folders, node_modules and other folders are ignored. A folder that looks like an operator but has no definition is
 * refused. Call it again after an edit: it keeps nothing from an earlier call.
 *
 * @throws OperatorError with the problems of all of them
 */
export function loadOperators(handlersFolder: string, options: LoadOptions = {}): Operator[] {
  const problems = new Problems();
  const { operators, isComplete } = loadEach(handlersFolder, options, problems);
  // The names of those that could not be loaded are not known.
  if (isComplete) checkOverriddenNames(operators, options.overrides, problems);
  if (problems.found) throw problems.toError();
  checkOperators(operators);
  return operators;
}

/** The operators of a program that are in order, and what is wrong with the others. */
export interface OperatorsInOrder {
  readonly operators: readonly Operator[];
  readonly error?: OperatorError;
}

/**
 * Loads the valid operators, so that they work while their author corrects the others. Of two that clash, the first one is
 * loaded.
 */
export function loadOperatorsInOrder(handlersFolder: string, options: LoadOptions = {}): OperatorsInOrder {
  const problems = new Problems();
  const operators: Operator[] = [];
  for (const operator of loadEach(handlersFolder, options, problems).operators) {
    try {
      checkOperators([...operators, operator]);
      operators.push(operator);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      problems.add(error);
    }
  }
  return { operators, ...(problems.found && { error: problems.toError() }) };
}

/** Loads each operator by itself, and reports what is wrong. */
function loadEach(
  handlersFolder: string,
  options: LoadOptions,
  problems: Problems,
): { readonly operators: Operator[]; readonly isComplete: boolean } {
  const folders = operatorFolders(handlersFolder, problems);
  const operators: Operator[] = [];
  for (const folder of folders) {
    try {
      operators.push(loadOperator(folder, options));
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      problems.add(error);
    }
  }
  return { operators, isComplete: operators.length === folders.length };
}

const LAYOUT_ADVICE =
  "Give each operator a folder of its own with an operator.yaml, for example handlers/memcached/operator.yaml.";

/** The folders of operators. A folder that only looks like an operator is reported as a problem. */
function operatorFolders(handlersFolder: string, problems: Problems): string[] {
  const report = problems.in(handlersFolder);
  if (!existsSync(handlersFolder)) {
    report("the folder", "is missing", LAYOUT_ADVICE);
    return [];
  }
  if (!statSync(handlersFolder).isDirectory()) {
    report("it", "is not a folder", LAYOUT_ADVICE);
    return [];
  }
  const root = realpathSync(handlersFolder);
  if (existsSync(definitionFile(root))) {
    report(
      "the folder",
      "belongs to an operator",
      "Name the folder above it, which has one folder for each operator.",
    );
    return [];
  }
  const folders = readdirSync(root)
    .filter((name) => !name.startsWith(".") && name !== "node_modules")
    .sort()
    .map((name) => path.join(root, name))
    .filter((folder) => isFolder(folder, problems) && isOperator(folder, problems));
  if (folders.length === 0 && !problems.found) {
    report("the folder", "has no operator in it", LAYOUT_ADVICE);
  }
  return folders;
}

/**
 * Whether this is a folder. Links are followed. A folder that cannot be read must not be ignored, because its operator would be
 * deleted.
 */
function isFolder(file: string, problems: Problems): boolean {
  const stats = attempt(() => statSync(file, { throwIfNoEntry: false }));
  // Its files may be listed, and still not be opened.
  const look = () => [readdirSync(file), lstatSync(definitionFile(file), { throwIfNoEntry: false })];
  if (stats?.isDirectory() && !attempt(look)) {
    problems.in(file)(
      "the folder",
      "cannot be read",
      "Give yourself the right to read it, or move it elsewhere.",
    );
    return false;
  }
  if (stats !== undefined) return stats.isDirectory();
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink();
  if (isLink) problems.in(file)("the symbolic link", "leads nowhere", "Remove it, or mend it.");
  return false;
}

function isOperator(folder: string, problems: Problems): boolean {
  // A link that leads nowhere counts: without the folder, its operator would be deleted.
  if (lstatSync(definitionFile(folder), { throwIfNoEntry: false })) return true;
  const sign = signOfOperator(folder);
  if (sign === undefined) return false;
  const remedy =
    "Write one with crd, handler and children, or move the folder elsewhere if it is no operator.";
  problems.in(folder)("the folder", `has ${sign}, but no operator.yaml`, remedy);
  return false;
}

function attempt<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Overrides of an operator that does not exist would be silently lost. */
function checkOverriddenNames(
  operators: readonly Operator[],
  overrides: LoadOptions["overrides"],
  problems: Problems,
): void {
  const names = operators.map(({ name }) => name);
  for (const name of isRecord(overrides) ? Object.keys(overrides) : []) {
    if (names.includes(name)) continue;
    const advice = didYouMean(name, names, `Known operators: ${names.join(", ")}.`);
    problems.at(overridesOf(name))("it", "names no operator", advice);
  }
}
