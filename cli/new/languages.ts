import type { JsonObject } from "../../runtime/base/objects";
import { FUNCTION_IMAGES } from "../../runtime/cli";
import { literal, type Syntax } from "./literals";

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
  /** Whether the handler imports its operator's types. @default false */
  readonly hasTypes?: true;
  /** The handler, which returns a ConfigMap with the fields of spec, each as JSON. */
  readonly source: (kind: string, place: ChildPlace) => string;
  /** The handler that returns these manifests for each object. */
  readonly returning: (kind: string, children: readonly JsonObject[]) => string;
}

const PYTHON: Syntax = {
  words: { true: "True", false: "False", null: "None" },
  pad: "",
  indent: "    ",
  last: ",",
  key: (name) => JSON.stringify(name),
  text: (text) => JSON.stringify(text),
  name: (suffix) => (suffix === "" ? "name" : `name + ${JSON.stringify(suffix)}`),
};

const JAVASCRIPT: Syntax = {
  pad: " ",
  indent: "  ",
  last: ",",
  key: (name) => {
    // Otherwise it would be the object's prototype.
    if (name === "__proto__") return '["__proto__"]';
    return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  },
  text: (text) => JSON.stringify(text),
  name: (suffix) => (suffix === "" ? "name" : `\`\${name}${suffix}\``),
};

/** Within single quotes of bash, which end at the next one. */
const jqText = (text: string) => JSON.stringify(text).replaceAll("'", "\\u0027");
const JQ: Syntax = {
  pad: " ",
  indent: "  ",
  last: "",
  key: jqText,
  text: jqText,
  name: (suffix) => (suffix === "" ? "$name" : `($name + ${jqText(suffix)})`),
};

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
    spec = custom_resource["spec"]
    data = {field: json.dumps(value, ensure_ascii=False, separators=(",", ":")) for field, value in spec.items()}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name${place.json}}, "data": data}
    return {"children": [config_map], "status": {"fields": len(data)}}
`,
    returning: (kind, children) => `"""The children of each ${kind}."""


def reconcile(request):
    name = request["object"]["metadata"]["name"]
    children = ${literal([...children], PYTHON, "    ")}
    return {"children": children}
`,
  },
  typescript: {
    title: "a function in TypeScript",
    file: "main.ts",
    handler: "main.ts",
    hasTypes: true,
    source: (kind, place) => `import type { Answer, Request } from "./${kind.toLowerCase()}-types";

/** A ConfigMap with the spec of each ${kind}. */
export function reconcile({ object }: Request): Answer {
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
    returning: (kind, children) => `import type { Answer, Request } from "./${kind.toLowerCase()}-types";

/** The children of each ${kind}. */
export function reconcile({ object }: Request): Answer {
  const { name } = object.metadata;
  const children = ${literal([...children], JAVASCRIPT, "  ")};
  return { children };
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
    returning: (kind, children) => `/** The children of each ${kind}. */
export function reconcile({ object }) {
  const { name } = object.metadata;
  const children = ${literal([...children], JAVASCRIPT, "  ")};
  return { children };
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
    returning: (kind, children) => `# The children of each ${kind}.
# One line of JSON comes in for each request, and one goes out. If jq fails, the program ends, and its error is reported at once.
set -o errexit
while IFS= read -r request; do
  jq --compact-output '
    .object.metadata.name as $name
    | { id: .id, children: ${literal([...children], JQ, "    ")} }' <<<"$request"
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
    returning: (kind, children) => `// The children of each ${kind}.
// One line of JSON comes in for each request, and one goes out. Every language can do this: change image and command in
// operator.yaml.
const { createInterface } = require("node:readline");

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object } = JSON.parse(line);
  const { name } = object.metadata;
  const children = ${literal([...children], JAVASCRIPT, "  ")};
  // Standard output is only for answers. Write logs to standard error.
  console.log(JSON.stringify({ id, children }));
});
`,
  },
};
