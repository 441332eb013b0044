import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { ApiProxy, type ProxiedRequest } from "../support/apiProxy";
import { sharedCluster } from "../support/cluster";
import { configMap } from "../support/manifests";
import type { TestController, TestOperator } from "../support/testOperator";
import { answering } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const FINALIZES = { name: "unlisted-finalizes", finalize: true };

describe("where a kind of the children cannot be listed", function () {
  this.timeout(120_000);
  const bench = useOperators([FINALIZES], { graceMs: 1_000 });
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
});
