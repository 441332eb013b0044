import assert from "node:assert/strict";
import { checkImageVolumes } from "../../preflight/checkImageVolumes";
import { fakeLook } from "./support/fakeLook";

describe("checkImageVolumes", () => {
  const need = { reason: "initlessPods is true", remedy: "Leave initlessPods out" };

  it("refuses a cluster that has none, with the remedy", async () => {
    const { problems } = await checkImageVolumes(fakeLook({ keepsImageVolumes: false }), need);
    assert.match(
      problems.join("\n"),
      /^initlessPods is true, and the cluster has no image volumes\. Kubernetes has them by default from 1\.35 on, .* nodes\. Leave initlessPods out\.$/,
    );
  });

  it("accepts one that has them or does not show it, and asks nothing if nothing needs them", async () => {
    const none = { problems: [] };
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({ keepsImageVolumes: true }), need), none);
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({}), need), none);
    const asked = fakeLook({ keepsImageVolumes: false });
    assert.deepStrictEqual(await checkImageVolumes(asked, undefined), none);
  });
});
