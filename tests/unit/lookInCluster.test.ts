import assert from "node:assert/strict";
import { type LookOptions, lookInCluster } from "../../preflight/lookInCluster";
import { type Answer, json, refuse, TestApiServer } from "./support/testApiServer";

/** Longer than the time after which a cluster is asked again. */
const PATIENT: LookOptions = { patienceMs: 20_000 };

describe("lookInCluster", function () {
  this.timeout(30_000);
  let api: TestApiServer;
  before(async () => {
    api = await TestApiServer.start();
  });
  beforeEach(() => api.calls.splice(0));
  after(() => api.stop());

  const kubeconfig = () => api.kubeconfig();
  const lookForCrd = (answer: Answer, options?: LookOptions) => {
    api.answer = answer;
    return lookInCluster({ kubeconfig: kubeconfig() }, (look) => look.crd("gears.example.com"), options);
  };
  const busyOnce: Answer = (_, response) => refuse(response, api.calls.length === 1 ? 503 : 404);

  it("asks a busy cluster again if it has the time, as an up has", async () => {
    assert.equal(await lookForCrd(busyOnce, PATIENT), "absent");
    assert.equal(api.calls.length, 2);
  });

  it("asks a busy cluster only once in the time of a preview", async () => {
    assert.equal(await lookForCrd(busyOnce), undefined);
    assert.equal(api.calls.length, 1);
  });

  it("does not ask again what it may not see", async () => {
    assert.equal(await lookForCrd((_, response) => refuse(response, 403), PATIENT), undefined);
    assert.equal(api.calls.length, 1);
  });

  it("waits no longer than it may", async () => {
    const never: Answer = () => {};
    assert.equal(await lookForCrd(never, { patienceMs: 100 }), undefined);
    api.cut();
  });

  it("finds the CRDs of operators", async () => {
    api.answer = (_, response) => json(response, { metadata: {}, items: [{ metadata: { name: "it" } }] });
    const definitions = await lookInCluster({ kubeconfig: kubeconfig() }, (look) =>
      look.operatorDefinitions(),
    );
    assert.deepEqual(
      definitions?.map(({ metadata }) => metadata.name),
      ["it"],
    );
    assert.equal(api.calls.at(-1)?.query.get("labelSelector"), "argosy.dev/operator");
  });

  it("counts objects, of which it reads one", async () => {
    const kind = { apiVersion: "example.com/v1", kind: "Greeting", plural: "greetings", namespaced: true };
    const count = () => lookInCluster({ kubeconfig: kubeconfig() }, (look) => look.countOf(kind));
    const answers = [
      { metadata: {}, items: [] },
      { metadata: {}, items: [{ metadata: {} }] },
      { metadata: { remainingItemCount: 41, continue: "next" }, items: [{ metadata: {} }] },
    ];
    for (const [index, expected] of [0, 1, 42].entries()) {
      api.answer = (_, response) => json(response, answers[index] ?? {});
      assert.equal(await count(), expected);
    }
    const { path, query } = api.calls.at(-1) ?? {};
    assert.deepEqual([path, query?.get("limit")], ["/apis/example.com/v1/greetings", "1"]);
    api.answer = (_, response) => refuse(response, 404);
    assert.equal(await count(), undefined);
  });
});
