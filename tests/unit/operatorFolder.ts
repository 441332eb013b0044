import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import { definitionFile } from "../../definition/definitionFile";
import { type LoadOptions, loadOperator } from "../../definition/loadOperator";
import { displayPath, OperatorError } from "../../definition/problems";
import type { JsonObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import { temporaryFolder } from "../support/temporaryFolder";

/** A CRD that is in order, with `versions` and whatever else a test wants to be otherwise. */
export function widgetCrd(spec: JsonObject = {}, root: JsonObject = {}): JsonObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.shop.example.com" },
    spec: {
      group: "shop.example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets" },
      versions: [widgetVersion()],
      ...spec,
    },
    ...root,
  };
}

/** The stored version of {@link widgetCrd}. */
export function widgetVersion(
  fields: JsonObject = {},
  properties: JsonObject = {},
  schema: JsonObject = {},
): JsonObject {
  const spec = { type: "object" };
  const openAPIV3Schema = { type: "object", properties: { spec, ...properties }, ...schema };
  return { name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, ...fields };
}

/** A definition that is in order, for {@link widgetCrd} in crd.yaml. */
export const widgetDefinition = {
  crd: "crd.yaml",
  handler: { image: "python:3.13-slim", command: ["python3", "main.py"] },
  children: [{ apiVersion: "apps/v1", kind: "Deployment" }],
};

/**
 * Writes files below a new temporary folder.
 *
 * @param files - contents by path; what is not a text is written as YAML
 */
export function writeFolder(files: Readonly<Record<string, string | JsonObject>>): string {
  const root = temporaryFolder();
  addFiles(root, files);
  return root;
}

/** Writes files below a folder that exists. */
export function addFiles(root: string, files: Readonly<Record<string, string | JsonObject>>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : stringify(content, { compat: "yaml-1.1" }));
  }
}

/** Removes a folder with all that is in it. */
export function removeFolder(root: string): void {
  rmSync(root, { recursive: true, force: true });
}

/**
 * What is wrong with a definition.
 *
 * @param options what the program says, and the file that every problem must name. @default operator.yaml
 * @returns the problems without the name of that file, and without line and column; none where the definition is in order
 */
export function problemsOf(
  folder: string,
  definition: unknown,
  { file: name = "operator.yaml", ...options }: LoadOptions & { readonly file?: string } = {},
): string[] {
  const file = displayPath(path.join(folder, name));
  return problemsIn(() => loadDefinition(folder, definition, options)).map((problem) => {
    assert.ok(problem.startsWith(file), `${problem} does not begin with ${file}`);
    const [place = ""] = /^(:\d+:\d+)?: /.exec(problem.slice(file.length)) ?? [];
    return problem.slice(file.length + place.length);
  });
}

/** What an error of this class tells of mistakes, an author's unless told otherwise; none where there are none. */
export function problemsIn(
  act: () => unknown,
  kind: abstract new (...args: never[]) => Error & { readonly problems: readonly string[] } = OperatorError,
): readonly string[] {
  try {
    act();
    return [];
  } catch (error) {
    assert.ok(error instanceof kind, String(error));
    assert.equal(error.message, error.problems.join("\n"));
    return error.problems;
  }
}

/** Writes a definition into an operator's folder, and loads the operator. */
export function loadDefinition(folder: string, definition: unknown, options: LoadOptions = {}): Operator {
  writeFileSync(definitionFile(folder), stringify(definition, { compat: "yaml-1.1" }));
  return loadOperator(folder, options);
}
