import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { storedSchemaOf } from "../definition/customResourceDefinition";
import { displayPath } from "../definition/problems";
import type { Operator } from "../runtime/definition/definition";
import { languageOf } from "../runtime/definition/handlerProgram";
import { apiVersionOf } from "../runtime/kubernetes/objects";
import { asTyped } from "./asTyped";
import { EXIT_CODES, UsageError } from "./commandError";
import { haveSameLines } from "./lineEnds";
import { findHandlers, type HandlersOptions, loadChosen, loaderOf } from "./project";
import { rewriteFile } from "./rewriteFile";
import { print } from "./terminal";
import { pythonTypes } from "./types/python";
import { structsOf } from "./types/shapes";
import { typescriptTypes } from "./types/typescript";

const CHOICES: readonly string[] = ["python", "typescript"];
const NEEDS_LANGUAGE =
  "its handler is a program. Choose the language of the types: --language python or --language typescript.";

/** @see types */
export interface TypesOptions extends HandlersOptions {
  /** Write nothing, and say which files differ from the result. */
  readonly check?: true;
  /** The language for a handler that is a program. */
  readonly language?: string;
}

/** A file of types: "cache_types.py", "cache-types.d.ts". */
export interface TypesFile {
  /** Absolute. */
  readonly file: string;
  readonly text: string;
}

/**
 * `argosy types`: writes the types of the operators' custom resources for their handlers. A program whose language is not known is
 * left out, unless it is named: the others need their types all the same.
 *
 * @param names only these operators. All if there are none
 * @returns the exit code: 3 if a file is missing or outdated, with --check
 * @throws UsageError for a language that has no types, and for an operator that does not exist, or that is named and whose language is not known
 */
export async function types(names: readonly string[], options: TypesOptions): Promise<number> {
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
      print(`outdated ${displayPath(file)}: write it with: ${asTyped(`types ${operator.name}`)}`);
    } else {
      rewriteFile(file, text);
      print(`written  ${displayPath(file)}`);
    }
  }
  return isCurrent ? EXIT_CODES.fine : EXIT_CODES.found;
}

/**
 * The types of an operator's custom resource, in the language of its handler.
 * @param language "python" or "typescript", for a handler that is a program
 * @throws UsageError for a program without a language
 */
export function typesOf(operator: Operator, language?: string): TypesFile {
  const { folder, customResource, crd } = operator;
  const { kind } = customResource;
  const own = languageFor(operator, language);
  const structs = structsOf(kind, storedSchemaOf({ crd, customResource }) ?? {});
  const apiVersion = apiVersionOf(customResource);
  const name = kind.toLowerCase();
  switch (own) {
    case "python":
      return { file: path.join(folder, `${name}_types.py`), text: pythonTypes(kind, apiVersion, structs) };
    case "javascript":
    case "typescript":
      return {
        file: path.join(folder, `${name}-types.d.ts`),
        text: typescriptTypes(kind, apiVersion, structs),
      };
    default:
      throw new UsageError(`${operator.name}: ${NEEDS_LANGUAGE}`);
  }
}

/** The language of an operator's types: that of its function, or the one that was chosen for programs. */
function languageFor({ handler }: Operator, chosen: string | undefined): string | undefined {
  return "function" in handler ? languageOf(handler.function) : chosen;
}
