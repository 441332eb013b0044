import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import Ajv from "ajv";
import { z } from "zod";
import { commands } from "../../cli/argosy";
import { runCommand } from "../../cli/common/command";
import { command } from "../../cli/common/declaration";
import { jsonOption, OUTPUT_SCHEMA } from "../../cli/common/options";
import { captured } from "./support/captured";
import { filesIn } from "./support/filesIn";
import { PROJECT } from "./support/projectCopy";
import { runArgosy } from "./support/runArgosy";

const SCHEMA = JSON.parse(readFileSync(path.join(PROJECT, OUTPUT_SCHEMA), "utf8"));

describe("output.schema.json", () => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true }).addSchema(SCHEMA);
  const schemaOf = (name: string) => ajv.getSchema(`${SCHEMA.$id}#/definitions/${name}`);

  it("has a schema for each command with --json, which the command's help names", async () => {
    const printing = commands()
      .filter(({ command: { options } }) => options.some(({ long }) => long === "--json"))
      .map(({ name }) => name);
    assert.ok(printing.length > 15);
    assert.deepEqual(Object.keys(SCHEMA.definitions), printing);
    for (const name of printing) {
      assert.equal(schemaOf(name)?.({}), false, name);
      const { stdout } = await runArgosy(name, "--help");
      assert.match(stdout, new RegExp(`: @argosy-dev/argosy/${OUTPUT_SCHEMA}#/definitions/${name}\n$`));
    }
  });

  it("is of all JSON that is printed: no command prints any in another way", () => {
    const folder = path.join(PROJECT, "cli");
    const files = filesIn(folder).filter((file) => file.endsWith(".ts"));
    assert.ok(files.length > 100);
    const printing = files.filter((file) =>
      /\b(print|stdout\.write)\([^;]*(JSON\.stringify|writeJson)\(/.test(
        readFileSync(path.join(folder, file), "utf8"),
      ),
    );
    assert.deepEqual(printing, []);
  });

  it("admits what a later version adds", () => {
    const line = { pod: "a", container: "runner", text: "", node: "new" };
    assert.equal(schemaOf("logs")?.(line), true);
    assert.equal(schemaOf("logs")?.({ ...line, pod: 1 }), false);
  });

  for (const [what, value] of [
    ["a key that the schema does not have", { speed: 3, depth: 1 }],
    ["a number that JSON cannot carry", { speed: Number.NaN }],
  ] as const)
    it(`is kept by every command in the tests: one that prints ${what} fails`, async () => {
      const sail = command({
        description: "",
        options: [jsonOption(z.strictObject({ speed: z.number() }))],
        async run({ json }) {
          json?.(value as { speed: number });
          return 0;
        },
      });
      const { result, stdout, stderr } = await captured(() => runCommand(sail("sail"), ["--json"], {}));
      assert.deepEqual([result, stdout], [1, ""]);
      assert.match(stderr, /depth|speed/);
    });
});
