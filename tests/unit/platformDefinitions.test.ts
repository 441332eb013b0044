import assert from "node:assert/strict";
import {
  buildArgoEventsDefinitions,
  buildArgoWorkflowsDefinitions,
} from "../../components/manifests/platform/definitions";
import { platformOptions } from "./support/platform";

const definitions = [
  ...Object.values(buildArgoEventsDefinitions(platformOptions())),
  ...Object.values(buildArgoWorkflowsDefinitions(platformOptions())),
];

describe("the definitions of Argo's kinds", () => {
  it("are waited for until they are established", () => {
    for (const { metadata } of definitions) {
      // A list, as Pulumi reads it (pulumi-kubernetes, provider/pkg/metadata/overrides.go, ReadyCondition).
      const waitFor = metadata.annotations?.["pulumi.com/waitFor"] ?? "";
      assert.deepStrictEqual(JSON.parse(waitFor), ["condition=Established"]);
    }
  });

  it("are small: all together less than one of Argo's own", () => {
    assert.ok(JSON.stringify(definitions).length < 16_000);
  });
});
