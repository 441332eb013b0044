import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { always, eventually, whileRepeating } from "../../support/eventually";
import type { ApiProxy } from "../support/apiProxy";
import { BusyScene, GRACE_MS } from "../support/busyScene";
import { configMap, inNamespace } from "../support/manifests";
import { type Play, withOperatorEach } from "../support/operatorEach";

const LOST = "not leading any more";
/** How many writes of one object may be on their way at once. */
const MOST_AT_ONCE = 16;

const scenes: Readonly<Record<string, Play<BusyScene>>> = {
  "and answers 429 for a while, no object is blamed, and all is done afterwards": (busy) =>
    refused(busy, 429),

  "and answers 500 for a while, no object is blamed, and all is done afterwards": (busy) =>
    refused(busy, 500),

  "and answers 503 for a while, no object is blamed, and all is done afterwards": (busy) =>
    refused(busy, 503),

  "and answers 504 for a while, no object is blamed, and all is done afterwards": (busy) =>
    refused(busy, 504),

  "and something else answers in its place, no object is blamed, and all is done afterwards": async (
    busy,
  ) => {
    const unauthorized = { kind: "Status", reason: "Unauthorized", message: "Unauthorized", code: 401 };
    const answers = [
      { code: 200, body: "<html>Please log in</html>" },
      { code: 200, body: "{}" },
      { code: 200, body: '{"kind":"Status","metadata":{},"status":"Failure"}' },
      { code: 302 },
      { code: 401, body: JSON.stringify(unauthorized) },
    ];
    busy.proxy.before = (request) => (busy.isChildWrite(request) ? answers.shift() : undefined);
    await busy.apply("misled", configMap("misled"));
    await busy.ready("misled");
    assert.deepEqual(answers, []);
    assert.deepEqual(await busy.warningsAbout("misled"), []);
    const results = busy.engine.reportsOf("misled").map(({ result }) => result);
    assert.ok(!results.includes("failed"), results.join());
  },

  "its Retry-After is heeded, and in the meantime the handler is not asked over and over": async (busy) => {
    const times: number[] = [];
    busy.proxy.before = (request) => {
      if (!busy.isChildWrite(request)) return undefined;
      times.push(performance.now());
      return times.length === 1 ? { code: 429, retryAfterSeconds: 5 } : undefined;
    };
    await busy.apply("heeds", configMap("heeds"));
    await busy.ready("heeds");
    const [first = 0, second = 0] = times;
    assert.ok(second - first >= 4_900, `it asked again after ${second - first} ms`);
    assert.ok(busy.operator.calls("heeds").length <= 2, "the handler is asked over and over");
  },

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

  "no write leaves after the term as leader has ended": async (busy) => {
    let turn = Promise.resolve();
    busy.proxy.before = async (request) => {
      if (!busy.isChildWrite(request)) return undefined;
      turn = turn.then(() => sleep(40));
      await turn;
      return undefined;
    };
    await busy.apply("fenced", ...many("fenced", 300));
    await eventually(() => assert.ok(busy.childWrites() > 0));
    await busy.api.patch(busy.operator.lease, {
      spec: {
        holderIdentity: "another-runner",
        leaseDurationSeconds: 60,
        renewTime: new Date().toISOString().replace("Z", "000Z"),
      },
    });
    await eventually(() => assert.ok(!busy.engine.controller.isLeading, "it still leads"));
    // What had left by then has arrived. Without a fence, writes would go on for many seconds.
    await sleep(500);
    const left = busy.childWrites();
    await sleep(3_000);
    assert.equal(busy.childWrites() - left, 0, "writes left later");
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

async function refused(busy: BusyScene, code: number): Promise<void> {
  let refuses = true;
  const retryAfterSeconds = code === 429 || code === 503 ? 1 : undefined;
  const refusal = { code, ...(retryAfterSeconds && { retryAfterSeconds }) };
  busy.proxy.before = (request) => (refuses && busy.isChildWrite(request) ? refusal : undefined);
  const object = await busy.apply("refused", configMap("refused"));
  const blamed = async () => {
    const { conditions = [] } = ((await busy.api.get(object))["status"] ?? {}) as { conditions?: object[] };
    assert.ok(!JSON.stringify(conditions).includes(String(code)), JSON.stringify(conditions));
    assert.deepEqual(await busy.warningsAbout("refused"), []);
  };
  await always(blamed, { forMs: 8_000, pollMs: 200 });
  refuses = false;
  await busy.ready("refused");
  await blamed();
  assert.deepEqual(
    busy.engine.reportsOf("refused").filter(({ result, failure }) => result === "failed" && failure),
    [],
  );
}

function many(name: string, count: number): object[] {
  return Array.from({ length: count }, (_, at) => configMap(`${name}-${at}`));
}
