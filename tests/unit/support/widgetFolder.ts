import assert from "node:assert/strict";
import path from "node:path";
import { problemsOf, widgetCrd, widgetDefinition, writeFolder } from "../operatorFolder";

/** The folder of a valid operator. */
export class WidgetFolder {
  /** The folder of all operators. */
  root = "";
  /** The operator's own. */
  folder = "";

  /** The only problem of the valid definition with these fields changed. */
  problemWith(fields: object): string | undefined {
    const problems = problemsOf(this.folder, { ...widgetDefinition, ...fields });
    assert.ok(problems.length <= 1, problems.join("\n"));
    return problems[0];
  }
}

/** The folder of a valid operator, anew for each test of a suite. */
export function useWidgetFolder(): WidgetFolder {
  const widget = new WidgetFolder();
  beforeEach(() => {
    widget.root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
    widget.folder = path.join(widget.root, "widget");
  });
  return widget;
}

/** The fields of a handler in this image. */
export function image(name: unknown) {
  return { handler: { ...widgetDefinition.handler, image: name } };
}

/** The fields of a handler with this command. */
export function command(...words: unknown[]) {
  return { handler: { ...widgetDefinition.handler, command: words } };
}

/** The fields of an operator with a child of a kind of RBAC, and with these grants. */
export function granting(kind: string, ...grants: unknown[]) {
  return { children: [{ apiVersion: "rbac.authorization.k8s.io/v1", kind }], grants };
}
