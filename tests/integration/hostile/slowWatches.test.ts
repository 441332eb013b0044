import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { ApiProxy, isOfKind, isWatch } from "../support/apiProxy";
import { sharedCluster } from "../support/cluster";
import { COUNTS, COUNTS_IN_STATE, COUNTS_STATUS } from "../support/countingHandler";
import type { TestOperator } from "../support/testOperator";
import { useOperators } from "../support/useOperators";
import { useWatching } from "../support/useWatching";

const OPERATOR = { name: "slow-watches", handler: COUNTS, statusSchema: COUNTS_STATUS };

describe("where the watch of the objects is late, and a hint brings a new object before it", function () {
  this.timeout(60_000);
  const bench = useOperators([OPERATOR], { graceMs: 1_000 });
  const watching = useWatching();
  let proxy: ApiProxy;
  let release: () => void;
  beforeEach(async () => {
    proxy = await ApiProxy.start((await sharedCluster()).connection);
  });
  afterEach(() => proxy.stop());

  /** Starts a controller that sees no event of this resource until {@link release}. */
  async function blind(operator: TestOperator, plural: string) {
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let held = 0;
    proxy.after = async (request) => {
      if (!isOfKind(request, plural) || !isWatch(request)) return;
      held++;
      await released;
    };
    const engine = await operator.start({ connection: proxy.through(operator.connection) });
    // It lists once more when its term begins, and watches from there.
    await eventually(() => assert.ok(engine.controller.isLeading && held > 1, "does not watch"));
    return engine;
  }

  it("no handler is asked with a status from before", async () => {
    const { api, namespace } = bench;
    const operator = await bench.install(OPERATOR);
    const { controller } = await blind(operator, operator.operator.customResource.plural);
    const counts = () =>
      operator.calls("hinted").map(({ object }) => (object["status"] as { count?: number })?.count ?? 0);
    const object = await api.apply(operator.object("hinted", {}, namespace));
    assert.ok(controller.hint({ namespace, name: "hinted" }));
    await bench.ready(object);
    assert.equal(counts().length, 1);
    release();
    await eventually(() => assert.ok(counts().length > 1, "its creation is not reported"));
    await eventually(async () => {
      const { status } = await api.get(object);
      assert.equal((status as { count?: number }).count, counts().length);
    });
    assert.deepEqual(counts(), [...counts().keys()], "an act was done twice");
  });

  it("what its handler wants to be given again is remembered, though the object is not ours", async () => {
    const { namespace } = watching;
    const operator = await watching.install({ handler: COUNTS_IN_STATE });
    const engine = await blind(operator, "deployments");
    const counts = () => operator.calls("hinted").map(({ state }) => state?.["count"] ?? 0);
    const object = await watching.watched(operator, "hinted");
    assert.ok(engine.controller.hint({ namespace, name: "hinted" }));
    await eventually(() => assert.equal(engine.reportsOf("hinted").length, 1));
    release();
    await eventually(() => assert.ok(counts().length > 1, "its creation is not reported"));
    await watching.settled(operator, object);
    assert.deepEqual(counts(), [...counts().keys()], "an act was done twice");
  });
});
