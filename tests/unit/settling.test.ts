import assert from "node:assert/strict";
import { ApiError, isBusy, retryAfterMs, settled } from "../../runtime/kubernetes/errors";

const PATH = 'forbidden: User "runner" cannot get path "/apis/apps/v1"';
const RESOURCE = 'pods is forbidden: User "runner" cannot list resource "pods" in API group ""';

function refusal(message: string, code = 403): ApiError {
  return new ApiError(code, { kind: "Status", reason: "Forbidden", message }, "GET /api/v1/pods");
}

describe("the error for a refusal", () => {
  for (const message of [RESOURCE, PATH])
    it(`takes a server that was away a moment ago for busy, for five seconds: ${message}`, () => {
      const taken = settled(refusal(message), 4_900);
      assert.ok(isBusy(taken));
      assert.equal(retryAfterMs(taken), 1_000);
      assert.ok(taken.message.endsWith(message));
      assert.equal(settled(refusal(message), 5_000).code, 403);
    });

  it("changes no other answer, and none of a server that was not away", () => {
    assert.equal(settled(refusal(RESOURCE), Number.POSITIVE_INFINITY).code, 403);
    assert.equal(settled(refusal("the policy forbids it"), 0).code, 403);
    assert.equal(settled(refusal(RESOURCE, 404), 0).code, 404);
  });
});
