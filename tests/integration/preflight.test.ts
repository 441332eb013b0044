import assert from "node:assert/strict";
import { buildWorkflowConfiguration } from "../../components/manifests/platform/workflowController";
import { lookInCluster } from "../../preflight/lookInCluster";
import type { Manifest } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { platformOptions } from "../unit/support/platform";
import { configMap, inNamespace } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { useNamespace } from "./support/useNamespace";

describe("the preflight's look into a cluster", function () {
  this.timeout(60_000);
  const bench = useNamespace("preflight");

  it("finds the configuration of Workflow controllers, ours and those of a Helm chart", async () => {
    const { api, namespace } = bench;
    const name = "argo-workflow-controller-configmap";
    const chart = inNamespace(configMap(name, { config: "instanceID: team\n" }), namespace);
    const ours = buildWorkflowConfiguration(
      platformOptions({ controllerNamespace: namespace, instanceId: "argosy", initlessPods: true }),
    );
    const other = inNamespace(configMap("shop", { instanceID: "shop" }), namespace);
    for (const manifest of [chart, ours as unknown as Manifest, other]) await api.create(manifest);

    // A preview does not wait for a busy API server: then nothing is known.
    const found = await eventually(async () => {
      const controllers = await lookInCluster({ kubeconfig: await askForCluster() }, (look) =>
        look.workflowControllers(),
      );
      assert.ok(controllers);
      return controllers;
    });
    const here = found.filter((controller) => controller.configMap.startsWith(`${namespace}/`));
    assert.deepEqual(here, [
      {
        configMap: `${namespace}/${name}`,
        instanceId: "team",
        initlessPods: false,
        takesOnlyTemplates: false,
      },
      {
        configMap: `${namespace}/workflow-controller-configmap`,
        instanceId: "argosy",
        initlessPods: true,
        takesOnlyTemplates: true,
      },
    ]);
  });
});
