import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Where the golden files are. */
export const GOLDEN_FOLDER = path.resolve(__dirname, "../../golden");

/** Asserts that a golden file has this text. With UPDATE_GOLDEN it is written first. */
export function assertGolden(name: string, text: string): void {
  const file = path.join(GOLDEN_FOLDER, name);
  if (process.env.UPDATE_GOLDEN) writeFileSync(file, text);
  assert.ok(existsSync(file), `${file} is missing: UPDATE_GOLDEN=1 writes it`);
  const hint = "UPDATE_GOLDEN=1 npm test -- --grep golden writes the file again. Read the difference.";
  assert.equal(text, readFileSync(file, "utf8"), hint);
}
