import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../support/eventually";
import { ApiProxy, type ProxiedRequest } from "../support/apiProxy";
import { sharedCluster } from "../support/cluster";
import { COUNTS, COUNTS_STATUS } from "../support/countingHandler";
import { useOperators } from "../support/useOperators";

const OPERATOR = { name: "slow-lists", handler: COUNTS, statusSchema: COUNTS_STATUS };

describe("where the first list of the custom resources takes long", function () {
  this.timeout(120_000);
  const bench = useOperators([OPERATOR], { graceMs: 1_000 });
  let proxy: ApiProxy;
  beforeEach(async () => {
    proxy = await ApiProxy.start((await sharedCluster()).connection);
  });
  afterEach(() => proxy.stop());

  for (const [when, afterMs] of [
    ["soon", 500],
    ["long", 12_000],
  ] as const)
    it(`and comes ${when} after the begin of a term, no handler is asked with a status from before`, async () => {
      const { api, namespace } = bench;
      const operator = await bench.install(OPERATOR);
      const name = `counts-${when}`;
      const counts = () => operator.calls(name).map(({ object }) => object["status"] as { count?: number });
      const former = await operator.start({ identity: "former" });
      const object = await bench.ready(await api.apply(operator.object(name, {}, namespace)));

      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      let held = 0;
      proxy.after = async (request) => {
        if (!isListOf(request, operator.operator.customResource.plural)) return;
        held++;
        await released;
      };
      const next = operator.launch({
        identity: "next",
        connection: proxy.through(operator.connection),
      });
      await eventually(() => assert.ok(held > 0, "it does not list"));
      const before = counts().length;
      await api.annotate(object, { "argosy.dev/reconcile-at": "now" });
      await eventually(() => assert.ok(counts().length > before, "it is not reconciled"));
      await bench.ready(object);
      await former.stop();
      const done = counts().length;
      await eventually(() => assert.ok(next.controller.isLeading, "does not lead"), { timeoutMs: 30_000 });
      await sleep(afterMs);
      release();
      await eventually(() => assert.ok(counts().length > done, "the next one does nothing"), {
        timeoutMs: 30_000,
      });
      await eventually(async () => {
        const { status } = await api.get(object);
        assert.equal((status as { count?: number }).count, counts().length);
      });
      const seen = counts().map((status) => status?.count ?? 0);
      assert.deepEqual(seen, [...seen.keys()], "an act was done twice");
    });

  function isListOf({ path }: ProxiedRequest, plural: string): boolean {
    return path.split("?")[0]?.endsWith(`/${plural}`) === true && !path.includes("watch=true");
  }
});
