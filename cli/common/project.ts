import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { foldersAbove } from "../../definition/foldersAbove";
import { loadOperators, loadOperatorsInOrder, type OperatorsInOrder } from "../../definition/loadOperators";
import { didYouMean } from "../../definition/nearest";
import { displayPath } from "../../definition/problems";
import type { Operator } from "../../runtime/cli";
import { asTyped } from "./asTyped";
import { UsageError } from "./commandError";
import type { HandlersOptions } from "./options";

const PROJECT_FILE = "Pulumi.yaml";
const REMEDY = `Name the program's folder with --project, or create a program: ${asTyped("init")}`;

/**
 * The folder of the user's Pulumi program: the named folder, or else the nearest folder with a Pulumi.yaml, from the working
 * folder upward.
 *
 * @param named the folder, or its Pulumi.yaml
 * @throws UsageError if there is no Pulumi.yaml
 */
export function findProject(named?: string, from: string = process.cwd()): string {
  if (named === undefined) return nearestAbove(from);
  const place = path.resolve(from, named);
  if (!existsSync(place)) throw new UsageError(`--project ${named}: there is no such folder.`);
  const folder = statSync(place).isDirectory() ? place : path.dirname(place);
  if (!isProject(folder)) {
    throw new UsageError(`--project ${named}: ${displayPath(folder)} has no ${PROJECT_FILE}. ${REMEDY}`);
  }
  return folder;
}

/** Whether a folder has a Pulumi program. */
export function isProject(folder: string): boolean {
  return existsSync(path.join(folder, PROJECT_FILE));
}

function nearestAbove(start: string): string {
  const folder = foldersAbove(start).find(isProject);
  if (folder !== undefined) return folder;
  throw new UsageError(`There is no ${PROJECT_FILE} in ${start} or above. ${REMEDY}`);
}

/** The folder of the operators: the named folder, or else that of the program. @throws UsageError if the folder does not exist */
export function findHandlers({ handlers, project }: HandlersOptions): string {
  const folder =
    handlers === undefined ? path.join(findProject(project), "handlers") : path.resolve(handlers);
  if (existsSync(folder)) return folder;
  throw new UsageError(
    handlers === undefined
      ? `${displayPath(folder)}: the folder is missing. Create it, or name the folder of the operators with --handlers.`
      : `--handlers ${handlers}: there is no such folder.`,
  );
}

/** Loads operators from their present files. */
export interface OperatorLoader {
  /**
   * Loads all of them.
   * @throws OperatorError
   */
  load(): Operator[];
  /** Loads the valid operators, and reports the mistakes of the others. */
  loadInOrder(): OperatorsInOrder;
}

/** Loads the operators of a folder, as they are defined. */
export function loaderOf(folder: string): OperatorLoader {
  return { load: () => loadOperators(folder), loadInOrder: () => loadOperatorsInOrder(folder) };
}

/**
 * Loads the operators with these names. A mistake in another operator does not matter. All if no name is given.
 * @throws UsageError for an operator that does not exist; OperatorError if an operator that is needed has a mistake
 */
export function loadChosen(loader: OperatorLoader, names: readonly string[]): readonly Operator[] {
  if (names.length === 0) return loader.load();
  const { operators, error } = loader.loadInOrder();
  // The name of an operator with a mistake may not be known.
  if (error && names.some((name) => operators.every((operator) => operator.name !== name))) throw error;
  return chosenOperators(operators, names);
}

/** The operators with these names. All if no name is given. @throws UsageError for an operator that does not exist */
export function chosenOperators(
  operators: readonly Operator[],
  names: readonly string[],
): readonly Operator[] {
  const known = operators.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const advice = didYouMean(unknown, known, `Known operators: ${known.join(", ")}.`);
    throw new UsageError(`There is no operator ${unknown}. ${advice}`);
  }
  return names.length === 0 ? operators : operators.filter(({ name }) => names.includes(name));
}
