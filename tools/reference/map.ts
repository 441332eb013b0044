import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "../packageFolder";
import { FOLDERS } from "./folders";

const PAGE = "CONTRIBUTING.md";
const BEGIN =
  "<!-- The map: `npm run reference` makes it of tools/reference/folders.ts and of each file's first line. -->\n";
const END = "<!-- The end of the map. -->\n";
/** The column in which what a place is begins. */
const COLUMN = 22;
const WIDTH = 120;

/** CONTRIBUTING.md with today's map: every folder of {@link FOLDERS}, and in it the files whose first line is a comment. */
export function contributingPage(): string {
  const page = readFileSync(path.join(PACKAGE_FOLDER, PAGE), "utf8");
  const [before = "", after = ""] = [page.split(BEGIN)[0], page.split(END)[1]];
  const lines = Object.entries(FOLDERS).flatMap(([place, what]) => [
    lineOf(place, what),
    ...(place.endsWith("/") ? headsIn(place) : []),
  ]);
  return `${before}${BEGIN}\n${lines.join("")}\n${END}${after}`;
}

/** The lines of a folder's files, those to begin with first. Its user may have removed handlers/. */
function headsIn(folder: string): string[] {
  const place = path.join(PACKAGE_FOLDER, folder);
  const heads = (existsSync(place) ? readdirSync(place) : [])
    .filter((name) => /\.(ts|mjs|cjs)$/.test(name))
    .flatMap((name) => {
      const head = headOf(path.join(place, name));
      return head === undefined ? [] : [{ name, head }];
    });
  const isFirst = (head: string): number => (head.includes("Begin here") ? 0 : 1);
  return heads
    .sort((one, other) => isFirst(one.head) - isFirst(other.head))
    .map(({ name, head }) => lineOf(`${folder}${name}`, head));
}

/** What a file's first line says of it. Undefined if that is no comment. */
function headOf(file: string): string | undefined {
  return /^(?:#!.*\n)?\/\/ (?!biome-ignore)(.+[.?])\n/.exec(readFileSync(file, "utf8"))?.[1];
}

/** A place and what it is, indented by its depth, and broken where it is too long. */
function lineOf(place: string, what: string): string {
  const above = Object.keys(FOLDERS).filter((folder) => folder !== place && place.startsWith(folder));
  const indent = " ".repeat(4 + 2 * above.length);
  const name = place.slice(Math.max(0, ...above.map(({ length }) => length)));
  const rows = [""];
  // A command stays in one line.
  for (const word of what.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const row = rows.at(-1) ?? "";
    if (row !== "" && indent.length + COLUMN + row.length + word.length >= WIDTH) rows.push(word);
    else rows[rows.length - 1] = row === "" ? word : `${row} ${word}`;
  }
  const [first, ...more] = rows;
  const gap = `\n${indent}${" ".repeat(COLUMN)}`;
  return `${indent}${`${name} `.padEnd(COLUMN)}${[first, ...more].join(gap)}\n`;
}
