import assert from "node:assert/strict";
import type { Reference } from "../../../tools/objects";
import { eventually } from "../../support/eventually";
import { sideBySide } from "../../support/sideBySide";
import type { Api } from "../support/api";
import { configMap, inNamespace, namespace } from "../support/manifests";
import { type OperatorScene, withOperators } from "../support/operatorEach";
import type { TestOperator, TestOperatorOptions } from "../support/testOperator";
import { answering, becomesReady, conditionOf, useOperator } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

/** How long Kubernetes may take to delete a namespace. */
const DELETION = { timeoutMs: 90_000 };

const FINALIZES = operatorOf("namespace-finalizes", { finalize: true });
const ELSEWHERE = operatorOf("namespace-elsewhere");
const RECREATED = operatorOf("namespace-recreated");
const THIRD = operatorOf("namespace-third");
const UNLISTED = operatorOf("namespace-unlisted", { finalize: true });
const LEAVES = operatorOf("namespace-leaves");

/** An operator of two namespaces. */
function operatorOf(name: string, more: Pick<TestOperatorOptions, "finalize"> = {}) {
  const namespaces: [string, string] = [`${name}-goes`, `${name}-stays`];
  return { name, namespaces, ...more };
}

describe("when a namespace is deleted that an operator lists", function () {
  this.timeout(90_000);
  // Kubernetes takes seconds to delete a namespace.
  withOperators({
    "it goes, with objects that the handler finalizes in it, and the other namespace is served":
      withNamespaces(FINALIZES, async ({ operator, api, goes, stays }) => {
        await operator.start();
        const object = await apply(operator, "there", goes);
        await apply(operator, "here", stays);
        await ready(operator, "there", goes);
        await api.delete(namespace(goes));
        await eventually(() => assert.ok(operator.calls("there").some(({ event }) => event === "finalize")));
        await apply(operator, "during", stays);
        await ready(operator, "during", stays);
        await eventually(() => api.assertGone(object), DELETION);
        await eventually(() => api.assertGone(namespace(goes)), DELETION);
      }),

    "it goes, with objects in it that have children elsewhere, and these go too": withNamespaces(
      ELSEWHERE,
      async ({ operator, api, goes, stays }) => {
        await operator.start();
        const far = inNamespace(configMap("far"), stays);
        await apply(operator, "there", goes, far);
        await ready(operator, "there", goes);
        await api.delete(namespace(goes));
        await eventually(() => api.assertGone(namespace(goes)), DELETION);
        await api.assertGone(far);
      },
    ),

    "and is gone, an object with a child in a third one is served, also by an engine that starts then": {
      options: { ...THIRD, namespaces: [...THIRD.namespaces, "namespace-third-far"] },
      play: async (operator) => {
        const { api } = operator.cluster;
        const [goes, stays] = THIRD.namespaces;
        const far = (data: Record<string, string>) =>
          inNamespace(configMap("far", data), "namespace-third-far");
        const engine = await operator.start();
        await apply(operator, "here", stays, far({ step: "1" }));
        await ready(operator, "here", stays);
        await api.delete(namespace(goes));
        await eventually(() => api.assertGone(namespace(goes)), DELETION);
        await engine.stop();
        await operator.start({ identity: "two" });
        await apply(operator, "here", stays, far({ step: "2" }));
        await ready(operator, "here", stays);
        assert.deepEqual((await api.get(far({})))["data"], { step: "2" });
      },
    },

    "and created again, its objects say that the operator has no rights there, and what to do":
      withNamespaces(RECREATED, async ({ operator, api, goes, stays }) => {
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
      }),
  });

  function withNamespaces(
    options: TestOperatorOptions & { namespaces: [string, string] },
    play: (there: { operator: TestOperator; api: Api; goes: string; stays: string }) => Promise<void>,
  ): OperatorScene {
    const [goes, stays] = options.namespaces;
    return { options, play: (operator) => play({ operator, api: operator.cluster.api, goes, stays }) };
  }

  function apply(operator: TestOperator, name: string, namespace: string, child: object = configMap(name)) {
    return operator.cluster.api.apply(operator.object(name, answering(child), namespace));
  }

  function ready(operator: TestOperator, name: string, namespace: string): Promise<unknown> {
    return becomesReady(operator.cluster.api, operator.object(name, {}, namespace) as Reference, DELETION);
  }

  async function assertNotGranted(operator: TestOperator, name: string, namespace: string): Promise<void> {
    await eventually(async () => {
      const ready = conditionOf(
        await operator.cluster.api.get(operator.object(name, {}, namespace)),
        "Ready",
      );
      assert.deepEqual([ready.status, ready.reason], ["False", "NamespaceNotGranted"]);
      assert.match(ready.message, /pulumi up --refresh/);
    }, DELETION);
  }
});

describe("when a namespace is taken out of those that an operator lists", function () {
  this.timeout(90_000);
  const bench = useOperators([UNLISTED, LEAVES], { graceMs: 1_000 });

  /** The operator with the second of its namespaces alone, and without rights in the first one, as a deployment leaves it. */
  async function narrowed(options: { readonly name: string; readonly namespaces: [string, string] }) {
    const [goes, stays] = options.namespaces;
    for (const kind of ["RoleBinding", "Role"])
      for (const each of await bench.api.list({ apiVersion: "rbac.authorization.k8s.io/v1", kind }, goes))
        await bench.api.delete(each);
    return bench.install({ ...options, namespaces: [stays] });
  }

  it("an object there is left alone, is finalized when it is deleted, and its namespace can go", async () => {
    const { api } = bench;
    const [goes] = UNLISTED.namespaces;
    const wide = await bench.install(UNLISTED);
    const engine = await wide.start();
    const [first, second] = await Promise.all(
      ["first", "second"].map(async (name) =>
        bench.ready(await api.apply(wide.object(name, answering(configMap(name)), goes))),
      ),
    );
    assert.ok(first && second);
    await engine.stop();
    // It is deleted while no runner runs, the other one later.
    await api.delete(first);
    const narrow = await narrowed(UNLISTED);
    const next = await narrow.start();
    await eventually(() => api.assertGone(first), { timeoutMs: 20_000 });
    const before = await api.get(second);
    await api.annotate(second, { "argosy.dev/reconcile-at": "now" });
    await api.delete(namespace(goes));
    await eventually(() => api.assertGone(namespace(goes)), DELETION);
    for (const { metadata } of [first, second])
      assert.deepEqual(
        narrow.calls(metadata.name).map(({ event, children }) => [event, children]),
        [["finalize", []]],
      );
    assert.ok(before.metadata.finalizers?.includes(narrow.finalizer));
    assert.deepEqual(next.controller.objects(), []);
  });

  it("an object with children there stays until they can be deleted, or until a user lets it go", async () => {
    const { api } = bench;
    const [goes, stays] = LEAVES.namespaces;
    const wide = await bench.install(LEAVES);
    const engine = await wide.start();
    const far = (name: string) => inNamespace(configMap(name), goes);
    const [one, other] = await Promise.all(
      ["one", "other"].map(async (name) =>
        bench.ready(await api.apply(wide.object(name, answering(far(name)), stays))),
      ),
    );
    assert.ok(one && other);
    await engine.stop();
    const narrow = await narrowed(LEAVES);
    const next = await narrow.start();
    for (const object of [one, other]) await api.delete(object);
    for (const object of [one, other])
      await eventually(async () => {
        const { reason, message } = conditionOf(await api.get(object), "Ready");
        assert.equal(reason, "NamespaceNotGranted", message);
        assert.ok(message.includes(goes) && message.includes("skip-finalize"), message);
      });
    await api.annotate(other, { "argosy.dev/skip-finalize": "true" });
    await eventually(() => api.assertGone(other));
    await api.get(far("other"));
    await next.stop();
    // The namespace is listed again.
    const again = await bench.install(LEAVES);
    const { notices } = await again.start();
    await eventually(() => api.assertGone(one), { timeoutMs: 20_000 });
    await api.assertGone(far("one"));
    // What may stay stays, though the watch shows it again.
    const left = /other is gone, and children that no owner reference covers are left: 1\./;
    await eventually(() => assert.match(notices.join("\n"), left), { timeoutMs: 20_000 });
    await api.get(far("other"));
  });
});

describe("when the namespace of an object is deleted", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "terminating" });

  const inMiddleOfRun = async (name: string, finalizers: readonly string[]) => {
    const here = await bench.api.newNamespace(name);
    const object = await bench.ready(await bench.applyObject(name, answering(configMap("first")), here));
    await bench.api.patch(object, { metadata: { finalizers: [...finalizers] } });
    const calls = bench.operator.calls(name).length;
    await bench.applyObject(name, { ...answering(configMap("second")), delayMs: 2_000 }, here);
    await eventually(() => assert.ok(bench.operator.calls(name).length > calls));
    const reports = bench.engine.reportsOf(name).length;
    await bench.api.delete(namespace(here));
    await eventually(() => assert.ok(bench.engine.reportsOf(name).length > reports));
    await bench.idle();
    assert.deepEqual(bench.failuresOf(name), []);
    const left = await bench.api.find(object);
    if (left) {
      assert.notEqual(conditionOf(left, "Ready").reason, "ChildRefused");
    }
    // One without a finalizer may go between the look and this.
    if (finalizers.length > 0) await bench.api.patch(object, { metadata: { finalizers: [] } });
    await eventually(() => bench.api.assertGone(namespace(here)), DELETION);
  };

  sideBySide({
    "in the middle of a run, and the object with it: refused children there are not reported as a failure":
      () => inMiddleOfRun("gone", []),

    "in the middle of a run, and another controller's finalizer holds the object: refused children there are not reported as a failure":
      () => inMiddleOfRun("held", ["example.com/held"]),

    "the children of many objects that Kubernetes deletes first are no failures": async () => {
      const here = await bench.api.newNamespace("many");
      const names = Array.from({ length: 20 }, (_, at) => `many-${at}`);
      const children = (name: string) => Array.from({ length: 5 }, (_, at) => configMap(`${name}-${at}`));
      await Promise.all(
        names.map(async (name) =>
          bench.ready(await bench.applyObject(name, answering(...children(name)), here)),
        ),
      );
      await bench.api.delete(namespace(here));
      await eventually(() => bench.api.assertGone(namespace(here)), DELETION);
      await bench.idle();
      assert.deepEqual(names.flatMap((name) => bench.failuresOf(name)).slice(0, 3), []);
    },
  });
});
