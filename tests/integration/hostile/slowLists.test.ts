import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../support/eventually";
import { ApiProxy, isListOf } from "../support/apiProxy";
import { COUNTS, COUNTS_STATUS } from "../support/countingHandler";
import { type OperatorScene, withOperators } from "../support/operatorEach";
import type { TestOperator } from "../support/testOperator";
import { becomesReady } from "../support/useOperator";

/** How long the work in progress may take when a test has ended. */
const GRACE_MS = 1_000;

describe("where the first list of the custom resources takes long", function () {
  this.timeout(120_000);

  withOperators({
    "and comes soon after the begin of a term, no handler is asked with a status from before": scene(
      "soon",
      500,
    ),
    "and comes long after the begin of a term, no handler is asked with a status from before": scene(
      "long",
      12_000,
    ),
  });

  function scene(when: string, afterMs: number): OperatorScene {
    return {
      options: { name: `slow-lists-${when}`, handler: COUNTS, statusSchema: COUNTS_STATUS },
      play: async (operator) => {
        const proxy = await ApiProxy.start(operator.cluster.connection);
        try {
          await play(operator, proxy, afterMs);
        } finally {
          // Before the proxy: an engine that cannot give its lease back waits.
          await operator.dispose(GRACE_MS);
          await proxy.stop();
        }
      },
    };
  }

  async function play(operator: TestOperator, proxy: ApiProxy, afterMs: number): Promise<void> {
    const { api } = operator.cluster;
    const namespace = await api.newNamespace(operator.operator.name);
    const counts = () => operator.calls("counts").map(({ object }) => object["status"] as { count?: number });
    const former = await operator.start({ identity: "former" });
    const object = await becomesReady(api, await api.apply(operator.object("counts", {}, namespace)));

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
    await becomesReady(api, object);
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
  }
});
