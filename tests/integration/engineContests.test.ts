import assert from "node:assert/strict";
import { eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

describe("if another client changes a child back each time", function () {
  this.timeout(120_000);
  const bench = useOperator({ name: "contest-test" });
  const contested = () => bench.engine.metric("argosy_objects_contested");

  /** Another controller that wants the child's data otherwise, until it is stopped. */
  function rival(name: string) {
    const child = inNamespace(configMap(name), bench.namespace);
    let [stopped, changes] = [false, 0];
    const ended = (async () => {
      while (!stopped) {
        const { data } = (await bench.api.get(child)) as { data?: Record<string, string> };
        if (data?.["a"] === "theirs") continue;
        changes++;
        await bench.api.apply(inNamespace(configMap(name, { a: "theirs" }), bench.namespace), "rival");
      }
    })();
    return {
      changes: () => changes,
      stop: () => {
        stopped = true;
        return ended;
      },
    };
  }

  it("the engine says so, who does it, goes on ever less often, and is at hand for a new generation", async () => {
    const object = await bench.applied("fought", answering(configMap("fought", { a: "ours" })));
    const other = rival("fought");
    await eventually(async () => assert.equal(await contested(), 1));
    const events = await eventually(async () => {
      const all = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, bench.namespace);
      const found = all.filter(({ reason }) => reason === "ChildContested") as unknown as { note: string }[];
      assert.equal(found.length, 1);
      return found;
    });
    assert.match(events[0]?.note ?? "", /^rival changes ConfigMap .*fought each time/);
    // By now seconds lie between two rounds; without that there would be some twenty in each.
    const before = other.changes();
    await bench.applied("fought", answering(configMap("fought", { a: "ours", b: "new" })));
    const { data } = (await bench.api.get(inNamespace(configMap("fought"), bench.namespace))) as unknown as {
      data: object;
    };
    assert.equal((data as { b?: string }).b, "new");
    assert.ok(other.changes() - before <= 8, `${other.changes() - before} rounds in one`);
    await other.stop();
    await eventually(async () => {
      const child = await bench.api.get(inNamespace(configMap("fought"), bench.namespace));
      assert.deepEqual(child["data"], { a: "ours", b: "new" });
    });
    await bench.ready(object);
  });

  it("and a child that is deleted a few times by hand comes back each time", async () => {
    await bench.applied("deleted", answering(configMap("deleted", { a: "1" })));
    const child = inNamespace(configMap("deleted"), bench.namespace);
    for (let time = 0; time < 4; time++) {
      const { uid } = (await bench.api.get(child)).metadata;
      await bench.api.delete(child);
      await eventually(async () => assert.notEqual((await bench.api.get(child)).metadata.uid, uid));
    }
  });

  it("and no client is said to do so while the engine deletes child after child, and each takes its time to go", async () => {
    const held = (name: string) => configMap(name, {}, { finalizers: ["example.com/hold"] });
    const children = Array.from({ length: 8 }, (_, at) => held(`held-${at}`));
    const object = await bench.applied("held", answering(...children));
    for (let [child] = children; child; [child] = children) {
      const there = inNamespace(child, bench.namespace);
      children.shift();
      await bench.applyObject("held", answering(...children));
      await eventually(async () => assert.ok((await bench.api.get(there)).metadata.deletionTimestamp));
      await bench.api.patch(there, { metadata: { finalizers: null } });
      await bench.api.assertGone(there);
    }
    await bench.ready(object);
    await bench.idle();
    const reasons = (await bench.eventsOf(object)).map(({ reason }) => reason);
    assert.ok(!reasons.includes("ChildContested"));
  });
});
