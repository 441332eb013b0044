import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

const CHILDREN = 20;
/** How long the handler thinks: the collector works before, while and after the children are written. */
const HANDLER_MS = [0, 200];
const DELAYS_MS = [0, 50, 100, 150, 200];
/** The garbage collector, and a run that is late, have done by then what they do. */
const SETTLED_MS = 2_000;

describe("when an object is deleted and its children are to stay", function () {
  this.timeout(120_000);
  const bench = useOperator({ name: "orphaning" });
  const nameOf = (name: string, at: number) => `${name}-${at}`;
  const children = (name: string, step: string) =>
    Array.from({ length: CHILDREN }, (_, at) => configMap(nameOf(name, at), { step }));

  for (const handlerMs of HANDLER_MS) {
    it(`in the middle of a run whose handler takes ${handlerMs} ms, all of them stay`, async () => {
      const survivors = await Promise.all(
        DELAYS_MS.map((delayMs, at) => survivorsOf({ handlerMs, delayMs, startMs: at * 400 })),
      );
      assert.deepEqual(
        survivors,
        DELAYS_MS.map(() => CHILDREN),
      );
    });
  }

  async function survivorsOf({ handlerMs = 0, delayMs = 0, startMs = 0 }): Promise<number> {
    const name = `after-${delayMs}`;
    await bench.applied(name, answering(...children(name, "1")));
    // One after the other: each has the machine for itself.
    await sleep(startMs);
    const plan = { ...answering(...children(name, "2")), delayMs: handlerMs };
    const object = await bench.applyObject(name, plan);
    await sleep(delayMs);
    await bench.api.delete(object, "Orphan");
    await eventually(() => bench.api.assertGone(object));
    await sleep(SETTLED_MS);
    const found = await bench.api.list({ apiVersion: "v1", kind: "ConfigMap" }, bench.namespace);
    const own = found.filter(({ metadata }) => metadata.name.startsWith(`${name}-`));
    return own.filter(
      ({ metadata }) => !metadata.deletionTimestamp && (metadata.ownerReferences ?? []).length === 0,
    ).length;
  }
});

describe("when a user removes an object's finalizer by force in the middle of a run", function () {
  this.timeout(120_000);
  const bench = useOperator({ name: "forced", finalize: true });

  it("while the handler thinks, no child comes back", async () => {
    const far = inNamespace(configMap("far"), await bench.api.newNamespace("elsewhere"));
    const near = configMap("near");
    const object = await bench.applied("thinks", answering(near, far));
    await bench.idle();
    const calls = bench.operator.calls("thinks").length;
    const reports = bench.engine.reportsOf("thinks").length;
    await bench.applyObject("thinks", { ...answering(near, far), delayMs: 5_000 });
    await eventually(() => assert.ok(bench.operator.calls("thinks").length > calls));
    await bench.api.delete(object);
    await bench.api.patch(object, { metadata: { finalizers: [] } });
    await bench.api.assertGone(object);
    const both = [inNamespace(near, bench.namespace), far];
    for (const child of both) await bench.api.delete(child);
    for (const child of both) await eventually(() => bench.api.assertGone(child));
    await eventually(() => assert.ok(bench.engine.reportsOf("thinks").length > reports, "it still runs"));
    await always(() => Promise.all(both.map((child) => bench.api.assertGone(child))));
  });

  for (const delayMs of [50, 200]) {
    it(`${delayMs} ms after a change of many children, none of them comes back`, async () => {
      const elsewhere = await bench.api.newNamespace("elsewhere");
      const children = (step: string) =>
        Array.from({ length: 80 }, (_, at) => inNamespace(configMap(`far-${at}`, { step }), elsewhere));
      const name = `writes-${delayMs}`;
      const object = await bench.applied(name, answering(...children("1")));
      await bench.applyObject(name, answering(...children("2")));
      await sleep(delayMs);
      await bench.api.delete(object);
      await bench.api.patch(object, { metadata: { finalizers: [] } }).catch(() => {});
      await eventually(() => bench.api.assertGone(object));
      await Promise.all(children("2").map((child) => bench.api.delete(child)));
      await sleep(SETTLED_MS);
      const found = await bench.api.list({ apiVersion: "v1", kind: "ConfigMap" }, elsewhere);
      const left = found.map(({ metadata }) => metadata.name).filter((each) => each.startsWith("far-"));
      assert.deepEqual(left, []);
    });
  }
});
