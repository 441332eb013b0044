import { FUNCTION_IMAGES } from "../../runtime/definition/definition";

/** The code that sets the child's namespace. Empty if the object has a namespace. */
export interface ChildPlace {
  /** In JSON: `, "namespace": "default"`. */
  readonly json: string;
  /** In JavaScript, and in jq. */
  readonly script: string;
}

/** How a handler begins in one language. */
export interface Language {
  /** The description for `--language`. */
  readonly title: string;
  /** The handler's file. */
  readonly file: string;
  /** The field `handler` of operator.yaml. */
  readonly handler: string | { readonly image: string; readonly command: readonly string[] };
  /** The handler, which returns a ConfigMap with the fields of spec, each as JSON. */
  readonly source: (kind: string, place: ChildPlace) => string;
}

/** An image with bash and jq. */
const BASH_IMAGE = "alpine/k8s:1.30.0";

/** The languages of `argosy new`, by their names in `--language`. */
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
# One line of JSON comes in for each request, and one goes out. If jq fails, the program ends, and its error is reported at once.
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
    title: "a program that reads and writes lines, to be rewritten in your own language",
    file: "main.js",
    handler: { image: FUNCTION_IMAGES.javascript, command: ["node", "main.js"] },
    source: (kind, place) => `// A ConfigMap with the spec of each ${kind}.
// One line of JSON comes in for each request, and one goes out. Every language can do this: change image and command in
// operator.yaml.
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
  // Standard output is only for answers. Write logs to standard error.
  console.log(JSON.stringify({ id, children: [configMap], status: { fields: entries.length } }));
});
`,
  },
};
