import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, whileRepeating } from "../../support/eventually";
import type { ApiProxy } from "../support/apiProxy";
import { BusyScene, GRACE_MS } from "../support/busyScene";
import { configMap, inNamespace } from "../support/manifests";
import { type Play, withOperatorEach } from "../support/operatorEach";

const LOST = "not leading any more";
/** How many writes of one object may be on their way at once. */
const MOST_AT_ONCE = 16;

const scenes: Readonly<Record<string, Play<BusyScene>>> = {
  "and takes an object's many children slowly, the lease survives, and a few are on their way at once":
    async (busy) => {
      let [waiting, most] = [0, 0];
      busy.proxy.before = slowly(() => {
        most = Math.max(most, waiting);
      });
      await busy.apply("many", ...many("many", 300));
      let slowestMs = 0;
      const look = async () => {
        const before = performance.now();
        await sleep(200);
        await busy.api.get(busy.operator.lease);
        slowestMs = Math.max(slowestMs, performance.now() - before);
      };
      await whileRepeating(look, () => busy.ready("many", { timeoutMs: 180_000 }));
      // A request about the lease has 3 s. If others take as long, the machine is too busy for any lease.
      assert.ok(!busy.engine.notices.includes(LOST) || slowestMs > 3_000, "it lost its lease");
      assert.ok(most <= MOST_AT_ONCE, `${most} writes at once`);

      function slowly(onWrite: () => void): ApiProxy["before"] {
        let turn = Promise.resolve();
        return async (request) => {
          if (!busy.isChildWrite(request)) return undefined;
          waiting++;
          onWrite();
          turn = turn.then(() => sleep(25));
          await turn;
          waiting--;
          return undefined;
        };
      }
    },

  "with the children of many objects, a second change of another object is not held up": async (busy) => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    busy.proxy.before = async (request) => {
      if (busy.isChildWrite(request) && request.path.includes("/slow-")) await released;
      return undefined;
    };
    await busy.apply("quick", configMap("quick", { step: "1" }));
    await busy.ready("quick");
    for (let at = 0; at < 30; at++) await busy.apply(`slow-${at}`, configMap(`slow-${at}`));
    await eventually(() => assert.ok(busy.childWrites() > 1, "none of them is written"));
    for (const step of ["2", "3"]) {
      await busy.apply("quick", configMap("quick", { step }));
      await eventually(
        async () => {
          const child = await busy.api.get(inNamespace(configMap("quick"), busy.namespace));
          assert.deepEqual(child["data"], { step });
        },
        // A write that is not answered is given up after 65 s.
        { timeoutMs: 25_000 },
      );
    }
    release();
  },
};

describe("when the API server is busy", function () {
  this.timeout(90_000);
  withOperatorEach({ name: "busy", graceMs: GRACE_MS }, BusyScene.play, scenes);
});

function many(name: string, count: number): object[] {
  return Array.from({ length: count }, (_, at) => configMap(`${name}-${at}`));
}
