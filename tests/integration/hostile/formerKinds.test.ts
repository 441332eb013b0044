import assert from "node:assert/strict";
import type { KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { groupKind } from "../../../runtime/base/resource";
import { eventually } from "../../support/eventually";
import { configMap, deployment, inNamespace, namespace } from "../support/manifests";
import type { TestController } from "../support/testOperator";
import { answering, conditionOf } from "../support/useOperator";
import { useOperators } from "../support/useOperators";
import { saying } from "../support/useWatching";

const BEFORE = { name: "moving", children: ["v1/Namespace", "v1/ConfigMap"] };
const GROUP = { ...BEFORE, group: "moved.example.com" };
const KIND = { ...BEFORE, kindName: "moving-on", group: "moving.example.com" };

describe("an operator that keeps its name, and gets", function () {
  this.timeout(90_000);
  const bench = useOperators([BEFORE, GROUP, KIND]);

  for (const [what, after] of [
    ["another API group", GROUP],
    ["another kind", KIND],
  ] as const)
    it(`${what}: the objects of the former kind live on with their children, and can be finalized later`, async () => {
      const tenant = namespace(`${bench.namespace}-tenant`);
      const settings = inNamespace(configMap("settings"), tenant.metadata.name);
      const data = inNamespace(
        { apiVersion: "v1", kind: "Secret", metadata: { name: "customer-data" } },
        tenant.metadata.name,
      );
      const near = inNamespace(configMap("near"), bench.namespace);
      const children = answering(tenant, settings, near);

      const former = await bench.install(BEFORE);
      const first = await former.start();
      const old = await bench.api.apply(former.object("acme", children, bench.namespace));
      await bench.ready(old);
      await bench.api.create(data);
      const there = await uidsOf(tenant, settings, data, near);
      await first.stop();

      const operator = await bench.install(after);
      const second = await operator.start();
      const own = inNamespace(configMap("own"), tenant.metadata.name);
      // It has the name of the former one, and answers the same children, and then another one.
      operator.plan("acme", children);
      const object = await bench.api.apply(operator.object("acme", {}, bench.namespace));
      await eventually(async () => {
        const { reason, message } = conditionOf(await bench.api.get(object), "Ready");
        assert.equal(reason, "ChildConflict");
        assert.match(message, new RegExp(`belongs to ${groupKind(old)} `));
      });
      operator.plan("acme", answering(own));
      await second.controller.reconcileNow(object.metadata);
      await bench.ready(object);
      await bench.api.delete(object);
      await eventually(() => bench.api.assertGone(object));
      assertSaid(second, old);
      await second.stop();
      assert.deepEqual(await uidsOf(tenant, settings, data, near), there);
      assert.equal((await bench.api.get(tenant)).metadata.deletionTimestamp, undefined);

      await bench.api.delete(old);
      assert.ok((await bench.api.get(old)).metadata.deletionTimestamp);
      await former.grant();
      await former.start({ identity: "again" });
      await eventually(() => bench.api.assertGone(old));
      await eventually(() => bench.api.assertGone(settings));
    });

  it("another kind to watch: the objects that it watched before keep their children, and what is remembered of them", async () => {
    const labels = { "example.com/by": "moving-watch" };
    const watch = { apiVersion: "apps/v1", labels };
    const name = "moving-watch";
    const far = inNamespace(configMap("far"), await bench.api.newNamespace("moving-far"));
    const near = inNamespace(configMap("near"), bench.namespace);

    const former = await bench.install({ name, watch: { ...watch, kind: "Deployment" } });
    former.plan("web", saying([far, near], { seen: 1 }));
    const first = await former.start();
    const old = await bench.api.apply(inNamespace(deployment("web", {}, { labels }), bench.namespace));
    const there = await eventually(() => uidsOf(far, near, former.memoryOf(old) as Manifest));
    await first.stop();

    const operator = await bench.install({ name, watch: { ...watch, kind: "StatefulSet" } });
    operator.plan("web", saying([inNamespace(configMap("own"), bench.namespace)]));
    const second = await operator.start();
    const object = await bench.api.apply(statefulSet(old));
    await eventually(() => bench.api.get(inNamespace(configMap("own"), bench.namespace)));
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(inNamespace(configMap("own"), bench.namespace)));
    assertSaid(second, old);
    await second.stop();
    assert.deepEqual(await uidsOf(far, near, former.memoryOf(old) as Manifest), there);

    await bench.api.delete(old);
    await former.grant();
    await former.start({ identity: "again" });
    for (const each of [far, near, former.memoryOf(old)]) await eventually(() => bench.api.assertGone(each));
  });

  async function uidsOf(...manifests: Manifest[]): Promise<string[]> {
    const objects = await Promise.all(manifests.map((manifest) => bench.api.get(manifest)));
    return objects.map(({ metadata }) => metadata.uid);
  }

  /** What its log says of objects that are left alone: that they are, and no word of a deletion. */
  function assertSaid({ notices }: TestController, object: KubernetesObject): void {
    const about = notices.filter((notice) => notice.includes(object.metadata.name));
    assert.equal(about.length, 1, JSON.stringify(notices));
    assert.ok(about[0]?.startsWith(groupKind(object)), about[0]);
    assert.match(about[0] ?? "", /stay as they are/);
  }

  /** A StatefulSet with the name and the labels of a Deployment. */
  function statefulSet({
    metadata: { name, namespace: home, labels = {} },
    spec,
  }: KubernetesObject): Manifest {
    const { selector, template } = spec as { selector: object; template: object };
    return {
      ...{ apiVersion: "apps/v1", kind: "StatefulSet" },
      metadata: { name, labels, ...(home && { namespace: home }) },
      spec: { serviceName: name, selector, template } as Manifest[string],
    };
  }
});
