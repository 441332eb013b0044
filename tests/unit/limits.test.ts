import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { limitsPage } from "../../tools/reference/limits";

/** What the page says of the manifests, and where the golden file says it. */
const MANIFESTS: readonly (readonly [row: string, words: string, yaml: RegExp])[] = [
  ["Workflows that run or wait", "500", /^ +parallelism: \|\n +500$/m],
  ["events on the bus", "a day, 100,000", /maxAge: 24h\n +maxMsgs: 100000\n/],
  ["events on the bus", "256 MiB without one", /maxBytes: 268435456\n/],
  ["ReplicaSets of a runner", "2", /^ +revisionHistoryLimit: 2$/m],
];

describe("the limits of the manifests in docs/reference/limits.md", () => {
  const golden = readFileSync(path.join(__dirname, "../golden/dev.yaml"), "utf8");
  const lines = limitsPage().split("\n");

  for (const [name, words, yaml] of MANIFESTS) {
    it(`${name}: ${words}`, () => {
      const row = lines.find((line) => line.startsWith(`| ${name}`)) ?? "";
      assert.ok(row.includes(words), row);
      assert.ok(yaml.test(golden), String(yaml));
    });
  }
});
