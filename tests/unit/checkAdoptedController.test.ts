import assert from "node:assert/strict";
import { checkAdoptedController } from "../../preflight/checkAdoptedController";
import { checkRestrictions } from "../../preflight/checkRestrictions";
import { CONFIG_MAP_NAME, readControllerConfiguration } from "../../preflight/controllerConfiguration";
import { fakeLook, found } from "./support/fakeLook";

const theirs = {
  configMap: "argo/workflow-controller-configmap",
  instanceId: "",
  initlessPods: false,
  takesOnlyTemplates: false,
};
const NOTHING = { problems: [] };

describe("checkAdoptedController", () => {
  const check = (
    platform: { instanceId: string; initlessPods?: boolean },
    ...controllers: (typeof theirs)[]
  ) => checkAdoptedController(fakeLook({ workflowControllers: controllers }), platform);

  it("refuses another layout of pods than the controller's, with the remedy", async () => {
    assert.deepEqual(await check({ instanceId: "" }, { ...theirs, initlessPods: true }), {
      problems: [
        'argoWorkflows is "adopt" and initlessPods is false, but the existing Workflow controller has initlessPod enabled (ConfigMap argo/workflow-controller-configmap). Set initlessPods to true.',
      ],
    });
    const { problems } = await check({ instanceId: "", initlessPods: true }, theirs);
    assert.match(
      problems.join("\n"),
      /initlessPods is true, .* does not have .* Set initlessPods to false\.$/,
    );
  });

  it("accepts a controller that agrees, even if others do not", async () => {
    const other = { ...theirs, configMap: "team/workflow-controller-configmap", initlessPods: true };
    assert.deepEqual(await check({ instanceId: "" }, other, theirs), NOTHING);
    assert.deepEqual(await check({ instanceId: "", initlessPods: true }, other, theirs), NOTHING);
  });

  it("warns if it finds controllers, but none with the instance id", async () => {
    assert.deepEqual(await check({ instanceId: "shop" }, { ...theirs, instanceId: "team" }), {
      problems: [],
      warnings: [
        'argoWorkflows is "adopt", and no Workflow controller with the instanceId "shop" was found (there is "team" in argo/workflow-controller-configmap). If there is none, no run begins.',
      ],
    });
  });

  it("says nothing about what it cannot see", async () => {
    assert.deepEqual(await check({ instanceId: "" }), NOTHING);
    assert.deepEqual(await checkAdoptedController(fakeLook({}), { instanceId: "" }), NOTHING);
  });
});

describe("checkRestrictions", () => {
  const check = (...controllers: (typeof theirs)[]) =>
    checkRestrictions(fakeLook({ workflowControllers: controllers }), { namespace: "shop" });

  it("warns of each controller that accepts any Workflow, with the remedy, and refuses nothing", async () => {
    const strict = { ...theirs, configMap: "team/workflow-controller-configmap", takesOnlyTemplates: true };
    assert.deepEqual(await check(theirs, strict), {
      ...NOTHING,
      warnings: [
        'the Workflow controller of the ConfigMap argo/workflow-controller-configmap accepts any Workflow. If it manages the namespace shop, each account that may create Workflows there can run any pod as any account there. Set "workflowRestrictions: { templateReferencing: Strict }" in this ConfigMap, or let this controller manage other namespaces only.',
      ],
    });
  });

  it("says nothing if each controller accepts only templates, or if the cluster shows none", async () => {
    const nothing = { ...NOTHING, warnings: [] };
    assert.deepEqual(await check({ ...theirs, takesOnlyTemplates: true }), nothing);
    assert.deepEqual(await checkRestrictions(fakeLook({}), { namespace: "shop" }), nothing);
  });
});

describe("readControllerConfiguration", () => {
  const read = (data?: Record<string, string>) =>
    readControllerConfiguration({
      ...found({ name: "workflow-controller-configmap", namespace: "argo" }),
      ...(data && { data }),
    });

  it("reads fields in keys of their own, and all of them in the key config", () => {
    const configured = { ...theirs, instanceId: "team", initlessPods: true };
    assert.deepEqual(read({ instanceID: "team", initlessPod: "enabled: true\n" }), configured);
    assert.deepEqual(read({ config: "instanceID: team\ninitlessPod: {enabled: true}\n" }), configured);
  });

  it("reads YAML as Argo does: version 1.1, and names in any case", () => {
    const configured = { ...theirs, instanceId: "7", initlessPods: true };
    assert.deepEqual(read({ config: "instanceID: 007\ninitlessPod: {enabled: yes}\n" }), configured);
    assert.deepEqual(read({ instanceId: "007", initlesspod: "Enabled: on\n" }), configured);
  });

  it("knows whether the controller accepts only Workflows of a template, in both forms", () => {
    for (const mode of ["Strict", "Secure"]) {
      assert.ok(read({ workflowRestrictions: `templateReferencing: ${mode}` })?.takesOnlyTemplates, mode);
      assert.ok(
        read({ config: `workflowRestrictions: {templateReferencing: ${mode}}` })?.takesOnlyTemplates,
        mode,
      );
    }
    for (const text of ["", "templateReferencing: strict", "templateReferencing: ''"]) {
      assert.equal(read({ workflowRestrictions: text })?.takesOnlyTemplates, false, text);
    }
  });

  it("knows Argo's defaults, and leaves out what is no configuration", () => {
    for (const data of [undefined, {}, { config: "" }, { initlessPod: "enabled: false" }]) {
      assert.deepEqual(read(data), theirs);
    }
    assert.equal(read({ config: "{" }), undefined);
  });

  it("is asked for the names of Argo's manifests and of its Helm chart", () => {
    for (const name of ["workflow-controller-configmap", "argo-workflow-controller-configmap"]) {
      assert.match(name, CONFIG_MAP_NAME);
    }
    assert.doesNotMatch("workflow-controller-configmap-old", CONFIG_MAP_NAME);
  });
});
