import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stringify } from "yaml";
import { type LoadOptions, loadOperator } from "../../runtime/definition/loadOperator";
import { displayPath, OperatorError } from "../../runtime/definition/operatorError";
import type { JsonObject } from "../../runtime/kubernetes/objects";

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
export function widgetVersion(fields: JsonObject = {}, properties: JsonObject = {}): JsonObject {
  const openAPIV3Schema = { type: "object", properties: { spec: { type: "object" }, ...properties } };
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
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "argosy-operator-")));
  addFiles(root, files);
  return root;
}

/** Writes files below a folder that is there. */
export function addFiles(root: string, files: Readonly<Record<string, string | JsonObject>>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : stringify(content));
  }
}

/** Removes a folder with all that is in it. */
export function removeFolder(root: string): void {
  rmSync(root, { recursive: true, force: true });
}

/**
 * What is wrong with a definition.
 *
 * @param file - the file that every problem must name
 * @returns the problems without the name of that file; none where the definition is in order
 */
export function problemsOf(
  folder: string,
  definition: unknown,
  file = "operator.ts",
  options: LoadOptions = {},
): string[] {
  const prefix = `${displayPath(path.join(folder, file))}: `;
  try {
    loadOperator(folder, definition, options);
    return [];
  } catch (error) {
    assert.ok(error instanceof OperatorError, String(error));
    assert.equal(error.message, error.problems.join("\n"));
    return error.problems.map((problem) => {
      assert.ok(problem.startsWith(prefix), `${problem} does not begin with ${prefix}`);
      return problem.slice(prefix.length);
    });
  }
}
