import assert from "node:assert/strict";
import { kindKey } from "../../runtime/base/resource";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { ServedKinds } from "../../runtime/programs/run/servedKinds";
import { operator } from "./support/objects";

const AWAY = { apiVersion: "away.example.com/v1", kind: "Away", plural: "aways", namespaced: true };
const UNAVAILABLE = new ApiError(503, { message: "service unavailable" }, "GET");

describe("the kinds that the API server serves, at the beginning of a run", () => {
  /** @param refusals how often the server of the kind is away */
  async function asked(refusals: number): Promise<ServedKinds> {
    let left = refusals;
    const read = async () => {
      if (left-- > 0) throw UNAVAILABLE;
      return { resources: [{ name: AWAY.plural, kind: AWAY.kind, namespaced: true }] };
    };
    const client = { read } as unknown as KubernetesClient;
    return ServedKinds.of(operator({ children: [{ ...AWAY, update: "apply" }] }), client);
  }

  it("are known although the server of one is away for a moment", async () => {
    assert.deepEqual((await asked(2)).all, [AWAY]);
  });

  it("are unknown, each for itself, if the server of one is away for longer", async function () {
    this.timeout(10_000);
    const kinds = await asked(Number.POSITIVE_INFINITY);
    assert.deepEqual(kinds.found, []);
    assert.equal(kinds.whyUnknown([kindKey(AWAY)])?.reason, "KindNotListed");
    assert.equal(kinds.whyUnknown(["v1/ConfigMap"]), undefined);
  });
});
