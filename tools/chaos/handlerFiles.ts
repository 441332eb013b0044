import { readFileSync } from "node:fs";
import path from "node:path";

const FOLDER = path.join(__dirname, "handler");

/** The file that tells the handler its version. */
export const VERSION_FILE = "version";

/** The files of a chaos run's handler by their names, in the first version. */
export const HANDLER_FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["main.js", "children.js"].map((file) => [file, readFileSync(path.join(FOLDER, file), "utf8")]),
  ),
  [VERSION_FILE]: "1",
};
