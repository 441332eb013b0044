import { z } from "zod";
import { commands } from "../../cli/argosy";
import { JsonOption, OUTPUT_SCHEMA } from "../../cli/common/options";
import { PACKAGE_NAME } from "../../components/package";
import { schemaAddress } from "../../definition/jsonSchema";

/** output.schema.json: the lines of JSON that each command prints with `--json`. */
export function outputSchema(): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: schemaAddress(PACKAGE_NAME, OUTPUT_SCHEMA),
    title: "Each line of JSON that argosy COMMAND --json prints, by the command's name",
    definitions: Object.fromEntries(
      commands().flatMap(({ name, command }) => {
        const json = command.options.find((option) => option instanceof JsonOption);
        return json ? [[name, schemaOf(json.line)]] : [];
      }),
    ),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Later versions may add keys, so it admits others. */
function schemaOf(line: z.ZodType): object {
  const { $schema, ...schema } = z.toJSONSchema(line, {
    target: "draft-7",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      delete jsonSchema.readOnly;
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return schema;
}
