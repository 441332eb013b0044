import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "../support/api";
import { configMap, inNamespace } from "../support/manifests";
import type { TestOperator, TestOperatorOptions } from "../support/testOperator";
import { answering, conditionOf, statusOf } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const SECRET = { apiVersion: "v1", kind: "Secret" };
const BOTH = [CONFIG_MAP, SECRET];
const SCALERS = ["autoscaling/v1", "autoscaling/v2"].map((apiVersion) => ({
  apiVersion,
  kind: "HorizontalPodAutoscaler",
})) as [Manifest, Manifest];

describe("a kind that an operator does not have among its children any more", function () {
  this.timeout(90_000);
  const retired: TestOperatorOptions = { name: "kind-retired", children: BOTH };
  const leftOut: TestOperatorOptions = { name: "kind-left-out", children: BOTH };
  const revoked: TestOperatorOptions = { name: "kind-revoked", children: BOTH };
  const renamed: TestOperatorOptions = { name: "kind-renamed", children: BOTH };
  const moved: TestOperatorOptions = { name: "kind-moved", children: [SCALERS[0]] };
  const forged: TestOperatorOptions = { name: "kind-forged" };
  const bench = useOperators([retired, leftOut, revoked, renamed, moved, forged]);
  let api: Api;
  let [here, elsewhere] = ["", ""];

  beforeEach(async () => {
    ({ api, namespace: here } = bench);
    elsewhere = await api.newNamespace("kinds-elsewhere");
  });

  // Declared apart: it is not in the types of every definition that there is.
  const RETIRED_SECRET = { ...SECRET, retired: true };

  for (const [what, options, now] of [
    ["that is declared as retired", retired, { children: [CONFIG_MAP, RETIRED_SECRET] }],
    ["that is left out while the rights remain", leftOut, { children: [CONFIG_MAP], installs: false }],
  ] as [string, TestOperatorOptions, Partial<TestOperatorOptions>][]) {
    it(`${what}: its objects are pruned, and nothing is left when the owner goes`, async () => {
      await handled(options);
      const operator = await bench.install({ ...options, ...now });
      operator.plan("object", answering(configMap("map")));
      await operator.start();
      await eventually(() => api.assertGone(inNamespace(secret(), here)));
      await eventually(() => api.assertGone(inNamespace(secret(), elsewhere)));
      await api.get(inNamespace(configMap("map"), here));
    });

    it(`${what}: where the owner goes first, nothing elsewhere is left`, async () => {
      const former = await handled(options);
      await api.delete(former.object("object", {}, here));
      const operator = await bench.install({ ...options, ...now });
      await operator.start();
      await eventually(() => api.assertGone(former.object("object", {}, here)));
      await api.assertGone(inNamespace(secret(), elsewhere));
    });
  }

  it("that the runner has no rights for any more: an Event says what is left, and holds up nothing", async () => {
    await handled(revoked);
    const operator = await bench.install({ ...revoked, children: [CONFIG_MAP] });
    const object = operator.object("object", {}, here);
    operator.plan("object", answering(configMap("map", { step: "2" })));
    await operator.start();
    await eventually(async () => {
      assert.deepEqual((await api.get(inNamespace(configMap("map"), here)))["data"], { step: "2" });
      const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, here);
      const warning = events.find(({ reason }) => reason === "ChildRefused");
      assert.match(String(warning?.["note"]), /Secret.*retired/);
    });
    const { status, reason } = conditionOf(await api.get(object), "Ready");
    assert.deepEqual([status, reason], ["True", "Reconciled"]);
    await api.get(inNamespace(secret(), here));
    // It had children elsewhere, and one may be left: a user has to say that it may stay.
    await api.delete(object);
    await eventually(async () => {
      const { message } = conditionOf(await api.get(object), "Ready");
      assert.match(message, /Secret.*retired.*skip-finalize/);
    });
    await api.annotate(object, { "argosy.dev/skip-finalize": "true" });
    await eventually(() => api.assertGone(object));
    await api.get(inNamespace(secret(), elsewhere));
  });

  it("and that a user wrote into the memory of an object without such children: it holds up nothing", async () => {
    const operator = await bench.install(forged);
    operator.plan("object", answering(configMap("map")));
    await operator.start();
    const object = await api.apply(operator.object("object", {}, here));
    await bench.ready(object);
    await api.patchPart(object, "status", { status: { argosy: { kinds: ["v1/ConfigMap", "v1/Secret"] } } });
    operator.plan("object", { answer: { children: [configMap("map") as never], status: { step: "2" } } });
    await api.annotate(object, { "argosy.dev/reconcile-at": "now" });
    await eventually(async () => assert.equal(statusOf(await api.get(object))["step"], "2"));
    assert.equal(conditionOf(await api.get(object), "Ready").status, "True");
    await api.delete(object);
    await eventually(() => api.assertGone(object));
  });

  it("when the operator is renamed too: its objects are pruned", async () => {
    await handled(renamed);
    const after = {
      ...renamed,
      name: "kind-renamed-after",
      kindName: renamed.name,
      formerNames: [renamed.name],
    };
    // Under its new name the runner has the rights to both kinds, as long as they are not taken away.
    await bench.install(after);
    const operator = await bench.install({ ...after, children: [CONFIG_MAP], installs: false });
    operator.plan("object", answering(configMap("map")));
    await operator.start();
    await eventually(() => api.assertGone(inNamespace(secret(), here)));
    await eventually(() => api.assertGone(inNamespace(secret(), elsewhere)));
  });

  it("in the version of before, but in a newer one: its objects stay the same", async () => {
    const scaler = ({ apiVersion, kind }: { apiVersion: string; kind: string }, annotations = {}) => ({
      apiVersion,
      kind,
      metadata: { name: "scaler", namespace: here, annotations },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "none" } },
    });
    const [before, now] = SCALERS;
    await handled(moved, scaler(before, { kept: "1", dropped: "1" }));
    const { uid } = (await api.get(scaler(now))).metadata;
    const operator = await bench.install({ ...moved, children: [now] });
    operator.plan("object", {
      answer: { children: [scaler(now, { kept: "1" })], status: { step: "2" } },
    });
    const engine = await operator.start();
    await eventually(async () => {
      assert.equal(statusOf(await api.get(operator.object("object", {}, here)))["step"], "2");
    });
    const { metadata } = await api.get(scaler(now));
    assert.deepEqual([metadata.uid, metadata.annotations], [uid, { kept: "1" }]);
    const entries = (metadata.managedFields ?? []) as { manager?: string; apiVersion?: string }[];
    const ours = entries.filter(({ manager }) => manager === operator.fieldManager);
    assert.deepEqual(
      ours.map(({ apiVersion }) => apiVersion),
      [now.apiVersion],
    );
    // A further run finds nothing to do.
    const runs = () => engine.reportsOf("object");
    const { length } = runs();
    engine.controller.hint({ namespace: here, name: "object" });
    await eventually(() => assert.ok(runs().length > length));
    assert.deepEqual(runs().at(-1)?.changes, []);
  });

  /** Lets an operator handle an object with these children. */
  async function handled(options: TestOperatorOptions, ...children: object[]): Promise<TestOperator> {
    const operator = await bench.install(options);
    const controller = await operator.start();
    if (children.length === 0) children = [configMap("map"), secret(), inNamespace(secret(), elsewhere)];
    const object = await api.apply(operator.object("object", answering(...children), here));
    await bench.ready(object);
    await controller.stop();
    return operator;
  }

  function secret() {
    return { ...SECRET, metadata: { name: "secret" }, data: { key: "dmFsdWU=" } };
  }
});
