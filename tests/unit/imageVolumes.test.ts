import assert from "node:assert/strict";
import { checkImageVolumes } from "../../preflight/checkImageVolumes";
import { fakeLook } from "./support/fakeLook";

describe("checkImageVolumes", () => {
  it("refuses a cluster that has none, with the remedy", async () => {
    const { problems, unseen } = await checkImageVolumes(fakeLook({ keepsImageVolumes: false }), [
      "cache",
      "shop",
    ]);
    assert.deepStrictEqual(unseen, []);
    assert.match(
      problems.join("\n"),
      /^files of cache, shop names an image, and the cluster has no image volumes\. Kubernetes has them by default from 1\.35 on, .* image\.$/,
    );
  });

  it("takes one that has them, says that it could not see, and asks nothing where no operator needs it", async () => {
    const none = { problems: [], unseen: [] };
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({ keepsImageVolumes: true }), ["cache"]), none);
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({}), ["cache"]), {
      problems: [],
      unseen: ["the feature ImageVolume for files of cache"],
    });
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({ keepsImageVolumes: false }), []), none);
  });
});
