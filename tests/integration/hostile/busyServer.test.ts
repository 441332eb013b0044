import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Reference } from "../../../tools/objects";
import { always, eventually, meanwhile } from "../../support/eventually";
import type { Api } from "../support/api";
import { ApiProxy, type ProxiedRequest } from "../support/apiProxy";
import { configMap, inNamespace } from "../support/manifests";
import type { TestController, TestOperator } from "../support/testOperator";
import { answering, type ObjectEvent } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const LOST = "not leading any more";
/** So many writes of one object may be on their way at once. */
const MOST_AT_ONCE = 16;

describe("when the API server is busy", function () {
  this.timeout(90_000);
  const OPERATOR = { name: "busy" };
  const bench = useOperators([OPERATOR], { graceMs: 1_000 });
  let api: Api;
  let operator: TestOperator;
  let proxy: ApiProxy;
  let engine: TestController;
  let namespace: string;

  beforeEach(async () => {
    ({ api, namespace } = bench);
    operator = await bench.install(OPERATOR);
    proxy = await ApiProxy.start(operator.cluster.connection);
    engine = await operator.start({ connection: proxy.through(operator.connection) });
    await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"));
  });
  afterEach(async () => {
    await proxy.stop();
    await api.delete(operator.lease).catch(() => {});
  });

  for (const code of [429, 500, 503, 504]) {
    it(`and answers ${code} for a while, no object is blamed, and all is done afterwards`, async () => {
      let busy = true;
      const retryAfterSeconds = code === 429 || code === 503 ? 1 : undefined;
      const refusal = { code, ...(retryAfterSeconds && { retryAfterSeconds }) };
      proxy.before = (request) => (busy && isChildWrite(request) ? refusal : undefined);
      const object = await apply("refused", configMap("refused"));
      const blamed = async () => {
        const { conditions = [] } = ((await api.get(object))["status"] ?? {}) as { conditions?: object[] };
        assert.ok(!JSON.stringify(conditions).includes(String(code)), JSON.stringify(conditions));
        assert.deepEqual(await warningsAbout("refused"), []);
      };
      await always(blamed, { forMs: 8_000 });
      busy = false;
      await ready("refused");
      await blamed();
      assert.deepEqual(
        engine.reportsOf("refused").filter(({ result, failure }) => result === "failed" && failure),
        [],
      );
    });
  }

  it("its Retry-After is heeded, and in the meantime the handler is not asked over and over", async () => {
    const times: number[] = [];
    proxy.before = (request) => {
      if (!isChildWrite(request)) return undefined;
      times.push(performance.now());
      return times.length === 1 ? { code: 429, retryAfterSeconds: 5 } : undefined;
    };
    await apply("heeds", configMap("heeds"));
    await ready("heeds");
    const [first = 0, second = 0] = times;
    assert.ok(second - first >= 4_900, `it asked again after ${second - first} ms`);
    assert.ok(operator.calls("heeds").length <= 2, "the handler is asked over and over");
  });

  it("and takes an object's many children slowly, the lease survives, and a few are on their way at once", async () => {
    let [waiting, most] = [0, 0];
    proxy.before = slowly(() => {
      most = Math.max(most, waiting);
    });
    await apply("many", ...many("many", 300));
    let slowestMs = 0;
    const look = async () => {
      const before = performance.now();
      await sleep(200);
      await api.get(operator.lease);
      slowestMs = Math.max(slowestMs, performance.now() - before);
    };
    await meanwhile(look, () => ready("many", { timeoutMs: 180_000 }));
    // A request about the lease has 3 s. If others take as long, the machine is too busy for any lease.
    assert.ok(!engine.notices.includes(LOST) || slowestMs > 3_000, "it lost its lease");
    assert.ok(most <= MOST_AT_ONCE, `${most} writes at once`);

    function slowly(onWrite: () => void): ApiProxy["before"] {
      let turn = Promise.resolve();
      return async (request) => {
        if (!isChildWrite(request)) return undefined;
        waiting++;
        onWrite();
        turn = turn.then(() => sleep(25));
        await turn;
        waiting--;
        return undefined;
      };
    }
  });

  it("no write leaves after the term as leader has ended", async () => {
    let turn = Promise.resolve();
    proxy.before = async (request) => {
      if (!isChildWrite(request)) return undefined;
      turn = turn.then(() => sleep(40));
      await turn;
      return undefined;
    };
    await apply("fenced", ...many("fenced", 300));
    await eventually(() => assert.ok(childWrites() > 0));
    await api.patch(operator.lease, {
      spec: {
        holderIdentity: "somebody-else",
        leaseDurationSeconds: 60,
        renewTime: new Date().toISOString().replace("Z", "000Z"),
      },
    });
    await eventually(() => assert.ok(!engine.controller.isLeading, "it still leads"));
    // What had left by then has arrived. Without a fence, writes would go on for many seconds.
    await sleep(500);
    const left = childWrites();
    await sleep(3_000);
    assert.equal(childWrites() - left, 0, "writes left later");
  });

  it("with the children of many objects, a second change of another object is not held up", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    proxy.before = async (request) => {
      if (isChildWrite(request) && request.path.includes("/slow-")) await released;
      return undefined;
    };
    await apply("quick", configMap("quick", { step: "1" }));
    await ready("quick");
    for (let at = 0; at < 30; at++) await apply(`slow-${at}`, configMap(`slow-${at}`));
    await eventually(() => assert.ok(childWrites() > 1, "none of them is written"));
    for (const step of ["2", "3"]) {
      await apply("quick", configMap("quick", { step }));
      await eventually(
        async () => {
          const child = await api.get(inNamespace(configMap("quick"), namespace));
          assert.deepEqual(child["data"], { step });
        },
        // A write that is not answered is given up after 65 s.
        { timeoutMs: 25_000 },
      );
    }
    release();
  });

  /** Of this test's objects: those of the other tests are still there. */
  function isChildWrite({ method, path }: ProxiedRequest): boolean {
    return method === "PATCH" && path.includes(`/namespaces/${namespace}/configmaps/`);
  }

  function childWrites(): number {
    return proxy.requests.filter(isChildWrite).length;
  }

  function apply(name: string, ...children: object[]) {
    return api.apply(operator.object(name, answering(...children), namespace));
  }

  function many(name: string, count: number): object[] {
    return Array.from({ length: count }, (_, at) => configMap(`${name}-${at}`));
  }

  function ready(name: string, patience = {}) {
    return bench.ready(operator.object(name, {}, namespace) as Reference, patience);
  }

  async function warningsAbout(name: string): Promise<string[]> {
    const all = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
    return (all as unknown as (ObjectEvent & { regarding: { name: string } })[])
      .filter(({ type, regarding }) => type === "Warning" && regarding.name === name)
      .map(({ reason, note }) => `${reason}: ${note}`);
  }
});
