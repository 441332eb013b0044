import assert from "node:assert/strict";
import { notingUnseen } from "../../preflight/unseen";
import { fakeLook, found } from "./support/fakeLook";

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
});
