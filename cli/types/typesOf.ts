import path from "node:path";
import { storedSchemaOf } from "../../definition/customResourceDefinition";
import { languageOf } from "../../definition/handlerProgram";
import { apiVersionOf } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/cli";
import { UsageError } from "../common/commandError";
import { contractOf, kindsInstalledFor } from "./contract";
import { pythonTypes } from "./python";
import { structsOf } from "./shapes";
import { typescriptTypes } from "./typescript";

/** Why a program gets no types, and what to do. */
export const NEEDS_LANGUAGE =
  "its handler is a program. Choose the language of the types: --language python or --language typescript.";

/** A file of types: "cache_types.py", "cache-types.d.ts". */
export interface TypesFile {
  /** Absolute. */
  readonly file: string;
  readonly text: string;
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
  const contract = contractOf(operator);
  const name = kind.toLowerCase();
  switch (own) {
    case "python":
      return {
        file: path.join(folder, `${name}_types.py`),
        text: pythonTypes(kind, apiVersion, structs, contract),
      };
    case "javascript":
    case "typescript":
      return {
        file: path.join(folder, `${name}-types.d.ts`),
        text: typescriptTypes(kind, apiVersion, structs, contract, kindsInstalledFor(folder)),
      };
    default:
      throw new UsageError(`${operator.name}: ${NEEDS_LANGUAGE}`);
  }
}

/** The language of an operator's types: that of its function, or the one that was chosen for programs. */
export function languageFor({ handler }: Operator, chosen: string | undefined): string | undefined {
  return "function" in handler ? languageOf(handler.function) : chosen;
}
