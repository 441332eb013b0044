import assert from "node:assert/strict";
import { checkLosses } from "../../preflight/checkLosses";
import { checkPlatform } from "../../preflight/checkPlatform";
import { notingUnseen } from "../../preflight/unseen";
import { fakeLook, found, SHOP } from "./support/fakeLook";

describe("notingUnseen", () => {
  it("names each question without an answer once, and no other", async () => {
    const look = fakeLook({ crds: { seen: found(), gone: "absent" }, keepsImageVolumes: false });
    const { found: answers, unseen } = await notingUnseen(look, (noting) =>
      Promise.all([
        noting.crd("seen"),
        noting.crd("gone"),
        noting.keepsImageVolumes(),
        noting.namespace("argosy"),
        noting.namespace("argosy"),
        noting.hasSecret("argosy-system", "archive"),
      ]),
    );
    assert.deepEqual(answers, [found(), "absent", false, undefined, undefined, undefined]);
    assert.deepEqual(unseen, ["the namespace argosy", "the Secret archive in argosy-system"]);
  });

  it("tells of all that would be deleted, if that is not seen", async () => {
    const platform = {
      ...SHOP,
      argoEvents: "none",
      argoWorkflows: "none",
      instanceId: "",
      namespaces: [],
      needed: [],
      namespace: "argosy",
      controllerNamespace: "argosy-system",
    } as const;
    const { unseen } = await notingUnseen(fakeLook({}), (noting) =>
      Promise.all([checkPlatform(noting, platform), checkLosses(noting, SHOP)]),
    );
    assert.deepEqual(unseen, [
      "the CRDs of Argo that this stack created",
      "the namespaces that this stack created",
    ]);
  });
});
