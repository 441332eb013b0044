import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { operatorSchema, SCHEMA_FILE } from "../definition/jsonSchema";

const ROOT = path.join(__dirname, "..");

/** The current text of operator.schema.json. */
export function schemaText(): string {
  const { name } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as { name: string };
  return `${JSON.stringify(operatorSchema(name), null, 2)}\n`;
}

/** `npm run schema`: writes operator.schema.json from the zod schema. A test fails if the file is not current. */
if (require.main === module) writeFileSync(path.join(ROOT, SCHEMA_FILE), schemaText());
