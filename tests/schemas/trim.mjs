// Makes the JSON files in this folder out of a release of Argo:
//
//   curl -fsSL https://raw.githubusercontent.com/argoproj/argo-events/v1.9.11/api/jsonschema/schema.json |
//     node tests/schemas/trim.mjs argo-events v1.9.11
//
// It keeps the kinds that Argosy writes and whatever they refer to, and leaves out the prose: the result has a tenth of
// the size and refuses the same manifests. One definition is one line, so that a new release has a readable difference.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const KINDS = {
  "argo-events": ["EventBus", "EventSource", "Sensor"],
  "argo-workflows": ["ClusterWorkflowTemplate", "CronWorkflow", "Workflow", "WorkflowTemplate"],
};
const PROSE = ["description", "title"];

const [project, version] = process.argv.slice(2);
const kinds = KINDS[project];
if (!kinds || !/^v\d+\.\d+\.\d+$/.test(version ?? "")) {
  process.stderr.write(`usage: node trim.mjs <${Object.keys(KINDS).join("|")}> <v1.2.3> < schema.json\n`);
  process.exit(2);
}
const { definitions } = JSON.parse(readFileSync(0, "utf8"));

/** The definitions of the kinds, and all that they refer to, by name. */
function reachable() {
  const names = new Set();
  const add = (name) => {
    if (names.has(name)) return;
    if (!definitions[name]) throw new Error(`${name} is referred to and not defined`);
    names.add(name);
    for (const [, referred] of JSON.stringify(definitions[name]).matchAll(/"#\/definitions\/([^"]+)"/g))
      add(referred);
  };
  for (const kind of kinds) {
    const name = Object.keys(definitions).find((name) => definitions[name].properties?.kind?.const === kind);
    if (!name) throw new Error(`no definition of ${kind}`);
    add(name);
  }
  return [...names].sort();
}

/** A schema without its prose. Below `properties` the keys are names of fields: one may be called "description". */
function withoutProse(schema, areFields = false) {
  if (Array.isArray(schema)) return schema.map((each) => withoutProse(each));
  if (schema === null || typeof schema !== "object") return schema;
  const kept = Object.entries(schema).filter(([key]) => areFields || !PROSE.includes(key));
  return Object.fromEntries(
    kept.map(([key, value]) => [key, withoutProse(value, key === "properties" && !areFields)]),
  );
}

const source = `https://github.com/argoproj/${project}/blob/${version}/api/jsonschema/schema.json`;
const comment = `Copyright The Argo Authors. Apache License 2.0. Cut down by tests/schemas/trim.mjs from ${source}`;
const lines = reachable().map(
  (name) => `    ${JSON.stringify(name)}: ${JSON.stringify(withoutProse(definitions[name]))}`,
);
const text = `{\n  "$comment": ${JSON.stringify(comment)},\n  "definitions": {\n${lines.join(",\n")}\n  }\n}\n`;
writeFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), `${project}.json`), text);
