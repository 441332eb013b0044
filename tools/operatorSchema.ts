import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { operatorSchema, SCHEMA_FILE } from "../definition/jsonSchema";
import { PACKAGE_FOLDER } from "./packageFolder";

/** The current text of operator.schema.json. */
export function schemaText(): string {
  const { name } = JSON.parse(readFileSync(path.join(PACKAGE_FOLDER, "package.json"), "utf8")) as {
    name: string;
  };
  return `${JSON.stringify(operatorSchema(name), null, 2)}\n`;
}

/** `npm run schema`: writes operator.schema.json from the zod schema. A test fails if the file is not current. */
if (require.main === module) writeFileSync(path.join(PACKAGE_FOLDER, SCHEMA_FILE), schemaText());
