import assert from "node:assert/strict";
import { CHILD_OF_LABEL, OWNER_UID_LABEL } from "../../../runtime/base/names";
import type { JsonPatchOperation } from "../../../runtime/kubernetes/client";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";
import { type Review, Webhook } from "../support/webhook";

describe("where a webhook changes what is written", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "mutated", finalize: true });
  let webhook: Webhook;

  afterEach(() => webhook.stop());

  /** Changes each write of what has that name, unless it is a deletion. */
  function change(name: string, patchOf: (review: Review) => JsonPatchOperation[]): void {
    webhook.mutate = (review) => (review.name === name && review.object ? patchOf(review) : []);
  }

  describe("of children", () => {
    const here = (name: string) => inNamespace(configMap(name), bench.namespace);

    beforeEach(async () => {
      const rule = { group: "", resources: ["configmaps"], namespace: bench.namespace, isMutating: true };
      webhook = await Webhook.start(bench.api, bench.operator.cluster.connection, rule, configMap("probe"));
    });

    for (const [what, path] of [
      ["the owner reference", "/metadata/ownerReferences"],
      ["a label of ours", `/metadata/labels/${CHILD_OF_LABEL.replace("/", "~1")}`],
    ] as const)
      it(`and takes ${what} away, the object says so, and has its child when it is left there`, async () => {
        const name = path.includes("labels") ? "unlabelled" : "disowned";
        change(name, () => [{ op: "remove", path }]);
        const object = await bench.applyObject(name, answering(configMap(name)));
        const { message } = await bench.failed(object, "ChildRefused");
        assert.match(message, /ConfigMap .* dropped the marks of a child.* mutating webhook/);
        webhook.mutate = () => [];
        await bench.reconcileAgain(object);
        await bench.ready(object);
        await bench.api.delete(object);
        await eventually(() => bench.api.assertGone(here(name)));
      });

    it("and changes a label of ours, the object says so until the label is left there", async () => {
      const path = `/metadata/labels/${OWNER_UID_LABEL.replace("/", "~1")}`;
      change("relabelled", () => [{ op: "replace", path, value: "theirs" }]);
      const object = await bench.applyObject("relabelled", answering(configMap("relabelled")));
      await bench.failed(object, "ChildRefused");
      await bench.reconcileAgain(object);
      await bench.failed(object, "ChildRefused");
      webhook.mutate = () => [];
      await bench.reconcileAgain(object);
      await bench.ready(object);
      const { labels } = (await bench.api.get(here("relabelled"))).metadata;
      assert.equal(labels?.[OWNER_UID_LABEL], object.metadata.uid);
    });

    it("with another value each time, it is not written again and again", async () => {
      let writes = 0;
      change("other", () => [{ op: "replace", path: "/data/a", value: `theirs-${++writes}` }]);
      const object = await bench.applied("other", answering(configMap("other", { a: "ours" })));
      for (let time = 0; time < 3; time++) await bench.reconcileAgain(object);
      assert.equal(writes, 1);
    });
  });

  describe("of custom resources", () => {
    beforeEach(async () => {
      const { group, plural } = bench.operator.operator.customResource;
      const { namespace } = bench;
      const rule = { group, resources: [plural, `${plural}/status`], namespace, isMutating: true };
      const metadata = { name: "probe", annotations: { "argosy.dev/paused": "true" } };
      const probe = { ...bench.operator.object("probe"), metadata };
      webhook = await Webhook.start(bench.api, bench.operator.cluster.connection, rule, probe);
    });

    it("and takes the finalizer away, the object says so, and the handler is not asked before it stays", async () => {
      change("let-go", ({ object }) =>
        object?.metadata.finalizers ? [{ op: "remove", path: "/metadata/finalizers" }] : [],
      );
      const object = await bench.applyObject("let-go", answering(configMap("let-go")));
      const { message } = await bench.failed(object, "ApiError");
      assert.match(message, /finalizer argosy\.dev\/argosy\.mutated but dropped it/);
      assert.deepEqual(bench.operator.calls("let-go"), []);
      webhook.mutate = () => [];
      await bench.reconcileAgain(object);
      const { metadata } = await bench.ready(object);
      assert.deepEqual(metadata.finalizers, [bench.operator.finalizer]);
    });

    it("and puts the finalizer back each time, the object says so, and goes when it may", async () => {
      const object = await bench.applied("held", answering(configMap("held")));
      change("held", ({ object, oldObject }) =>
        object?.metadata.deletionTimestamp && oldObject?.metadata.finalizers
          ? [{ op: "add", path: "/metadata/finalizers", value: oldObject.metadata.finalizers }]
          : [],
      );
      await bench.api.delete(object);
      const { message } = await bench.failed(object, "ApiError");
      assert.match(message, /kept the finalizer argosy\.dev\/argosy\.mutated.*webhook/);
      webhook.mutate = () => [];
      await eventually(() => bench.api.assertGone(object));
    });

    for (const [what, field] of [
      ["the engine's memory", "argosy"],
      ["a field of the handler's status", "phase"],
    ] as const)
      it(`and takes ${what} away, the object says so`, async () => {
        change(field, ({ subResource, object }) =>
          subResource === "status" && (object?.["status"] as Record<string, unknown>)?.[field]
            ? [{ op: "remove", path: `/status/${field}` }]
            : [],
        );
        const answer = { children: [configMap(field) as never], status: { phase: "new", note: null } };
        const object = await bench.applyObject(field, { answer });
        const { message } = await bench.failed(object, "StatusRefused");
        assert.match(message, new RegExp(`dropped status\\.${field}: .*webhook`));
        webhook.mutate = () => [];
        await bench.reconcileAgain(object);
        await bench.ready(object);
      });
  });
});
