import { existsSync, readFileSync } from "node:fs";
import { displayPath } from "../../definition/problems";
import { asTyped } from "../common/asTyped";
import { EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { haveSameLines } from "../common/lineEnds";
import { flag, operatorsOptions, option } from "../common/options";
import { findHandlers, loadChosen, loaderOf } from "../common/project";
import { rewriteFile } from "../common/rewriteFile";
import { print } from "../common/terminal";
import { languageFor, NEEDS_LANGUAGE, typesOf } from "../types/typesOf";

const CHOICES: readonly string[] = ["python", "typescript"];

/**
 * `argosy types`: writes the types of the operators' custom resources for their handlers. A program whose language is not known is
 * left out, unless it is named: the others need their types all the same.
 *
 * @returns the exit code: 3 if a file is missing or outdated, with --check
 * @throws UsageError for a language that has no types, and for an operator that does not exist, or that is named and whose language is not known
 */
export default command({
  description:
    "Writes types for each operator's custom resource, from its CRD, into a file next to the handler: <kind>_types.py " +
    "with TypedDicts for Python, <kind>-types.d.ts for TypeScript and JavaScript.",
  arguments: [["[operators...]", "only these operators (default: all)"]],
  options: [
    flag("--check", "write nothing; the exit code is 3 if a file is missing or outdated"),
    option("--language <name>", "the language for handlers that are programs: python or typescript"),
    ...operatorsOptions(),
  ],
  async run(names, options) {
    if (options.language !== undefined && !CHOICES.includes(options.language))
      throw new UsageError(`--language ${options.language}: there are types for python and typescript.`);
    let isCurrent = true;
    for (const operator of loadChosen(loaderOf(findHandlers(options)), names)) {
      if (names.length === 0 && languageFor(operator, options.language) === undefined) {
        print(`left out ${operator.name}: ${NEEDS_LANGUAGE}`);
        continue;
      }
      const { file, text } = typesOf(operator, options.language);
      const same = existsSync(file) && haveSameLines(readFileSync(file, "utf8"), text);
      if (same) print(`current  ${displayPath(file)}`);
      else if (options.check) {
        isCurrent = false;
        const state = existsSync(file) ? "outdated" : "missing ";
        print(`${state} ${displayPath(file)}: write it with: ${asTyped(`types ${operator.name}`, options)}`);
      } else {
        rewriteFile(file, text);
        print(`written  ${displayPath(file)}`);
      }
    }
    return isCurrent ? EXIT_CODES.fine : EXIT_CODES.found;
  },
});
