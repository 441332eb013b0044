import assert from "node:assert/strict";
import type { Reference } from "../../../tools/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "../support/api";
import { configMap, inNamespace, namespace } from "../support/manifests";
import type { TestOperator, TestOperatorOptions } from "../support/testOperator";
import { answering, conditionOf, useOperator } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

/** How long Kubernetes may take to delete a namespace. */
const DELETION = { timeoutMs: 90_000 };

const FINALIZES = operatorOf("namespace-finalizes", { finalize: true });
const ELSEWHERE = operatorOf("namespace-elsewhere");
const RECREATED = operatorOf("namespace-recreated");
const STARTS = operatorOf("namespace-starts");

/** An operator of two namespaces. */
function operatorOf(name: string, more: Pick<TestOperatorOptions, "finalize"> = {}) {
  return { name, namespaces: [`${name}-goes`, `${name}-stays`], ...more };
}

describe("when a namespace is deleted that an operator lists", function () {
  this.timeout(90_000);
  const bench = useOperators([FINALIZES, ELSEWHERE, RECREATED, STARTS]);
  let api: Api;
  beforeEach(() => {
    ({ api } = bench);
  });

  it("it goes, with objects that the handler finalizes in it, and the other namespace is served", async () => {
    const { operator, goes, stays } = await install(FINALIZES);
    await operator.start();
    const object = await apply(operator, "there", goes);
    await apply(operator, "here", stays);
    await ready(operator, "there", goes);
    await api.delete(namespace(goes));
    await eventually(() => assert.ok(operator.calls("there").some(({ event }) => event === "finalize")));
    await apply(operator, "meanwhile", stays);
    await ready(operator, "meanwhile", stays);
    await eventually(() => api.assertGone(object), DELETION);
    await eventually(() => api.assertGone(namespace(goes)), DELETION);
  });

  it("it goes, with objects in it that have children elsewhere, and these go too", async () => {
    const { operator, goes, stays } = await install(ELSEWHERE);
    await operator.start();
    const far = inNamespace(configMap("far"), stays);
    await apply(operator, "there", goes, far);
    await ready(operator, "there", goes);
    await api.delete(namespace(goes));
    await eventually(() => api.assertGone(namespace(goes)), DELETION);
    await api.assertGone(far);
  });

  it("and created again, its objects say that the operator has no rights there, and what to do", async () => {
    const { operator, goes, stays } = await install(RECREATED);
    await operator.start();
    await api.delete(namespace(goes));
    await eventually(() => api.assertGone(namespace(goes)), DELETION);
    await api.create(namespace(goes));
    const object = await apply(operator, "there", goes);
    await assertNotGranted(operator, "there", goes);
    await apply(operator, "here", stays);
    await ready(operator, "here", stays);
    await operator.grant();
    await ready(operator, "there", goes);
    await api.get(inNamespace(configMap("there"), goes));
    await api.delete(object);
    await eventually(() => api.assertGone(object));
  });

  it("an engine that starts while it is missing serves the other one", async () => {
    const { operator, goes, stays } = await install(STARTS);
    await api.delete(namespace(goes));
    await eventually(() => api.assertGone(namespace(goes)), DELETION);
    operator.launch();
    await apply(operator, "here", stays);
    await ready(operator, "here", stays);
    await api.create(namespace(goes));
    await apply(operator, "there", goes);
    await assertNotGranted(operator, "there", goes);
  });

  async function install(options: TestOperatorOptions & { namespaces: readonly string[] }) {
    const operator = await bench.install(options);
    const [goes = "", stays = ""] = options.namespaces;
    return { operator, goes, stays };
  }

  function apply(operator: TestOperator, name: string, namespace: string, child: object = configMap(name)) {
    return api.apply(operator.object(name, answering(child), namespace));
  }

  function ready(operator: TestOperator, name: string, namespace: string, patience = DELETION) {
    return bench.ready(operator.object(name, {}, namespace) as Reference, patience);
  }

  async function assertNotGranted(operator: TestOperator, name: string, namespace: string): Promise<void> {
    await eventually(async () => {
      const ready = conditionOf(await api.get(operator.object(name, {}, namespace)), "Ready");
      assert.deepEqual([ready.status, ready.reason], ["False", "NamespaceNotGranted"]);
      assert.match(ready.message, /pulumi up --refresh/);
    }, DELETION);
  }
});

describe("when the namespace of an object is deleted", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "terminating" });

  for (const [name, what, finalizers] of [
    ["gone", "and the object with it", []],
    ["held", "and the object is still there because somebody else finalizes it", ["example.com/held"]],
  ] as const) {
    it(`in the middle of a run, ${what}: nobody is blamed that children are refused there`, async () => {
      const object = await bench.applied(name, answering(configMap("first")));
      await bench.api.patch(object, { metadata: { finalizers: [...finalizers] } });
      const calls = bench.operator.calls(name).length;
      await bench.applyObject(name, { ...answering(configMap("second")), delayMs: 2_000 });
      await eventually(() => assert.ok(bench.operator.calls(name).length > calls));
      const reports = bench.engine.reportsOf(name).length;
      await bench.api.delete(namespace(bench.namespace));
      await eventually(() => assert.ok(bench.engine.reportsOf(name).length > reports));
      await bench.idle();
      assert.deepEqual(bench.failuresOf(name), []);
      const left = await bench.api.find(object);
      if (left) {
        assert.notEqual(conditionOf(left, "Ready").reason, "ChildRefused");
      }
      // One that nobody holds may go between the look and this.
      if (finalizers.length > 0) await bench.api.patch(object, { metadata: { finalizers: [] } });
      await eventually(() => bench.api.assertGone(namespace(bench.namespace)), DELETION);
    });
  }

  it("the children of many objects that Kubernetes deletes first are no failures", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `many-${at}`);
    const children = (name: string) => Array.from({ length: 5 }, (_, at) => configMap(`${name}-${at}`));
    await Promise.all(names.map((name) => bench.applied(name, answering(...children(name)))));
    await bench.api.delete(namespace(bench.namespace));
    await eventually(() => bench.api.assertGone(namespace(bench.namespace)), DELETION);
    await bench.idle();
    assert.deepEqual(names.flatMap((name) => bench.failuresOf(name)).slice(0, 3), []);
  });
});
