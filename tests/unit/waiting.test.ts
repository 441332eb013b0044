import assert from "node:assert/strict";
import type { ChildStore } from "../../runtime/children/childStore";
import { Following } from "../../runtime/pod/run/following";
import { Waiting, type WaitingOptions } from "../../runtime/pod/run/waiting";
import { widget } from "./support/objects";

describe("Waiting", () => {
  it("sees a child that becomes ready while the children are read", async () => {
    const following = new Following();
    following.open = () => {};
    const object = widget();
    const phased = (phase: string) => ({ apiVersion: "v1", kind: "Pod", metadata: {}, status: { phase } });
    let pod = phased("Pending");
    let reads = 0;
    const children = {
      sink: () => undefined,
      of: () => [{ resource: { apiVersion: "v1", kind: "Pod" }, resourceVersion: "1" }],
      read: async () => {
        const read = pod;
        if (++reads === 2) {
          // The watch reports the change after the API server has answered, and before the answer is here.
          pod = phased("Succeeded");
          following.wake();
        }
        return read;
      },
    } as unknown as ChildStore;
    const waiting = new Waiting({
      operator: {},
      children,
      following,
      known: () => object,
      listed: () => "1",
    } as unknown as WaitingOptions);
    const begin = performance.now();
    assert.equal(await waiting.awaitNews(1_500, 0, undefined), true);
    assert.ok(performance.now() - begin < 1_000, "it slept over the report");
  });
});
