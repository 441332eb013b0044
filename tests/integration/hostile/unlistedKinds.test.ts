import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../support/eventually";
import { ApiProxy, type ProxiedRequest, type Refusal } from "../support/apiProxy";
import { sharedCluster } from "../support/cluster";
import { configMap } from "../support/manifests";
import type { TestController, TestOperator } from "../support/testOperator";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, conditionOf } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const HOLDER = { apiVersion: "engine.example.com/v1", kind: "UnlistedHolder", plural: "unlistedholders" };
const CHILDREN = [{ apiVersion: "v1", kind: "ConfigMap" }, HOLDER];
const FINALIZES = { name: "unlisted-finalizes", finalize: true };
const HOLDS = { name: "unlisted-holds", finalize: true, children: CHILDREN };
const BROKEN = "conversion webhook for engine.example.com/v1, Kind=UnlistedHolder failed: connection refused";
/** As the API server answers each list of a kind whose conversion webhook is away: with 429 if it has not cached the kind yet. */
const FAILURE = failureOf(500, BROKEN);
const FAILURES = [FAILURE, failureOf(429, `storage is (re)initializing: failed to list: ${BROKEN}`)];

function failureOf(code: number, message: string): Refusal {
  return {
    code,
    body: JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, code }),
  };
}

describe("where a kind of the children cannot be listed", function () {
  this.timeout(120_000);
  const bench = useOperators([FINALIZES, HOLDS], { graceMs: 1_000 });
  let proxy: ApiProxy;
  beforeEach(async () => {
    proxy = await ApiProxy.start((await sharedCluster()).connection);
  });
  afterEach(() => proxy.stop());

  const isListOf = ({ path }: ProxiedRequest, plural: string) =>
    path.split("?")[0]?.endsWith(`/${plural}`) === true && !path.includes("watch=true");

  async function leads(operator: TestOperator): Promise<TestController> {
    const engine = operator.launch({ connection: proxy.through(operator.connection) });
    await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"), { timeoutMs: 30_000 });
    return engine;
  }

  it("yet, the handler finalizes when its list has come, with all children", async () => {
    const { api, namespace } = bench;
    const operator = await bench.install(FINALIZES);
    const before = await operator.start();
    const spec = { ...answering(configMap("precious")), finalize: { answer: { finalized: false } } };
    const object = await bench.ready(await api.apply(operator.object("goes", spec, namespace)));
    await before.stop();
    await api.delete(object);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    proxy.before = async (request) => {
      if (isListOf(request, "configmaps")) await released;
      return undefined;
    };
    const finalizes = () => operator.calls("goes").filter(({ event }) => event === "finalize");
    const engine = await leads(operator);
    await eventually(() => assert.ok(engine.reportsOf("goes").length > 1, "it is not looked at"));
    assert.deepEqual(finalizes(), []);
    release();
    await eventually(() => assert.ok(finalizes().length > 0, "it is not asked"));
    for (const { children } of finalizes())
      assert.deepEqual(
        children.map(({ metadata }) => metadata.name),
        ["precious"],
      );
    operator.plan("goes", { finalize: { answer: { finalized: true } } });
    await eventually(() => api.assertGone(object));
  });

  for (const failure of FAILURES)
    it(`by its own fault (${failure.code}), the objects without such children are served, and the others say so`, async () => {
      const { api, namespace } = bench;
      await api.apply(customResourceDefinitionOf({ name: "unlisted-holder" }));
      const operator = await bench.install(HOLDS);
      const before = await operator.start();
      const { apiVersion, kind } = HOLDER;
      const holder = (name: string) => ({ apiVersion, kind, metadata: { name }, spec: {} });
      const apply = (name: string, child: object) =>
        api.apply(operator.object(name, answering(child), namespace));
      const needs = await bench.ready(await apply("needs", holder("needed")));
      const goes = await bench.ready(await apply("goes", holder("going")));
      await before.stop();
      proxy.before = (request) => (isListOf(request, HOLDER.plural) ? failure : undefined);
      const engine = await leads(operator);
      await sleep(2_000);
      assert.deepEqual(
        engine.reportsOf("needs").flatMap(({ failure }) => failure ?? []),
        [],
      );
      const served = await apply("served", configMap("served"));
      await bench.ready(served, { timeoutMs: 40_000 });
      await api.delete(goes);
      for (const object of [needs, goes])
        await eventually(
          async () => {
            const { status, reason, message } = conditionOf(await api.get(object), "Ready");
            assert.deepEqual([status, reason], ["False", "KindNotListed"], message);
            assert.ok(message.includes(BROKEN) && message.includes(HOLDER.kind), message);
            assert.ok(!message.includes("pulumi up"), message);
          },
          { timeoutMs: 40_000 },
        );
      assert.deepEqual(
        operator.calls("goes").filter(({ event }) => event === "finalize"),
        [],
      );
      proxy.before = () => undefined;
      await bench.ready(needs, { timeoutMs: 40_000 });
      await eventually(() => api.assertGone(goes), { timeoutMs: 40_000 });
    });

  it("as no kind can, since the API server is busy: no object is blamed", async () => {
    const { api, namespace } = bench;
    await api.apply(customResourceDefinitionOf({ name: "unlisted-holder" }));
    const operator = await bench.install(HOLDS);
    const { apiVersion, kind } = HOLDER;
    const holder = { apiVersion, kind, metadata: { name: "held" }, spec: {} };
    const before = await operator.start();
    const object = await bench.ready(await api.apply(operator.object("busy", answering(holder), namespace)));
    await before.stop();
    let isOwnListed = true;
    const own = operator.operator.customResource.plural;
    proxy.before = (request) => {
      if (isListOf(request, own)) {
        // The very first list comes through, and no other.
        if (isOwnListed) {
          isOwnListed = false;
          return undefined;
        }
        return FAILURE;
      }
      return isListOf(request, HOLDER.plural) || isListOf(request, "configmaps") ? FAILURE : undefined;
    };
    const engine = await leads(operator);
    await sleep(20_000);
    assert.deepEqual(
      engine.reportsOf("busy").flatMap(({ failure }) => failure ?? []),
      [],
    );
    proxy.before = () => undefined;
    await eventually(() => assert.ok(engine.reportsOf("busy").some(({ result }) => result === "succeeded")), {
      timeoutMs: 40_000,
    });
    await bench.ready(object);
  });
});
