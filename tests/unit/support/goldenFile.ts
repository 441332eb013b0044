import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Where the golden files are. */
const GOLDEN_FOLDER = path.resolve(__dirname, "../../golden");

/** Asserts that a golden file has this text. With UPDATE_GOLDEN it is written first. */
export function assertGolden(name: string, text: string): void {
  const file = path.join(GOLDEN_FOLDER, name);
  if (process.env.UPDATE_GOLDEN) writeFileSync(file, text);
  assert.ok(existsSync(file), `${file} is missing: UPDATE_GOLDEN=1 writes it`);
  const hint = "UPDATE_GOLDEN=1 npm test -- --grep golden writes the file again. Read the difference.";
  assert.equal(text, readFileSync(file, "utf8"), hint);
}

/**
 * Asserts that a golden file has these lines, in whatever order. UPDATE_GOLDEN only adds lines: one that is no longer given
 * fails, until it is removed from the file by hand.
 */
export function assertOnlyGrows(name: string, lines: readonly string[]): void {
  const file = path.join(GOLDEN_FOLDER, name);
  const sorted = [...new Set(lines)].sort();
  const before = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  const gone = before.filter((line) => !sorted.includes(line));
  assert.deepEqual(
    gone,
    [],
    `${name} has them, and no release may take them away. What was never released: remove the lines by hand.`,
  );
  assertGolden(name, sorted.map((line) => `${line}\n`).join(""));
}
