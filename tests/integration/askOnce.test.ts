import assert from "node:assert/strict";
import { always, eventually } from "../support/eventually";
import { ApiProxy, type ProxiedRequest } from "./support/apiProxy";
import { announceKind, sharedCluster } from "./support/cluster";
import { configMap } from "./support/manifests";
import { customResourceDefinitionOf, type TestController, TestOperator } from "./support/testOperator";
import { becomesReady } from "./support/useOperator";

const OPTIONS = { name: "ask-once", ask: "changed" as const, resyncSeconds: 10 };
const NAMES = Array.from({ length: 10 }, (_, index) => `shop-${index}`);
const MARK = "argosy.dev/asked-by";

/** The tests build on each other: each is a further process of the operator. */
describe("an operator whose handler promises to be pure", function () {
  this.timeout(120_000);
  announceKind(customResourceDefinitionOf(OPTIONS));
  let operator: TestOperator;
  let proxy: ApiProxy;
  let engine: TestController;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), OPTIONS);
    proxy = await ApiProxy.start(operator.cluster.connection);
    namespace = await operator.cluster.api.newNamespace("ask-once");
    engine = await start("one");
    for (const name of NAMES) {
      await operator.cluster.api.apply(planned(name, { size: "1" }));
    }
    for (const name of NAMES) await ready(name);
    await eventually(async () => assert.ok(await mark(), "no mark"));
    // The first list of the children after their creation is news of them.
    const isUnchanged = (name: string) =>
      engine.reportsOf(name).some(({ skipped }) => skipped === "unchanged");
    await eventually(() => assert.ok(NAMES.every(isUnchanged)));
  });
  after(async () => {
    await engine?.stop();
    await proxy?.stop();
    await operator?.dispose();
  });

  const start = (program: string) =>
    operator.start({ connection: proxy.through(operator.connection), program, identity: program });
  const planned = (name: string, data: Record<string, string>) =>
    operator.object(
      name,
      { answer: { children: [configMap(name, data)] as never[], status: { seen: 1 } } },
      namespace,
    );
  const asked = () => NAMES.reduce((sum, name) => sum + operator.calls(name).length, 0);
  const writes = (requests: readonly ProxiedRequest[]) =>
    requests
      .filter(({ method, path }) => method !== "GET" && !path.includes("/leases/"))
      .map(({ method, path }) => `${method} ${path}`);
  const lookedAt = ({ reports }: TestController) =>
    NAMES.every((name) => reports.some((report) => report.name === name));

  const ready = (name: string) => becomesReady(operator.cluster.api, operator.object(name, {}, namespace));
  async function mark(): Promise<string | undefined> {
    return (await operator.cluster.api.get(operator.lease)).metadata.annotations?.[MARK];
  }
  /** Another process takes over. @returns how often the handler was asked until every object was looked at, and what was written */
  async function restart(program: string): Promise<{ asks: number; written: string[] }> {
    await engine.stop();
    const [before, from] = [asked(), proxy.requests.length];
    engine = await start(program);
    await eventually(() => assert.ok(lookedAt(engine), "not all were looked at"));
    await eventually(async () => assert.ok(await mark(), "no mark"));
    return { asks: asked() - before, written: writes(proxy.requests.slice(from)) };
  }

  it("is not asked after a restart, which writes nothing", async () => {
    assert.deepEqual(await restart("one"), { asks: 0, written: [] });
    await always(
      () => assert.equal(engine.reports.filter(({ skipped }) => skipped !== "unchanged").length, 0),
      {
        forMs: 1_000,
      },
    );
  });

  it("is asked about what changed while no runner led, and about nothing else", async () => {
    await engine.stop();
    const [name = "", other = ""] = NAMES;
    const { api } = operator.cluster;
    await api.apply({ ...configMap(name, { size: "by hand" }), metadata: { name, namespace } });
    await api.apply(planned(other, { size: "2" }));
    const before = NAMES.map((each) => operator.calls(each).length);
    await restart("one");
    await eventually(async () => {
      const children = await Promise.all(
        [name, other].map((each) => api.get({ ...configMap(each), metadata: { name: each, namespace } })),
      );
      assert.deepEqual(
        children.map(({ data }) => data),
        [{ size: "1" }, { size: "2" }],
      );
    });
    const isAsked = NAMES.map((each, index) => operator.calls(each).length > (before[index] ?? 0));
    assert.deepEqual(
      NAMES.filter((_, index) => isAsked[index]),
      [name, other],
    );
    await ready(other);
    assert.deepEqual((await restart("one")).written, []);
  });
});
