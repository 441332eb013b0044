import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { sharedCluster } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";
import { TestOperator } from "../support/testOperator";
import { answering, becomesReady, useOperator } from "../support/useOperator";

describe("where an object is deleted by force and created again under its name", function () {
  this.timeout(60_000);
  let operator: TestOperator;
  before(async function () {
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), { name: "namesakes" });
  });
  after(() => operator?.dispose());

  // No owner reference reaches them, so that only the engine can delete them.
  it("while no engine runs, its children elsewhere go, and those that are wanted again are the new one's", async () => {
    const { api } = operator.cluster;
    const [home, elsewhere] = [await api.newNamespace("namesakes"), await api.newNamespace("namesakes-far")];
    const far = (name: string, data = {}) => inNamespace(configMap(name, data), elsewhere);
    const object = (name: string, ...children: object[]) =>
      operator.object(name, answering(...children), home);
    const ready = (name: string) => becomesReady(api, object(name));

    const first = await operator.start();
    await api.apply(object("again", far("kept", { of: "former" }), far("left")));
    await api.apply(object("other", far("others")));
    const former = await ready("again");
    await ready("other");
    await first.stop();
    await api.patch(former, { metadata: { finalizers: null } });
    await api.delete(former);
    await api.apply(object("again", far("kept", { of: "later" })));

    const second = await operator.start({ identity: "two" });
    const later = await ready("again");
    assert.notEqual(later.metadata.uid, former.metadata.uid);
    const kept = await api.get(far("kept"));
    assert.deepEqual(kept["data"], { of: "later" });
    assert.equal(kept.metadata.labels?.["argosy.dev/owner-uid"], later.metadata.uid);
    await api.assertGone(far("left"));
    await api.get(far("others"));
    const failures = second.reportsOf("again").filter(({ result }) => result === "failed");
    assert.deepEqual(failures, []);
  });
});

describe("where an object is created again while a finalizer holds its former child", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "heirs" });

  it("it tries ever less often, and goes on as soon as that child is gone", async () => {
    const child = inNamespace(configMap("held"), bench.namespace);
    const hold = (finalizers: string[] | null) => bench.api.patch(child, { metadata: { finalizers } });
    const former = await bench.applied("held", answering(configMap("held")));
    await hold(["example.com/hold"]);
    await bench.api.delete(former);
    await eventually(async () => assert.ok((await bench.api.get(child)).metadata.deletionTimestamp));
    const object = await bench.applyObject("held", answering(configMap("held")));
    const { message } = await bench.failed(object, "ChildConflict");
    assert.match(
      message,
      /an earlier object of this name\. It is being deleted and is held by .*example\.com\/hold/,
    );
    const reports = () => bench.engine.reportsOf("held").filter(({ uid }) => uid === object.metadata.uid);
    // By then eight seconds pass until the next one.
    await eventually(() => assert.ok(reports().length >= 5));
    await hold(null);
    await bench.ready(object);
    const succeeded = reports().find(({ result }) => result === "succeeded");
    assert.notEqual(succeeded?.arrival?.cause, "retry");
  });
});
