import assert from "node:assert/strict";
import { kindKey } from "../../runtime/base/resource";
import type { HandlerEvent } from "../../runtime/handler/contract";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { ServedKinds } from "../../runtime/programs/run/servedKinds";
import { operator } from "./support/objects";

const AWAY = { apiVersion: "away.example.com/v1", kind: "Away", plural: "aways", namespaced: true };
const UNAVAILABLE = new ApiError(503, { message: "service unavailable" }, "GET");

describe("the kinds that the API server serves, at the beginning of a run", () => {
  /** @param refusals how often the server of the kind is away, or answers otherwise */
  async function asked(refusals: number, answer = UNAVAILABLE, retired = false): Promise<ServedKinds> {
    let left = refusals;
    const read = async () => {
      if (left-- > 0) throw answer;
      return { resources: [{ name: AWAY.plural, kind: AWAY.kind, namespaced: true }] };
    };
    const client = { read } as unknown as KubernetesClient;
    return ServedKinds.of(operator({ children: [{ ...AWAY, update: "apply", retired }] }), client);
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

  it("hold up an object that has children of one that is missing, as with a resident runner: no handler is asked without them", async () => {
    const missing = new ApiError(404, { message: "page not found" }, "GET");
    const kinds = await asked(1, missing);
    const why = (event: HandlerEvent, kind: string) => kinds.whyNot(event, [kind])?.reason;
    assert.equal(why("reconcile", kindKey(AWAY)), "KindMissing");
    assert.deepEqual(
      [why("finalize", kindKey(AWAY)), why("reconcile", "v1/ConfigMap"), kinds.whyUnknown([kindKey(AWAY)])],
      [undefined, undefined, undefined],
    );
    assert.equal((await asked(1, missing, true)).whyNot("reconcile", [kindKey(AWAY)]), undefined);
    const away = await asked(Number.POSITIVE_INFINITY);
    assert.equal(away.whyNot("finalize", [kindKey(AWAY)])?.reason, "KindNotListed");
  }).timeout(10_000);
});
