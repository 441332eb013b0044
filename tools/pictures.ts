import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathPicture } from "./pictures/path";
import { THEMES } from "./pictures/themes";

const ROOT = path.join(__dirname, "..");

/** Every picture of the documentation: its text by its file. */
export function pictures(): ReadonlyMap<string, string> {
  return new Map(THEMES.map((theme) => [`docs/pictures/path-${theme.name}.svg`, pathPicture(theme)]));
}

/** `npm run pictures`: draws them. A test tells when that is due. */
if (require.main === module) {
  mkdirSync(path.join(ROOT, "docs/pictures"), { recursive: true });
  for (const [file, text] of pictures()) writeFileSync(path.join(ROOT, file), text);
}
