import type { Manifest } from "../../../runtime/base/objects";

/** What the handler does instead of answering well, and the reason that the Ready condition then carries. */
export const FAILURES = {
  error: "HandlerError",
  crash: "HandlerCrashed",
  hang: "HandlerTimedOut",
  garbage: "InvalidAnswer",
  stray: "InvalidAnswer",
  undeclared: "InvalidAnswer",
} as const;

/** The spec of the property tests' objects. */
export interface PropertySpec {
  readonly mode: "good" | keyof typeof FAILURES;
  readonly value: number;
  /** How many ConfigMaps. */
  readonly maps: number;
  readonly secret: boolean;
  readonly service: boolean;
  /** A namespace for one more ConfigMap, where no owner reference reaches. */
  readonly far?: string;
  readonly delayMs: number;
}

/**
 * The handler, as the pure function that it is: what it gives for an object. It runs in the test, for what to
 * expect, and in the handler's process, by its own source: it must use nothing from outside of it.
 * @param version the version of the handler's files
 */
export function childrenOf(name: string, spec: PropertySpec, version: number): Manifest[] {
  const labels = { app: name };
  const text = `${spec.value} by ${version}`;
  const configMap = (metadata: { name: string; namespace?: string }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...metadata, labels },
    data: { value: text },
  });
  const children: Manifest[] = Array.from({ length: spec.maps }, (_, at) =>
    configMap({ name: `${name}-${at}` }),
  );
  if (spec.far) children.push(configMap({ name, namespace: spec.far }));
  if (spec.secret) {
    const data = { value: Buffer.from(text).toString("base64") };
    children.push({ apiVersion: "v1", kind: "Secret", metadata: { name: `${name}-secret`, labels }, data });
  }
  if (spec.service) {
    const ports = [{ port: 1 + spec.value }];
    const metadata = { name, labels, annotations: { text } };
    children.push({ apiVersion: "v1", kind: "Service", metadata, spec: { ports, selector: labels } });
  }
  return children;
}

/** One line of {@link RUNS_FILE}. */
export interface RunMark {
  readonly controller: string;
  readonly name: string;
  readonly what: "start" | "end";
  readonly mode: PropertySpec["mode"];
}

/** In the operator's folder: the begin and the end of each of the handler's runs, in their order. */
export const RUNS_FILE = "runs.jsonl";
/** In the operator's folder: the version of the handler. */
export const VERSION_FILE = "version";

/** The source of main.js. */
export const HANDLER_SOURCE = `
const fs = require("node:fs");
const { createInterface } = require("node:readline");
// tsx calls this for each named function, so that the function keeps its name.
const __name = (named) => named;
const childrenOf = ${childrenOf};
const version = Number(fs.readFileSync("${VERSION_FILE}", "utf8"));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object } = JSON.parse(line);
  const { name } = object.metadata;
  const { spec } = object;
  const { mode } = spec;
  const mark = (what) =>
    fs.appendFileSync("${RUNS_FILE}", JSON.stringify({ controller: process.env.CONTROLLER, name, what, mode }) + "\\n");
  const children = childrenOf(name, spec, version);
  const status = { value: spec.value };
  const answers = {
    good: { children, status },
    error: { error: { message: "no" } },
    undeclared: { children: [...children, { apiVersion: "v1", kind: "Pod", metadata: { name } }], status },
    stray: { children: [], status },
  };
  const answer = mode === "garbage" ? "{" : JSON.stringify({ id, ...answers[mode] });
  mark("start");
  setTimeout(() => {
    if (mode === "hang") return;
    mark("end");
    if (mode === "crash") process.exit(7);
    const stray = mode === "stray" ? JSON.stringify(answers.stray) + "\\n" : "";
    process.stdout.write(stray + answer + "\\n");
  }, spec.delayMs);
});
`;
