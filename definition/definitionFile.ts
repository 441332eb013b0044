import { existsSync } from "node:fs";
import path from "node:path";
import { isRecord } from "../runtime/base/json";
import { type Locate, Problems, type Report } from "./problems";
import { readYaml } from "./readYaml";

/** The file that makes a folder an operator. */
const FILE_NAME = "operator.yaml";

/** Names of files that people may use instead of {@link FILE_NAME}. */
const OTHER_NAMES = ["operator.ts", "operator.js", "operator.mjs", "operator.cjs"];

const FIELDS_REMEDY = "Write crd, handler and children.";

/** The file that defines the operator of a folder: operator.yaml. */
export function definitionFile(folder: string): string {
  return path.join(folder, FILE_NAME);
}

/** A definition as its author wrote it, not checked yet. */
export interface WrittenDefinition {
  readonly content: Readonly<Record<string, unknown>>;
  /** Reports what is wrong with a field, with line and column. */
  readonly report: Report;
}

/**
 * Reads the definition of an operator's folder.
 * @returns undefined if a problem was reported
 */
export function readDefinition(folder: string, problems: Problems): WrittenDefinition | undefined {
  const file = definitionFile(folder);
  checkOtherNames(folder, problems);
  const documents = readYaml(file, FIELDS_REMEDY, problems, { keys: "ours" });
  if (documents === undefined || problems.found) return undefined;
  const [document, another] = documents;
  if (!document) problems.in(file)("the file", "is empty", FIELDS_REMEDY);
  else if (another)
    another.report("the file", `has ${documents.length} documents`, "Keep one definition in it.");
  else if (isRecord(document.content)) return { content: document.content, report: document.report };
  else document.report("the file", "has no object in it", FIELDS_REMEDY);
  return undefined;
}

/** Checks that a folder has only one definition, so that it is clear which one counts. */
function checkOtherNames(folder: string, problems: Problems): void {
  for (const name of OTHER_NAMES) {
    if (!existsSync(path.join(folder, name))) continue;
    const remedy = `Write its fields into ${FILE_NAME}, which is YAML, and remove it.`;
    problems.in(path.join(folder, name))("the file", "is not a definition", remedy);
  }
  const misspelt = path.join(folder, "operator.yml");
  if (existsSync(misspelt))
    problems.in(misspelt)("the file", "is not read", `Rename the file to ${FILE_NAME}.`);
}

/** Files that only an operator's folder has. If the folder has no definition, its author forgot it. */
const SIGNS = [...OTHER_NAMES, "operator.yml", "crd.yaml", "crd.yml", "main.py", "main.js", "main.ts"];

/** A file that shows that a folder without a definition is meant for an operator. Undefined if there is no such file. */
export function signOfOperator(folder: string): string | undefined {
  return SIGNS.find((name) => existsSync(path.join(folder, name)));
}

/** The origin of the fields of an operator's definition. */
export interface Provenance {
  readonly name: string;
  readonly folder: string;
  readonly overridden: readonly string[];
}

/**
 * Reports what is wrong with an operator that has been loaded: with line and column of operator.yaml; of a field that the
 * program gave, by the name of its overrides.
 */
export function reportOn(operator: Provenance, problems: Problems): Report {
  const file = definitionFile(operator.folder);
  return withOverrides(
    operator,
    problems.in(file, (field) => locateIn(file)?.(field)),
    problems,
  );
}

/**
 * The same report, which names a program's overrides if they gave the field, or one that the complaint depends on.
 * @param inFile reports what is wrong with the operator's own definition
 */
export function withOverrides(
  { name, overridden }: Pick<Provenance, "name" | "overridden">,
  inFile: Report,
  problems: Problems,
): Report {
  const isOverridden = (field: string) =>
    overridden.some(
      (given) => field === given || field.startsWith(`${given}.`) || field.startsWith(`${given}[`),
    );
  return (field, complaint, remedy, because = []) => {
    const report = [field, ...because].some(isOverridden) ? problems.at(overridesOf(name)) : inFile;
    report(field, complaint, remedy);
  };
}

/** The name of an operator's overrides in problems, as a program writes them. */
export function overridesOf(operator: string): string {
  return `overrides.${operator}`;
}

function locateIn(file: string): Locate | undefined {
  return existsSync(file) ? readYaml(file, "", new Problems(), { keys: "ours" })?.[0]?.locate : undefined;
}
