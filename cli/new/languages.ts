import { FUNCTION_IMAGES } from "../../runtime/definition/definition";

/** What the child's metadata says of its namespace: nothing where the object has one. */
export interface ChildPlace {
  /** In JSON: `, "namespace": "default"`. */
  readonly json: string;
  /** In JavaScript, and in jq. */
  readonly script: string;
}

/** How a handler begins in one language. */
export interface Language {
  /** What `--in` says of it. */
  readonly title: string;
  /** The handler's file. */
  readonly file: string;
  /** What operator.yaml has as handler. */
  readonly handler: string | { readonly image: string; readonly command: readonly string[] };
  /** The handler, which answers a ConfigMap with the fields of spec, each as JSON. */
  readonly source: (kind: string, place: ChildPlace) => string;
}

/** An image with bash and jq. */
const BASH_IMAGE = "alpine/k8s:1.30.0";

/** The languages of `argosy new`, by what `--in` calls them. */
export const LANGUAGES: Readonly<Record<string, Language>> = {
  python: {
    title: "a function in Python",
    file: "main.py",
    handler: "main.py",
    source: (kind, place) => `"""A ConfigMap with the spec of each ${kind}."""

import json


def reconcile(request):
    custom_resource = request["object"]
    name = custom_resource["metadata"]["name"]
    data = {field: json.dumps(value, separators=(",", ":")) for field, value in custom_resource["spec"].items()}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name${place.json}}, "data": data}
    return {"children": [config_map], "status": {"fields": len(data)}}
`,
  },
  typescript: {
    title: "a function in TypeScript",
    file: "main.ts",
    handler: "main.ts",
    source: (kind, place) => `interface ${kind} {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A ConfigMap with the spec of each ${kind}. */
export function reconcile({ object }: { readonly object: ${kind} }) {
  const entries = Object.entries(object.spec).map(([field, value]) => [field, JSON.stringify(value)] as const);
  const configMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: object.metadata.name${place.script} },
    data: Object.fromEntries(entries),
  };
  return { children: [configMap], status: { fields: entries.length } };
}
`,
  },
  javascript: {
    title: "a function in JavaScript",
    file: "main.js",
    handler: "main.js",
    source: (kind, place) => `/** A ConfigMap with the spec of each ${kind}. */
export function reconcile({ object }) {
  const entries = Object.entries(object.spec).map(([field, value]) => [field, JSON.stringify(value)]);
  const configMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: object.metadata.name${place.script} },
    data: Object.fromEntries(entries),
  };
  return { children: [configMap], status: { fields: entries.length } };
}
`,
  },
  bash: {
    title: "a program in bash, with jq",
    file: "main.sh",
    handler: { image: BASH_IMAGE, command: ["bash", "main.sh"] },
    source: (kind, place) => `# A ConfigMap with the spec of each ${kind}.
# One line of JSON comes in for each request, and one goes out.
# If jq fails, the program ends, and its last words are told at once.
set -o errexit
while IFS= read -r request; do
  jq --compact-output '
    .id as $id
    | .object.metadata.name as $name
    | (.object.spec | with_entries(.value |= tojson)) as $data
    | {
        id: $id,
        children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: $name${place.script} }, data: $data }],
        status: { fields: ($data | length) }
      }' <<<"$request"
done
`,
  },
  program: {
    title: "a program that reads and writes lines, to be written again in a language of yours",
    file: "main.js",
    handler: { image: FUNCTION_IMAGES.javascript, command: ["node", "main.js"] },
    source: (kind, place) => `// A ConfigMap with the spec of each ${kind}.
// One line of JSON comes in for each request, and one goes out. Every language has that: change image and command in
// operator.yaml to those of yours.
const { createInterface } = require("node:readline");

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object } = JSON.parse(line);
  const entries = Object.entries(object.spec).map(([field, value]) => [field, JSON.stringify(value)]);
  const configMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: object.metadata.name${place.script} },
    data: Object.fromEntries(entries),
  };
  // What goes to standard output is the answer. Log to standard error.
  console.log(JSON.stringify({ id, children: [configMap], status: { fields: entries.length } }));
});
`,
  },
};
