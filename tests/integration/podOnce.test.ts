import assert from "node:assert/strict";
import type { ResyncOptions } from "../../runtime/pod/resync/resyncOnce";
import { configMap, inNamespace } from "./support/manifests";
import { type ResyncBench, useResyncs } from "./support/resyncs";
import { answering } from "./support/useOperator";

describe('a resync of the form pod, of children that are created once (update: "never")', () => {
  let bench: ResyncBench;
  let elsewhere: string;

  useResyncs(
    "pod-once",
    (begun) => {
      bench = begun;
    },
    "never",
  );
  beforeEach(async () => {
    elsewhere = await bench.api.newNamespace("pod-once-elsewhere");
  });

  const far = (name: string) => inNamespace(configMap(name), elsewhere);
  const options = (): Partial<ResyncOptions> => ({
    operator: { ...bench.withoutTurns, namespaces: [bench.namespace, elsewhere] },
  });
  const NOTHING = { submitted: 0, running: 0, left: 0, failed: 0 };

  /** A resync, and then what the pods of its runs would do. */
  async function resync(): Promise<void> {
    await bench.resync(options());
    for (const { metadata } of await bench.workflows()) await bench.run(metadata.name);
    await bench.deleteWorkflows();
  }

  async function applied(name: string, ...children: string[]): Promise<void> {
    await bench.api.apply(bench.object(name, answering(...children.map(far))));
    await bench.runFor(name);
    await bench.deleteWorkflows();
  }

  it("has those of a deleted object deleted that had the name before, and then makes no run for it", async () => {
    await applied("namesake", "left");
    // No owner reference reaches this child, so that the garbage collector never deletes it.
    await bench.api.patch(bench.object("namesake"), { metadata: { finalizers: null } });
    await bench.api.delete(bench.object("namesake"));
    await applied("namesake");
    await bench.api.get(far("left"));
    await resync();
    await bench.api.assertGone(far("left"));
    assert.deepEqual(await bench.resync(options()), NOTHING);
  });

  it("gives an object back the finalizer by which one elsewhere is deleted", async () => {
    await applied("owner", "child");
    assert.deepEqual(await bench.resync(options()), NOTHING);
    const { finalizers = [] } = (await bench.api.get(bench.object("owner"))).metadata;
    const others = finalizers.filter((each) => !each.startsWith("elsewhere."));
    assert.equal(others.length, finalizers.length - 1);
    await bench.api.patch(bench.object("owner"), { metadata: { finalizers: others } });
    await resync();
    assert.deepEqual(
      (await bench.api.get(bench.object("owner"))).metadata.finalizers?.sort(),
      finalizers.sort(),
    );
    await bench.api.delete(bench.object("owner"));
    await resync();
    await bench.api.assertGone(far("child"));
  });
});
