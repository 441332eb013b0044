import assert from "node:assert/strict";
import { ApiError, isBusy, retryAfterMs } from "../../runtime/kubernetes/errors";
import { Settling } from "../../runtime/kubernetes/settling";

const PATH = 'forbidden: User "runner" cannot get path "/apis/apps/v1"';
const RESOURCE = 'pods is forbidden: User "runner" cannot list resource "pods" in API group ""';

function refusal(message: string, code = 403): ApiError {
  return new ApiError(code, { kind: "Status", reason: "Forbidden", message }, "GET /api/v1/pods");
}

describe("Settling", () => {
  let now: number;
  let settling: Settling;
  beforeEach(() => {
    now = 0;
    settling = new Settling(() => now);
  });

  for (const message of [RESOURCE, PATH])
    it(`takes a server that was away a moment ago for busy, for five seconds: ${message}`, () => {
      settling.wasAway();
      now = 4_900;
      const taken = settling.taken(refusal(message));
      assert.ok(isBusy(taken));
      assert.equal(retryAfterMs(taken), 1_000);
      assert.ok(taken.message.endsWith(message));
      now = 5_000;
      assert.equal(settling.taken(refusal(message)).code, 403);
    });

  it("changes no other answer, and none of a server that was not away", () => {
    assert.equal(settling.taken(refusal(RESOURCE)).code, 403);
    settling.wasAway();
    assert.equal(settling.taken(refusal("the policy forbids it")).code, 403);
    assert.equal(settling.taken(refusal(RESOURCE, 404)).code, 404);
  });
});
