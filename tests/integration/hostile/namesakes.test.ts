import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { sharedCluster } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";
import { TestOperator } from "../support/testOperator";
import { answering, conditionOf } from "../support/useOperator";

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
    const ready = (name: string) =>
      eventually(async () => {
        const now = await api.get(object(name));
        const { status, observedGeneration, message } = conditionOf(now, "Ready");
        assert.deepEqual([status, observedGeneration], ["True", now.metadata.generation], message);
        return now;
      });

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
