import assert from "node:assert/strict";
import fc from "fast-check";
import { checkPlatformOptions } from "../../components/manifests/platform/checkOptions";
import type { PlatformOptions } from "../../components/manifests/platform/options";
import { anyPlatformOptions, platformOptions } from "./support/platform";

const problems = (options: Partial<PlatformOptions>) => checkPlatformOptions(platformOptions(options));
const keysOf = (options: Partial<PlatformOptions>) => problems(options).map(({ key }) => key);

describe("checkPlatformOptions", () => {
  it("has nothing to say of options that are right", () => {
    const right = anyPlatformOptions.filter(
      ({ argoWorkflows, instanceId }) => argoWorkflows !== "share" || instanceId !== "",
    );
    fc.assert(fc.property(right, (options) => assert.deepStrictEqual(checkPlatformOptions(options), [])));
  });

  it("wants namespaces that are DNS labels", () => {
    for (const name of ["", "Argosy", "a.b", "-a", "a-", "a".repeat(64)]) {
      assert.deepStrictEqual(keysOf({ namespace: name }), ["namespace"], name);
      assert.deepStrictEqual(keysOf({ controllerNamespace: name }), ["controllerNamespace"], name);
    }
    assert.deepStrictEqual(problems({ namespace: "a.b" }), [
      {
        key: "namespace",
        complaint: 'is "a.b", not a DNS label',
        remedy: 'At most 63 lower-case letters, digits and "-", for example "argosy".',
      },
    ]);
  });

  it("wants two namespaces", () => {
    assert.deepStrictEqual(keysOf({ controllerNamespace: "argosy" }), ["controllerNamespace"]);
  });

  it("makes no namespace of Kubernetes' own, but uses one", () => {
    assert.deepStrictEqual(keysOf({ namespace: "default" }), ["namespace"]);
    assert.deepStrictEqual(keysOf({ controllerNamespace: "kube-system" }), ["controllerNamespace"]);
    assert.deepStrictEqual(keysOf({ namespace: "default", createNamespaces: false }), []);
  });

  it("wants an instance id that can be a label's value", () => {
    for (const instanceId of ["-a", "a b", "a/b", "a".repeat(64)]) {
      assert.deepStrictEqual(keysOf({ instanceId }), ["instanceId"], instanceId);
    }
  });

  it("wants an instance id beside another Workflow controller, and only there", () => {
    assert.deepStrictEqual(keysOf({ instanceId: "", argoWorkflows: "share" }), ["instanceId"]);
    assert.deepStrictEqual(keysOf({ instanceId: "", argoEvents: "share" }), []);
    assert.deepStrictEqual(keysOf({ instanceId: "", argoWorkflows: "adopt" }), []);
  });

  it("knows three ways into the cluster", () => {
    const wrong = { argoEvents: "none", argoWorkflows: true } as unknown as Partial<PlatformOptions>;
    assert.deepStrictEqual(keysOf(wrong), ["argoEvents", "argoWorkflows"]);
  });
});
