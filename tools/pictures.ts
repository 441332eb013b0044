import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "./packageFolder";
import { pathPicture } from "./pictures/path";
import { type RecordedStep, terminalPicture } from "./pictures/terminal";
import { THEMES } from "./pictures/themes";

/** A recorded output of `npm start -- --json`, with a line for each step. */
const RECORDED_RUN = "tools/pictures/start.jsonl";

/** Every picture of the documentation: its text by its file. */
export function pictures(): ReadonlyMap<string, string> {
  const steps = readFileSync(path.join(PACKAGE_FOLDER, RECORDED_RUN), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as RecordedStep);
  return new Map(
    THEMES.flatMap((theme) => [
      [`docs/pictures/path-${theme.name}.svg`, pathPicture(theme)] as const,
      [`docs/pictures/start-${theme.name}.svg`, terminalPicture(theme, steps)] as const,
    ]),
  );
}

/** `npm run pictures`: draws the pictures. A test fails if they are not current. */
if (require.main === module) {
  mkdirSync(path.join(PACKAGE_FOLDER, "docs/pictures"), { recursive: true });
  for (const [file, text] of pictures()) writeFileSync(path.join(PACKAGE_FOLDER, file), text);
}
