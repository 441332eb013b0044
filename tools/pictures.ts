import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ScaleFigures } from "./bench/scale";
import { PACKAGE_FOLDER } from "./packageFolder";
import { pathPicture } from "./pictures/path";
import { scalePicture } from "./pictures/scale";
import { type RecordedStep, terminalPicture } from "./pictures/terminal";
import { THEMES, type Theme } from "./pictures/themes";

/** A recorded output of `npm start -- --json`, with a line for each step. */
const RECORDED_RUN = "tools/pictures/start.jsonl";
/** What `npm run bench -- --scale --json` printed. */
const MEASURED_SCALE = "tools/bench/scale.json";

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
      ...scalePictures(theme),
    ]),
  );
}

/** None before the figures of a run are kept: `npm run bench -- --scale --json > tools/bench/scale.json`. */
function scalePictures(theme: Theme): [string, string][] {
  const file = path.join(PACKAGE_FOLDER, MEASURED_SCALE);
  if (!existsSync(file)) return [];
  const figures = JSON.parse(readFileSync(file, "utf8")) as ScaleFigures;
  return [[`docs/pictures/scale-${theme.name}.svg`, scalePicture(theme, figures)]];
}

/** `npm run pictures`: draws the pictures. A test fails if they are not current. */
if (require.main === module) {
  mkdirSync(path.join(PACKAGE_FOLDER, "docs/pictures"), { recursive: true });
  for (const [file, text] of pictures()) writeFileSync(path.join(PACKAGE_FOLDER, file), text);
}
