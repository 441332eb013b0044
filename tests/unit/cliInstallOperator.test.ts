import assert from "node:assert/strict";
import path from "node:path";
import { installOperator } from "../../cli/local/installOperator";
import { displayPath } from "../../definition/problems";
import type { Manifest } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { loadDefinition, removeFolder, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";

describe("the installation of an operator", () => {
  for (const [code, what] of [
    [409, "the object has been modified"],
    [422, "is invalid"],
    [500, "has an unknown field"],
  ] as const) {
    it(`names the folder of a CRD that the API server refuses with ${code}`, async () => {
      const root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
      const folder = path.join(root, "widget");
      const operator = loadDefinition(folder, widgetDefinition);
      const client = {
        apply: async (_: unknown, { kind }: Manifest) => {
          if (kind === "CustomResourceDefinition") throw new ApiError(code, { message: what }, "PATCH");
        },
      } as unknown as KubernetesClient;
      const name = "widgets.shop.example.com";
      await assert.rejects(installOperator({ client, operator, namespace: "argosy" }), {
        message: `${displayPath(folder)}: the API server refused the CRD ${name}: ${what}`,
      });
      removeFolder(root);
    });
  }

  it("says of a CRD that a stack deployed how an edit of it is applied, and not how to take it over", async () => {
    const root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
    const operator = loadDefinition(path.join(root, "widget"), widgetDefinition);
    const refusal = 'Apply failed with 1 conflict: conflict with "them"';
    const details = { causes: [{ reason: "FieldManagerConflict" }] };
    const saidOf = async (annotations: Record<string, string>) => {
      const client = {
        apply: async (_: unknown, { kind }: Manifest) => {
          if (kind === "CustomResourceDefinition")
            throw new ApiError(409, { message: refusal, details }, "PATCH");
        },
        get: async () => ({ metadata: { annotations } }),
      } as unknown as KubernetesClient;
      const error = await installOperator({ client, operator, namespace: "argosy" }).catch(
        (thrown: Error) => thrown,
      );
      return error?.message ?? "";
    };
    const ofStack = await saidOf({ "argosy.dev/program": "acme/shop/prod" });
    assert.equal(
      ofStack,
      "CustomResourceDefinition widgets.shop.example.com belongs to the Pulumi stack acme/shop/prod, and this working tree changes it. " +
        "Apply the change with pulumi up, or try it on the embedded control plane, with argosy dev without --context. " +
        refusal,
    );
    assert.match(await saidOf({}), /was created by others\. Use another cluster\. .*patchForce/);
    removeFolder(root);
  });

  it("names the folder of a CRD of which another one has a name, and what to do", async () => {
    const root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
    const folder = path.join(root, "widget");
    const message = '"WidgetList" is already in use';
    const taken = { status: { conditions: [{ type: "NamesAccepted", status: "False", message }] } };
    const client = { apply: async () => {}, get: async () => taken } as unknown as KubernetesClient;
    const operator = loadDefinition(folder, widgetDefinition);
    await assert.rejects(
      installOperator({ client, operator, namespace: "argosy" }),
      ({ message: said }: Error) => {
        assert.ok(said.startsWith(`${displayPath(folder)}: the cluster does not accept the names`), said);
        assert.match(
          said,
          /"WidgetList" is already in use\. Another CRD of the same group has this name: give/,
        );
        return true;
      },
    );
    removeFolder(root);
  });
});
