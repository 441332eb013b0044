import assert from "node:assert/strict";
import type { KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import type { ObjectPlan } from "../support/testOperator";
import { answering, useOperator } from "../support/useOperator";
import { Webhook } from "../support/webhook";

/** What another client takes from a child elsewhere. */
const LOSSES = [
  ["the label with its owner's uid", { labels: { "argosy.dev/owner-uid": null } }],
  ["the annotation with its owner's name", { annotations: { "argosy.dev/owner": null } }],
  ["the label with its owner's range", { labels: { "argosy.dev/owner-range": null } }],
  ["the label of the operator", { labels: { "argosy.dev/child-of": null } }],
] as const;

/** As docs/recipes.md has it: without the Secret, it makes another password. */
const PASSWORD_MAKER = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object, children: [known] } = JSON.parse(line);
  const metadata = { name: object.metadata.name, ...(object.spec.far && { namespace: object.spec.far }) };
  const data = { password: known?.data.password ?? btoa(crypto.randomUUID()) };
  console.log(JSON.stringify({ id, children: [{ apiVersion: "v1", kind: "Secret", metadata, data }] }));
});
`;

describe("when a child elsewhere loses", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "stripped-far", finalize: true });

  it("a mark, the children of other objects and of an earlier object of that name stay as they are", async () => {
    const loss = { metadata: { labels: { "argosy.dev/owner-uid": null } } };
    const left = await withFar("namesake");
    await bench.api.annotate(left.object, { "argosy.dev/paused": "true" });
    await bench.api.patch(left.object, { metadata: { finalizers: null } });
    await bench.api.delete(left.object);
    await eventually(() => bench.api.assertGone(left.object));
    await bench.api.patch(left.far, loss);
    // Kubernetes counts in whole seconds when an object was created.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const others = await withFar("other");
    await bench.api.annotate(others.object, { "argosy.dev/paused": "true" });
    await bench.idle();
    await bench.api.patch(others.far, loss);
    const { object, far } = await withFar("namesake", "far-again");
    await bench.api.delete(object);
    await release(object);
    await eventually(() => bench.api.assertGone(object));
    await bench.api.assertGone(far);
    for (const stays of [left.far, others.far]) await always(() => bench.api.get(stays), { forMs: 500 });
  });

  it("the label with its owner's uid after the owner has gone without it, a new object of that name takes it over", async () => {
    const { object, far } = await withFar("heir");
    const { uid } = (await bench.api.get(far)).metadata;
    await bench.api.annotate(object, { "argosy.dev/paused": "true" });
    await bench.api.patch(object, { metadata: { finalizers: null } });
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
    await bench.api.patch(far, { metadata: { labels: { "argosy.dev/owner-uid": null } } });
    const heir = await bench.applied("heir", answering(far));
    const { metadata } = await bench.api.get(far);
    assert.deepEqual([metadata.uid, metadata.labels?.["argosy.dev/owner-uid"]], [uid, heir.metadata.uid]);
  });

  it("a mark while its owner is paused, and another process leads afterwards, it goes with the owner", async () => {
    const scenes = await Promise.all(
      LOSSES.map(async ([, metadata], at) => ({ metadata, ...(await withFar(`paused-${at}`)) })),
    );
    for (const { object } of scenes) await bench.api.annotate(object, { "argosy.dev/paused": "true" });
    await bench.idle();
    for (const { far, metadata } of scenes) await bench.api.patch(far, { metadata });
    await bench.idle();
    await bench.engine.stop();
    await bench.operator.start({ identity: "two" });
    for (const { object, far } of scenes) {
      await bench.api.delete(object);
      await release(object);
      await bench.api.annotate(object, { "argosy.dev/paused": null });
      await eventually(() => bench.api.assertGone(object), { timeoutMs: 20_000 });
      await eventually(() => bench.api.assertGone(far));
    }
  });

  async function withFar(name: string, child = "far"): Promise<{ object: KubernetesObject; far: Manifest }> {
    const far = inNamespace(configMap(child), await bench.api.newNamespace("far"));
    const waits = { finalize: { answer: { finalized: false, requeueAfterSeconds: 1 } } };
    return { object: await bench.applied(name, { ...answering(far), ...waits }), far };
  }

  /** Lets the handler end what it finalizes. */
  async function release({ metadata: { name } }: KubernetesObject): Promise<void> {
    bench.operator.plan(name, { finalize: { answer: { finalized: true } } });
  }
});

describe("when an object loses the finalizer for children elsewhere", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "unwanted-far" });
  let webhook: Webhook;
  let away: string;

  beforeEach(async () => {
    away = await bench.api.newNamespace("away");
    const rule = { group: "", resources: ["configmaps"], namespace: away };
    webhook = await Webhook.start(bench.api, bench.operator.cluster.connection, rule, configMap("probe"));
  });
  afterEach(() => webhook.stop());

  it("and its handler returns none any more, but one still exists, it gets the finalizer back", async () => {
    let isRefused = true;
    webhook.answer = ({ operation }) =>
      isRefused && operation === "DELETE" ? { code: 403, message: "still needed" } : undefined;
    const far = inNamespace(configMap("far"), away);
    await bench.applied("unwanted", answering(configMap("near"), far));
    const object = await bench.applyObject("unwanted", answering(configMap("near")));
    await bench.failed(object, "ChildRefused");
    await bench.api.patch(object, { metadata: { finalizers: [] } });
    await eventually(async () => {
      const { finalizers } = (await bench.api.get(object)).metadata;
      assert.deepEqual(finalizers, [bench.operator.elsewhereFinalizer]);
    });
    await bench.api.delete(object);
    await always(() => bench.api.get(object), { forMs: 1_000 });
    isRefused = false;
    await eventually(() => bench.api.assertGone(object), { timeoutMs: 20_000 });
    await bench.api.assertGone(far);
  });
});

describe("when a child loses a mark whose handler makes a value only once", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "password-maker", children: ["v1/Secret"], handler: PASSWORD_MAKER });

  it("the handler is shown the child, which keeps the value and gets the mark back", async () => {
    const losses = [...LOSSES.map(([, metadata]) => metadata), { ownerReferences: null }, { labels: null }];
    const scenes = losses.flatMap((metadata, at) =>
      ["near", "far"].map((place) => ({ metadata, place, at })),
    );
    const far = await bench.api.newNamespace("far");
    for (const { metadata, place, at } of scenes) {
      // Without its labels, a child elsewhere is no child any more.
      if (place === "far" && "labels" in metadata && metadata.labels === null) continue;
      const object = await bench.applied(`${place}-${at}`, (place === "far" ? { far } : {}) as ObjectPlan);
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: object.metadata.name } };
      const child = inNamespace(secret, place === "far" ? far : bench.namespace);
      const { data, metadata: before } = await bench.api.get(child);
      await bench.api.patch(child, { metadata });
      await eventually(async () => {
        const now = await bench.api.get(child);
        const marks = ({ labels, annotations, ownerReferences }: typeof before) => [
          labels,
          annotations,
          ownerReferences,
        ];
        assert.deepEqual([now["data"], marks(now.metadata)], [data, marks(before)], `${place}-${at}`);
      });
    }
  });

  it("nor does it lose the value when it is offered for adoption: its managedFields were removed, or others made it", async () => {
    const secret = (name: string) =>
      inNamespace({ apiVersion: "v1", kind: "Secret", metadata: { name } }, bench.namespace);
    const object = await bench.applied("wiped");
    const { data } = await bench.api.get(secret("wiped"));
    await bench.api.patch(secret("wiped"), { metadata: { managedFields: [{}] } });
    await bench.failed(object, "ChildConflict");
    await bench.api.create({ ...secret("theirs"), data: { password: "dGhlaXJz" } });
    const other = await bench.applyObject("theirs");
    await bench.failed(other, "ChildConflict");
    for (const name of ["wiped", "theirs"])
      await bench.api.annotate(secret(name), { "argosy.dev/adopt": "true" });
    for (const each of [object, other]) {
      await bench.reconcileAgain(each);
      await bench.ready(each);
    }
    assert.deepEqual((await bench.api.get(secret("wiped")))["data"], data);
    assert.deepEqual((await bench.api.get(secret("theirs")))["data"], { password: "dGhlaXJz" });
  });
});
