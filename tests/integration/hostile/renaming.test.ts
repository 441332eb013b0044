import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "../support/api";
import { configMap, inNamespace } from "../support/manifests";
import type { TestOperator } from "../support/testOperator";
import { answering } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const BEFORE = { name: "renamed-before", kindName: "renamed", finalize: true };
const AFTER = { ...BEFORE, name: "renamed-after" };
/** One with children that cannot have both what is applied now and what the former name applied. */
const SERVES = {
  name: "served-before",
  kindName: "served",
  children: ["v1/Service", "v1/PodTemplate"],
};
/** One with a child that is never updated. */
const ONCE = {
  name: "once-before",
  kindName: "once-renamed",
  children: [{ apiVersion: "v1", kind: "ConfigMap", update: "never" as const }],
};

describe("an operator that was renamed", function () {
  this.timeout(90_000);
  const bench = useOperators([BEFORE, SERVES, ONCE]);
  let api: Api;
  let [here, elsewhere] = ["", ""];
  /** The operator under its former name. */
  let former: TestOperator;

  beforeEach(async () => {
    ({ api, namespace: here } = bench);
    elsewhere = await api.newNamespace("renamed-elsewhere");
    former = await handled();
  });
  afterEach(async () => {
    const { apiVersion, kind } = former.object("any");
    for (const object of await api.list({ apiVersion, kind }, here)) {
      await api.patch(object, { metadata: { finalizers: [] } });
      await api.delete(object);
    }
  });

  it("and names its former name lets an object go whose deletion began in between", async () => {
    await api.delete(await object());
    const operator = await bench.install({ ...AFTER, formerNames: [BEFORE.name] });
    await operator.start();
    await eventually(() => api.assertGone(former.object("object", {}, here)));
    await api.assertGone(inNamespace(far(), elsewhere));
    assert.ok(operator.calls("object").some(({ event }) => event === "finalize"));
  });

  it("and names its former name replaces the port of a Service, and takes away what its twin would bring back", async () => {
    const before = await bench.install(SERVES);
    const controller = await before.start();
    const service = (port: number) => ({
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "served" } },
      spec: { ports: [{ port }] },
    });
    const pods = (spec: object) => ({
      ...{ apiVersion: "v1", kind: "PodTemplate", metadata: { name: "served" } },
      template: { spec: { containers: [{ name: "main", image: "example.com/a:1" }], ...spec } },
    });
    const answered = answering(service(1), pods({ serviceAccountName: "admin" }));
    const served = await api.apply(before.object("served", answered, here));
    await bench.ready(served);
    await controller.stop();
    const operator = await bench.install({ ...SERVES, name: "served-after", formerNames: [SERVES.name] });
    operator.plan("served", answering(service(2), pods({})));
    await operator.start();
    // First the port is replaced under the former name, then it is applied under the new one, and then the former lets go.
    await eventually(async () => {
      const now = await api.get(inNamespace(service(2), here));
      const { ports } = now["spec"] as { ports: { port: number }[] };
      assert.deepEqual(
        ports.map(({ port }) => port),
        [2],
      );
      const { template } = (await api.get(inNamespace(pods({}), here))) as unknown as ReturnType<typeof pods>;
      assert.ok(!("serviceAccount" in template.spec), JSON.stringify(template.spec));
      assert.ok(!managersOf(now).includes(before.fieldManager));
      assert.ok(managersOf(now).includes(operator.fieldManager));
    });
    await bench.ready(served);
  });

  it("and names its former name takes over a child that is never updated, and deletes it when it has forgotten that name", async () => {
    const before = await bench.install(ONCE);
    const first = await before.start();
    const created = await api.apply(before.object("once", answering(once({ a: "1" })), here));
    await bench.ready(created);
    await first.stop();
    const operator = await bench.install({ ...ONCE, name: "once-after", formerNames: [ONCE.name] });
    operator.plan("once", answering(once({ a: "2" })));
    const second = await operator.start();
    await eventually(async () => {
      const { metadata, ...content } = await api.get(inNamespace(once(), here));
      assert.deepEqual(
        [metadata.labels?.["argosy.dev/child-of"], content["data"]],
        ["argosy.once-after", { a: "1" }],
      );
    });
    await second.stop();
    const last = await bench.install({ ...ONCE, name: "once-after" });
    last.plan("once", answering());
    await last.start();
    await eventually(() => api.assertGone(inNamespace(once(), here)));
    assert.ok(last.calls("once")[0]?.children.some(({ metadata }) => metadata.name === "once"));
  });

  /** Lets the operator of the former name handle an object. */
  async function handled(): Promise<TestOperator> {
    const operator = await bench.install(BEFORE);
    const controller = await operator.start();
    const plan = answering(near({ kept: "1", dropped: "1" }), configMap("dropped"), far());
    const object = await api.apply(operator.object("object", plan, here));
    await bench.ready(object);
    await controller.stop();
    return operator;
  }

  function once(data = {}) {
    return configMap("once", data);
  }

  function near(data = {}) {
    return configMap("near", data);
  }

  function far() {
    return inNamespace(configMap("far"), elsewhere);
  }

  function object(): Promise<KubernetesObject> {
    return api.get(former.object("object", {}, here));
  }
});

function managersOf({ metadata }: KubernetesObject): string[] {
  return (metadata.managedFields ?? []).map(({ manager }) => manager ?? "");
}
