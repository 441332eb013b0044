import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const made: string[] = [];

/** Makes a temporary folder, which is removed after the last test of the file. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "argosy-test-")));
  made.push(folder);
  return folder;
}

/** Called by mocha (`require` in .mocharc.json) around each file, or around all files where they run in one process. */
export const mochaHooks = {
  afterAll(): void {
    for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
  },
};
