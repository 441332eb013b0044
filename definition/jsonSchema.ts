// operator.schema.json for editors; `npm run schema` writes it.
import { z } from "zod";
import { DEFINITION } from "./schema";

/** The file of the schema, at the top of the package and of its repository. */
export const SCHEMA_FILE = "operator.schema.json";

/**
 * The JSON Schema of operator.yaml, for editors. A schema cannot check several fields together, nor files. These are checked when
 * an operator is loaded.
 *
 * @param packageName the package in which it is published
 */
export function operatorSchema(packageName: string): object {
  // Among the drafts that zod knows, this is the one that all editors read.
  const { $schema, ...schema } = z.toJSONSchema(DEFINITION, {
    target: "draft-7",
    io: "input",
    // Fields whose form Argo or a CRD defines may have any value here.
    unrepresentable: "any",
  });
  return {
    $schema,
    $id: schemaAddress(packageName),
    title: "An operator of Argosy: operator.yaml",
    ...schema,
    // One of the two is required. The message about both missing comes when an operator is loaded.
    anyOf: ["crd", "watch"].map((field) => ({ properties: { [field]: {} }, required: [field] })),
  };
}

/** Where the schema of the newest version is, for programs that have no node_modules. */
export function schemaAddress(packageName: string, file = SCHEMA_FILE): string {
  return `https://unpkg.com/${packageName}/${file}`;
}

/** The first line of an operator.yaml. Editors with yaml-language-server use it to complete and check the file. */
export function schemaComment(address: string): string {
  return `# yaml-language-server: $schema=${address}`;
}
