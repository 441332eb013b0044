import assert from "node:assert/strict";
import { parseDocument } from "yaml";
import { quoteMergeKeys, yaml } from "../../cli/yaml";

describe("YAML that a command writes", () => {
  const value = { data: { "<<": "kept", other: { "<<": 1 } } };

  it("has no merge key: it would be refused when it is read", () => {
    assert.equal(yaml(value), 'data:\n  "<<": kept\n  other: { "<<": 1 }\n');
  });

  it("has none in an edited document either", () => {
    const document = parseDocument("a: 1\n");
    document.set("b", document.createNode(value));
    quoteMergeKeys(document);
    assert.doesNotMatch(String(document), /^\s*<</m);
    assert.deepEqual(parseDocument(String(document)).toJS(), { a: 1, b: value });
  });
});
