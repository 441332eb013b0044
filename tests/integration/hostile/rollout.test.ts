import assert from "node:assert/strict";
import type { Reference } from "../../../tools/objects";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { TcpProxy } from "../support/tcpProxy";
import type { TestOperator } from "../support/testOperator";
import { answering } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const OPERATOR = { name: "rollout", timeoutSeconds: 180 };

describe("while one handler is at work for long", function () {
  this.timeout(150_000);
  const bench = useOperators([OPERATOR], { graceMs: 100 });
  let operator: TestOperator;

  beforeEach(async () => {
    operator = await bench.install(OPERATOR);
  });
  // The operator of the next test is of the same kind, and would work on them too.
  afterEach(async () => {
    const { apiVersion, kind } = operator.object("any");
    for (const object of await bench.api.list({ apiVersion, kind }, bench.namespace))
      await bench.api.delete(object);
  });

  it("a roll-out holds up no other object, and the work ends with the old code, once", async () => {
    const old = await operator.start({ identity: "old" });
    await eventually(() => assert.ok(old.controller.isLeading));
    await operator.start({ identity: "new" });
    await apply("long", { holds: true });
    await eventually(() => assert.equal(operator.calls("long").length, 1));
    const stopped = old.stop();
    await apply("created");
    await ready("created");
    assert.deepEqual(await dataOf("created"), { by: "new" });
    await apply("created-again");
    await ready("created-again");
    assert.equal(operator.calls("long").length, 1, "it runs twice at once");
    operator.release("long");
    await ready("long");
    await stopped;
    // What its run has written is there before anybody runs it again.
    assert.deepEqual(await dataOf("long"), { by: "old" });
    assert.ok(operator.calls("long").length <= 2);
  });

  it("a change of that object meanwhile is handled after it, by the new code", async () => {
    const old = await operator.start({ identity: "old" });
    await eventually(() => assert.ok(old.controller.isLeading));
    const next = await operator.start({ identity: "new" });
    await apply("changed", { holds: true });
    await eventually(() => assert.equal(operator.calls("changed").length, 1));
    const stopped = old.stop();
    await apply("changed");
    await eventually(() => assert.ok(next.controller.isLeading, "does not take over"));
    await always(() => assert.equal(operator.calls("changed").length, 1, "two runs at once"), {
      forMs: 2_000,
    });
    operator.release("changed");
    await eventually(() => assert.equal(operator.calls("changed").length, 2));
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
      await apply("regained", { holds: true });
      await eventually(() => assert.equal(operator.calls("regained").length, 1));
      proxy.hold();
      await eventually(() => assert.ok(!controller.isLeading, "still leads"));
      proxy.release();
      await eventually(() => assert.ok(controller.isLeading, "does not lead again"));
      await apply("meanwhile");
      await ready("meanwhile");
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

  function ready(name: string) {
    return bench.ready(operator.object(name, {}, bench.namespace) as Reference);
  }

  async function dataOf(name: string): Promise<unknown> {
    return (await bench.api.get(inNamespace(configMap(name), bench.namespace)))["data"];
  }
});
