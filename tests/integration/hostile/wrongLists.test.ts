import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { always, eventually } from "../../support/eventually";
import { ApiProxy, isListOf, isOfKind, isWatch, type ProxiedRequest } from "../support/apiProxy";
import { configMap, inNamespace } from "../support/manifests";
import { type OperatorScene, withOperators } from "../support/operatorEach";
import type { TestOperator } from "../support/testOperator";
import { answering, becomesReady } from "../support/useOperator";

/** Longer than the garbage collector has for the children of an object that is gone. */
const LONG_MS = 8_000;
const GRACE_MS = 1_000;

/** Whether a request lists all objects of a kind. The lists that only ask for their version want one. */
function isWhole(request: ProxiedRequest, plural: string): boolean {
  return isListOf(request, plural) && !/limit=1(&|$)/.test(request.path);
}

/** Lets lists be answered wrongly. @param version of a time when some objects did not exist yet, existed no more, or were other ones */
type Wrong = (proxy: ApiProxy, plural: string, version: string) => void;

/** Each whole list is answered with this. */
function instead(answer: object): Wrong {
  return (proxy, plural) => {
    proxy.before = (request) => {
      if (isWhole(request, plural)) return { code: 200, body: JSON.stringify(answer) };
      if (!isWatch(request) || !isOfKind(request, plural)) return undefined;
      return { code: 410, body: JSON.stringify({ kind: "Status", code: 410 }) };
    };
    proxy.cutWatches();
  };
}

describe("while the lists of the custom resources are answered with success, and", function () {
  this.timeout(180_000);

  withOperators({
    "with no list, nothing is taken for gone, and no child is deleted": scene(
      "status",
      instead({ kind: "Status", metadata: {}, status: "Success" }),
    ),
    "with a single object, nothing is taken for gone, and no child is deleted": scene(
      "single",
      instead({ kind: "Pod", apiVersion: "v1", metadata: { name: "it", resourceVersion: "1" } }),
    ),
    "with a list of some time ago, no child is deleted, and all is right afterwards": scene(
      "past",
      (proxy, plural, version) => proxy.goBack(version, ({ path }) => path.includes(`/${plural}?`)),
    ),
    "like all other lists with one of some time ago, no child is deleted, and all is right afterwards": scene(
      "past-of-all",
      (proxy, _, version) => proxy.goBack(version),
    ),
  });

  function scene(name: string, wrong: Wrong): OperatorScene {
    return {
      options: { name: `wrong-lists-${name}` },
      play: async (operator) => {
        const proxy = await ApiProxy.start(operator.cluster.connection);
        try {
          await play(operator, proxy, wrong);
        } finally {
          // Before the proxy: an engine that cannot give its lease back waits.
          await operator.dispose(GRACE_MS);
          await proxy.stop();
        }
      },
    };
  }

  async function play(operator: TestOperator, proxy: ApiProxy, wrong: Wrong): Promise<void> {
    const { api } = operator.cluster;
    const namespace = await api.newNamespace(operator.operator.name);
    const { plural } = operator.operator.customResource;
    const apply = async (name: string, step: string) =>
      becomesReady(
        api,
        await api.apply(operator.object(name, answering(configMap(name, { step })), namespace)),
      );
    const childOf = (name: string) => api.get(inNamespace(configMap(name), namespace));
    const hasNoChild = (name: string) => api.assertGone(inNamespace(configMap(name), namespace));
    const remove = async (object: KubernetesObject) => {
      await api.delete(object);
      await eventually(() => hasNoChild(object.metadata.name));
    };
    const { controller } = await operator.start({ connection: proxy.through(operator.connection) });
    await apply("changed", "1");
    const gone = await apply("gone", "1");
    await remove(await apply("again", "1"));
    const { resourceVersion } = (await api.apply(inNamespace(configMap("marker"), namespace))).metadata;
    await apply("changed", "2");
    await remove(gone);
    for (const name of ["again", "new"]) await apply(name, "2");

    const there = ["changed", "again", "new"];
    const uids = async () => Promise.all(there.map(async (name) => (await childOf(name)).metadata.uid));
    const before = await uids();
    const listed = proxy.requests.length;
    wrong(proxy, plural, resourceVersion);
    await eventually(() =>
      assert.ok(
        proxy.requests.slice(listed).some((request) => isWhole(request, plural)),
        "it does not list",
      ),
    );
    await always(async () => assert.deepEqual(await uids(), before), { forMs: LONG_MS, pollMs: 200 });
    proxy.before = () => undefined;
    proxy.goOn();
    await eventually(async () => {
      const steps = await Promise.all(there.map(async (name) => (await childOf(name))["data"]));
      assert.deepEqual(steps, Array(3).fill({ step: "2" }));
      assert.equal(controller.objects().length, there.length);
      await hasNoChild("gone");
    });
    await apply("changed", "3");
    assert.deepEqual((await childOf("changed"))["data"], { step: "3" });
    assert.deepEqual(await uids(), before);
  }
});
