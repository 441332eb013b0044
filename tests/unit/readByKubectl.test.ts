import assert from "node:assert/strict";
import path from "node:path";
import { Problems } from "../../definition/problems";
import { readByKubectl } from "../../definition/readByKubectl";
import { readYaml, type YamlOptions } from "../../definition/readYaml";
import { addFiles, writeFolder } from "./operatorFolder";

/** Plain texts, and what kubectl 1.34 reads. Undefined: the same as YAML 1.2. */
const READ: readonly (readonly [plain: string, read: boolean | number | undefined])[] = [
  ...["yes", "Yes", "YES", "y", "Y", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["no", "No", "NO", "n", "N", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ["0644", 420],
  ["-0644", -420],
  ["0_7", 7],
  ["1_0", 10],
  ["1__0", 10],
  ["1_", 1],
  ["08_9", 89],
  ["+_321", 321],
  ["1_0.5", 10.5],
  [".5_0", 0.5],
  ["1e_3", 1000],
  ["0b11", 3],
  ["0B11", 3],
  ["0O17", 15],
  ["0X1f", 31],
  ["-0x1F", -31],
  ["+0o7", 7],
  ["0x1_F", 31],
  ...[
    "0o644",
    "0x1F",
    "00",
    "0",
    "06",
    "0899",
    ".4_",
    "._4",
    "1e3",
    "1.e3",
    "+.5",
    "1:20",
    "2024-02-29",
    "_1",
    "nO",
    "yEs",
  ].map((same) => [same, undefined] as const),
  ...["true", "null", "~", "=", "12", "-1", "1.0", "1.2.3", "v1", "a_b", "10Gi", "500m"].map(
    (same) => [same, undefined] as const,
  ),
];

describe("a text without quotes in YAML", () => {
  for (const [plain, read] of READ)
    it(`${plain} is ${read ?? "the same"} for kubectl`, () => assert.equal(readByKubectl(plain), read));

  let folder: string;
  before(() => {
    folder = writeFolder({});
  });

  const problemsIn = (text: string, options?: YamlOptions) => {
    addFiles(folder, { "a.yaml": text });
    const problems = new Problems();
    readYaml(path.join(folder, "a.yaml"), "", problems, options);
    return problems.toError().problems.map((each) => each.replace(/^.*a\.yaml:/, ""));
  };

  it("is refused if kubectl reads another value, each with its place and what to write", () => {
    const text = "spec:\n  mode: 0400\n  flag: yes\n  on: 1\n  under: [1_000]\n  version: '0644'\n";
    const misread = "by kubectl, Helm and Argo CD, and not by Argosy.";
    assert.deepEqual(problemsIn(text), [
      `2:9: 0400 is read as 256 ${misread} Write 256 or 0o400, or put it in quotes: "0400".`,
      `3:9: yes is read as true ${misread} Write true, or put it in quotes: "yes".`,
      `4:3: on is read as true ${misread} Put it in quotes: "on".`,
      `5:11: 1_000 is read as 1000 ${misread} Write 1000, or put it in quotes: "1_000".`,
    ]);
  });

  it("may be a key if no other program reads it", () => {
    assert.deepEqual(problemsIn("on: a\nevent: { y: 1 }\n").length, 1);
    assert.deepEqual(problemsIn("watch: { on: [spec] }\n", { keys: "ours" }), []);
    assert.equal(problemsIn("env: { A: yes }\n", { keys: "ours" }).length, 1);
  });
});
