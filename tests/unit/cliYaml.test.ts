import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { parseDocument } from "yaml";
import { manifestYaml, textOf, yaml } from "../../cli/common/yaml";
import { Problems } from "../../definition/problems";
import { readYaml } from "../../definition/readYaml";
import { temporaryFolder } from "../support/temporaryFolder";

/** Texts that some reader of YAML reads otherwise. */
const TRAPS = ["<<", "yes", "n", "On", "0644", "1_0", "0b1", "1:20", "a\u0085b", "\u2028", "~", "null"];

describe("YAML that a command writes", () => {
  const value = { data: { "<<": "kept", other: { "<<": 1 } } };
  let folder: string;
  before(() => {
    folder = temporaryFolder();
  });

  it("has no merge key: it would be refused when it is read", () => {
    assert.equal(yaml(value), 'data:\n  "<<": kept\n  other: { "<<": 1 }\n');
  });

  it("has none in an edited document either", () => {
    const document = parseDocument("a: 1\n");
    document.set("b", document.createNode(value));
    assert.doesNotMatch(textOf(document), /^\s*<</m);
    assert.deepEqual(parseDocument(textOf(document)).toJS(), { a: 1, b: value });
  });

  it("is accepted by readYaml, whatever the texts and keys, and has only the line ends of every YAML", () => {
    const text = fc.oneof(fc.constantFrom(...TRAPS), fc.string());
    const content = fc.record({ object: fc.dictionary(text, fc.oneof(text, fc.array(text))) });
    fc.assert(
      fc.property(content, (given) => {
        const wanted = JSON.parse(JSON.stringify(given)) as unknown;
        for (const written of [yaml(wanted), manifestYaml(wanted as object)]) {
          assert.doesNotMatch(written, /[\u0085\u2028\u2029]/);
          const file = path.join(folder, "a.yaml");
          writeFileSync(file, written);
          const problems = new Problems();
          const [document] = readYaml(file, "", problems) ?? [];
          assert.deepEqual(problems.toError().problems, []);
          assert.deepEqual(document?.content, wanted);
        }
      }),
    );
  });
});
