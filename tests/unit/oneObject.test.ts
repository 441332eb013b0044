import assert from "node:assert/strict";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { conditionsIn } from "../../runtime/kubernetes/objects";
import { OneObject, type OneObjectOptions } from "../../runtime/pod/run/oneObject";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, operator, WIDGETS, widget } from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };

describe("an object in a run of its own", () => {
  let cluster: FakeCluster;
  let object: OneObject;

  beforeEach(() => {
    cluster = new FakeCluster();
    cluster.put(widget());
    object = new OneObject({
      operator: operator(),
      resource: WIDGETS,
      kinds: { found: [CONFIG_MAPS], whyUnknown: () => undefined } as unknown as OneObjectOptions["kinds"],
      client: cluster.client(),
      pool: {
        ask: async () => {
          const answer = { children: [configMap({ name: "a" }), configMap({ name: "b" })] };
          return { answer, length: 100, log: "" };
        },
      },
      fence: { assert: () => {}, problem: undefined },
      name: NAME,
      namespace: "argosy",
      instance: "pod",
      runName: () => undefined,
      program: undefined,
      predecessorUids: [],
    });
  });
  afterEach(() => object.close());

  it("says why the run failed, though the answer was lost that part of the children is remembered", async () => {
    cluster.refusals.set("apply ConfigMap b", new ApiError(422, { kind: "Status", message: "no" }, "PATCH"));
    let writes = 0;
    cluster.lost.get = (step) =>
      step === "status" && writes++ === 0 ? new ApiUnreachableError("PATCH", new Error("cut")) : undefined;
    const report = await object.reconcile(await object.read(), 1);
    assert.equal(report.failure?.reason, "ChildRefused");
    const [ready] = conditionsIn(cluster.find("Widget", NAME)?.["status"]);
    assert.deepEqual([writes, ready?.status, ready?.reason], [2, "False", "ChildRefused"]);
  });
});
