import assert from "node:assert/strict";
import { compareCrdSets } from "../../components/crdVerdict/compareCrds";
import { anyCrdBreaks, formatCrdVerdict } from "../../components/crdVerdict/formatCrdVerdict";
import type { JsonObject } from "../../runtime/base/objects";
import { baseCrd, readCorpus } from "./crdVerdict/corpus";

describe("formatCrdVerdict", () => {
  const corpus = readCorpus();
  const judged = (edit: string) => {
    const entry = corpus.find((each) => each.edit === edit);
    assert.ok(entry);
    return compareCrdSets([entry.before], [entry.after]);
  };
  const other: JsonObject = { ...baseCrd(), metadata: { name: "a.example.com" } };

  it("puts what breaks first, with version, path and message", () => {
    const lines = formatCrdVerdict(judged("a short name is replaced"));
    assert.deepStrictEqual(lines, [
      "gadgets.shop.example.com: 2 changes, 1 breaking",
      "  breaking  spec.names.shortNames  The short name gd was removed: commands and scripts that use it fail; keep it.",
      "  safe      spec.names.shortNames  The short name gg is new.",
    ]);
    const [, first = ""] = formatCrdVerdict(judged("a field is renamed"));
    assert.match(first, /^ {2}breaking {2}v1 \.spec\.title {2}The field was removed: /);
  });

  it("names no version twice", () => {
    const [, line = ""] = formatCrdVerdict(judged("a version is added"));
    assert.equal(line, "  safe      spec.versions[v2]  The version is new: no client uses it.");
  });

  it("says so if nothing breaks, and if nothing has changed", () => {
    assert.equal(
      formatCrdVerdict(judged("a version is added"))[0],
      "gadgets.shop.example.com: 1 change, none breaking",
    );
    const nothing = ["No CustomResourceDefinition has changed."];
    assert.deepStrictEqual(formatCrdVerdict([]), nothing);
    assert.deepStrictEqual(formatCrdVerdict(compareCrdSets([other], [other])), nothing);
  });

  it("leaves out a CRD that has not changed", () => {
    const lines = formatCrdVerdict(compareCrdSets([other, baseCrd()], [other]));
    assert.equal(lines.length, 2);
    assert.match(lines[1] ?? "", /all its objects are deleted/);
  });

  it("tells a program whether anything breaks", () => {
    assert.equal(anyCrdBreaks(judged("a field is removed")), true);
    assert.equal(anyCrdBreaks(judged("a version is added")), false);
    assert.equal(anyCrdBreaks([]), false);
  });
});
