// Looks whether a tag may be released, and prints what the changelog says of it:
//
//   node .ci/release.mjs v1.2.3
//
// Each file that names the version must name this one, and the changelog has a section of it with a date.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository, or another one: for tests. */
const [tag = "", root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..")] =
  process.argv.slice(2);

const version = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag)?.[1];
if (!version) fail(`"${tag}" is no release. Give a tag such as v1.2.3.`);

const read = (file) => readFileSync(path.join(root, file), "utf8");
const { name } = JSON.parse(read("package.json"));
const NAMING = [
  "package.json",
  ...["plugin/package.json", "plugin/schema.json", "plugin/README.md"],
  ...["templates/typescript/package.json", "templates/python/Pulumi.yaml", "templates/yaml/Pulumi.yaml"],
];
const naming = new RegExp(`"?version"?: "?([^",\\s]+)|"${name}": "([^"]+)"|argosy@(\\S+)`, "g");
const others = NAMING.flatMap((file) => {
  const lines = read(file).split("\n");
  const found = lines.flatMap((line, at) =>
    [...line.matchAll(naming)].map((match) => [`${file}:${at + 1}`, match.slice(1).find(Boolean)]),
  );
  if (found.length === 0) fail(`${file} names no version.`);
  return found.filter(([, its]) => its !== version);
});
if (others.length > 0)
  fail(others.map(([place, found]) => `${place} names ${found}, not ${version}.`).join("\n"));

const sections = read("CHANGELOG.md").split(/^(?=## )/m);
const section = sections.find(
  (text) => text.startsWith(`## ${version} `) || text.startsWith(`## ${version}\n`),
);
if (!section) fail(`CHANGELOG.md has no section "## ${version} (YYYY-MM-DD)".`);
const [heading, ...notes] = section.trimEnd().split("\n");
if (!/ \(\d{4}-\d{2}-\d{2}\)$/.test(heading))
  fail(`CHANGELOG.md: "${heading}" has no date. Write "## ${version} (YYYY-MM-DD)".`);
process.stdout.write(`${notes.join("\n").trim()}\n`);

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
