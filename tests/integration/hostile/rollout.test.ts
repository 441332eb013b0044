import assert from "node:assert/strict";
import type { Reference } from "../../../tools/objects";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { TcpProxy } from "../support/tcpProxy";
import type { TestOperator } from "../support/testOperator";
import { answering } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const OPERATOR = { name: "rollout", timeoutSeconds: 180 };
const LONG_MS = 60_000;
/** How long an object may wait that nobody works on: until long before the other one's work has ended. */
const WITHIN = { timeoutMs: 25_000 };

describe("while one handler is at work for long", function () {
  this.timeout(150_000);
  const bench = useOperators([OPERATOR], { graceMs: 100 });
  let operator: TestOperator;

  beforeEach(async () => {
    operator = await bench.install(OPERATOR);
  });

  it("a roll-out holds up no other object, and the work ends with the old code, once", async () => {
    const old = await operator.start({ identity: "old" });
    await eventually(() => assert.ok(old.controller.isLeading));
    await operator.start({ identity: "new" });
    await apply("long", { delayMs: LONG_MS });
    await eventually(() => assert.equal(operator.calls("long").length, 1));
    const stopped = old.stop();
    await apply("created");
    await ready("created", WITHIN);
    assert.deepEqual(await dataOf("created"), { by: "new" });
    await apply("created-again");
    await ready("created-again", WITHIN);
    assert.equal(operator.calls("long").length, 1, "it runs twice at once");
    await ready("long");
    await stopped;
    // What its run has written is there before anybody runs it again.
    assert.deepEqual(await dataOf("long"), { by: "old" });
    assert.ok(operator.calls("long").length <= 2);
  });

  it("a change of that object meanwhile is handled after it, by the new code", async () => {
    const old = await operator.start({ identity: "old" });
    await eventually(() => assert.ok(old.controller.isLeading));
    await operator.start({ identity: "new" });
    const startedAt = performance.now();
    await apply("changed", { delayMs: LONG_MS / 6 });
    await eventually(() => assert.equal(operator.calls("changed").length, 1));
    const stopped = old.stop();
    await apply("changed");
    await eventually(() => assert.equal(operator.calls("changed").length, 2));
    assert.ok(performance.now() - startedAt >= LONG_MS / 6, "two runs at once");
    await ready("changed");
    assert.deepEqual(await dataOf("changed"), { by: "new" });
    await stopped;
  });

  it("a lease that was lost and regained holds up no other object", async () => {
    const proxy = await TcpProxy.start(operator.connection);
    try {
      const connection = proxy.through(operator.connection);
      const { controller } = await operator.start({ identity: "regains", leaseSeconds: 6, connection });
      await eventually(() => assert.ok(controller.isLeading));
      await apply("regained", { delayMs: 120_000 });
      await eventually(() => assert.equal(operator.calls("regained").length, 1));
      proxy.hold();
      await eventually(() => assert.ok(!controller.isLeading, "still leads"));
      proxy.release();
      await eventually(() => assert.ok(controller.isLeading, "does not lead again"));
      await apply("meanwhile");
      await ready("meanwhile", WITHIN);
      assert.equal(operator.calls("regained").length, 1, "it runs twice at once");
    } finally {
      proxy.release();
      await proxy.stop();
    }
  });

  function apply(name: string, plan = {}) {
    const child = configMap(name, { by: "$CONTROLLER" });
    return bench.api.apply(operator.object(name, { ...answering(child), ...plan }, bench.namespace));
  }

  function ready(name: string, patience = {}) {
    return bench.ready(operator.object(name, {}, bench.namespace) as Reference, patience);
  }

  async function dataOf(name: string): Promise<unknown> {
    return (await bench.api.get(inNamespace(configMap(name), bench.namespace)))["data"];
  }
});
