import assert from "node:assert/strict";
import type { Reference } from "../../../tools/objects";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { type OperatorScene, type Play, withOperators } from "../support/operatorEach";
import { TcpProxy } from "../support/tcpProxy";
import type { TestOperator } from "../support/testOperator";
import { answering, becomesReady } from "../support/useOperator";

/** How long the work in progress may take when a test has ended. */
const GRACE_MS = 100;

/** An operator, and a namespace for its objects. */
class Rollout {
  private constructor(
    readonly operator: TestOperator,
    private readonly namespace: string,
  ) {}

  /** A test with such an operator. @param suffix of the operator's name */
  static scene(suffix: string, play: Play<Rollout>): OperatorScene {
    const options = { name: `rollout-${suffix}`, timeoutSeconds: 180 };
    return {
      options,
      play: async (operator) =>
        play(new Rollout(operator, await operator.cluster.api.newNamespace(options.name))),
    };
  }

  apply(name: string, plan = {}) {
    const child = configMap(name, { by: "$CONTROLLER" });
    const object = this.operator.object(name, { ...answering(child), ...plan }, this.namespace);
    return this.operator.cluster.api.apply(object);
  }

  ready(name: string) {
    const object = this.operator.object(name, {}, this.namespace) as Reference;
    return becomesReady(this.operator.cluster.api, object);
  }

  async dataOf(name: string): Promise<unknown> {
    return (await this.operator.cluster.api.get(inNamespace(configMap(name), this.namespace)))["data"];
  }

  /** How often the handler was asked about an object. */
  calls(name: string): number {
    return this.operator.calls(name).length;
  }
}

describe("while one handler is at work for long", function () {
  this.timeout(150_000);

  withOperators(
    {
      "a roll-out holds up no other object, and the work ends with the old code, once": Rollout.scene(
        "once",
        async (rollout) => {
          const { operator } = rollout;
          const old = await operator.start({ identity: "old" });
          await eventually(() => assert.ok(old.controller.isLeading));
          await operator.start({ identity: "new" });
          await rollout.apply("long", { holds: true });
          await eventually(() => assert.equal(rollout.calls("long"), 1));
          const stopped = old.stop();
          await rollout.apply("created");
          await rollout.ready("created");
          assert.deepEqual(await rollout.dataOf("created"), { by: "new" });
          await rollout.apply("created-again");
          await rollout.ready("created-again");
          assert.equal(rollout.calls("long"), 1, "it runs twice at once");
          operator.release("long");
          await rollout.ready("long");
          await stopped;
          // What its run has written exists before another runner runs it again.
          assert.deepEqual(await rollout.dataOf("long"), { by: "old" });
          assert.ok(rollout.calls("long") <= 2);
        },
      ),

      "a change of that object during its run is handled after it, by the new code": Rollout.scene(
        "change",
        async (rollout) => {
          const { operator } = rollout;
          const old = await operator.start({ identity: "old" });
          await eventually(() => assert.ok(old.controller.isLeading));
          const next = await operator.start({ identity: "new" });
          await rollout.apply("changed", { holds: true });
          await eventually(() => assert.equal(rollout.calls("changed"), 1));
          const stopped = old.stop();
          await rollout.apply("changed");
          await eventually(() => assert.ok(next.controller.isLeading, "does not take over"));
          await always(() => assert.equal(rollout.calls("changed"), 1, "two runs at once"), {
            forMs: 2_000,
          });
          operator.release("changed");
          await eventually(() => assert.equal(rollout.calls("changed"), 2));
          await rollout.ready("changed");
          assert.deepEqual(await rollout.dataOf("changed"), { by: "new" });
          await stopped;
        },
      ),

      "a lease that was lost and regained holds up no other object": Rollout.scene(
        "regained",
        async (rollout) => {
          const { operator } = rollout;
          const proxy = await TcpProxy.start(operator.connection);
          try {
            const connection = proxy.through(operator.connection);
            const { controller } = await operator.start({
              identity: "regains",
              leaseSeconds: 6,
              connection,
            });
            await eventually(() => assert.ok(controller.isLeading));
            await rollout.apply("regained", { holds: true });
            await eventually(() => assert.equal(rollout.calls("regained"), 1));
            proxy.hold();
            await eventually(() => assert.ok(!controller.isLeading, "still leads"));
            proxy.release();
            await eventually(() => assert.ok(controller.isLeading, "does not lead again"));
            await rollout.apply("during");
            await rollout.ready("during");
            // The first handler was killed when its term ended.
            await eventually(() => assert.equal(rollout.calls("regained"), 2));
          } finally {
            proxy.release();
            await proxy.stop();
          }
        },
      ),
    },
    GRACE_MS,
  );
});
