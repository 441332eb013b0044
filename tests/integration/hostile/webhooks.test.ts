import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";
import { type Denial, type Review, Webhook } from "../support/webhook";

const NOT_TODAY = { code: 409, message: "not today" };

/** tests/unit/netRefusals.test.ts refuses every write with every code. These are those that say something else without a webhook. */
describe("where a webhook refuses writes", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "webhook-test", finalize: true });
  let webhook: Webhook;

  afterEach(() => webhook.stop());

  describe("of children", () => {
    beforeEach(async () => {
      const rule = { group: "", resources: ["configmaps"], namespace: bench.namespace };
      webhook = await Webhook.start(bench.api, bench.operator.cluster.connection, rule, configMap("probe"));
    });

    it("as a conflict, the object says so in the webhook's words, tries ever less often, and goes on when it may", async () => {
      let refusal: Denial | undefined = NOT_TODAY;
      webhook.answer = ({ name }) => (name === "stuck" ? refusal : undefined);
      const object = await bench.applyObject("stuck", answering(configMap("stuck")));
      const { message } = await bench.failed(object, "ChildRefused");
      assert.match(message, /ConfigMap .*stuck.*not today/);
      await bench.applied("free", answering(configMap("free")));
      const failures = () => bench.failuresOf("stuck").length;
      await eventually(() => assert.ok(failures() >= 3, `${failures()} failures`));
      refusal = undefined;
      await bench.ready(object);
    });

    for (const code of [409, 404])
      it(`that are to be deleted with ${code}, the object says so, and deletes the others`, async () => {
        await bench.applied("prunes", answering(configMap("a"), configMap("b"), configMap("c")));
        let refusal: Denial | undefined = { code, message: "it is still needed" };
        webhook.answer = deletion("b", () => refusal);
        const object = await bench.applyObject("prunes", answering());
        const { message } = await bench.failed(object, "ChildRefused");
        assert.match(message, /ConfigMap .*b: .*it is still needed/);
        for (const name of ["a", "c"])
          await bench.api.assertGone(inNamespace(configMap(name), bench.namespace));
        refusal = undefined;
        await bench.ready(object);
        await bench.api.assertGone(inNamespace(configMap("b"), bench.namespace));
      });
  });

  describe("of custom resources", () => {
    beforeEach(async () => {
      const { group, plural } = bench.operator.operator.customResource;
      const resources = [plural, `${plural}/status`];
      const rule = { group, resources, namespace: bench.namespace };
      const probe = {
        ...bench.operator.object("probe", answering()),
        metadata: { name: "probe", annotations: { "argosy.dev/paused": "true" } },
      };
      webhook = await Webhook.start(bench.api, bench.operator.cluster.connection, rule, probe);
    });

    for (const code of [409, 404])
      it(`their finalizer with ${code}, in both directions, the object says so, and goes on when it may`, async () => {
        const held = `held-${code}`;
        let refusal: Denial | undefined = { code, message: "no finalizers" };
        const isOurs = (of: Review["object"]) =>
          of?.metadata.finalizers?.includes(bench.operator.finalizer) ?? false;
        webhook.answer = ({ name, operation, object, oldObject }) =>
          name === held && operation === "UPDATE" && isOurs(object) !== isOurs(oldObject)
            ? refusal
            : undefined;
        const object = await bench.applyObject(held, answering(configMap(held)));
        const { message } = await bench.failed(object, "ApiError");
        assert.match(message, /no finalizers/);
        assert.deepEqual(bench.operator.calls(held), []);
        refusal = undefined;
        await bench.ready(object);
        refusal = { code, message: "not yet" };
        await bench.api.delete(object);
        await eventually(async () => {
          const { message } = await bench.failed(object, "ApiError");
          assert.match(message, /not yet/);
        });
        refusal = undefined;
        await eventually(() => bench.api.assertGone(object));
      });

    for (const code of [409, 401])
      it(`their status with ${code}, an Event says so, and the status comes when it may`, async () => {
        let refusal: Denial | undefined = { code, message: "no status" };
        webhook.answer = ({ name, subResource }) =>
          name === "mute" && subResource === "status" ? refusal : undefined;
        const object = await bench.applyObject("mute", answering(configMap("mute")));
        await eventually(async () => {
          const events = await bench.eventsOf(object);
          assert.ok(
            events.some(({ reason, note }) => reason === "StatusRefused" && note.includes("no status")),
          );
        });
        refusal = undefined;
        await bench.ready(object);
      });
  });

  describe("of Events", () => {
    beforeEach(async () => {
      const rule = { group: "events.k8s.io", resources: ["events"], namespace: bench.namespace };
      const regarding = { apiVersion: "v1", kind: "ConfigMap", name: "probe", namespace: bench.namespace };
      const probe = {
        ...{ apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name: "probe" }, regarding },
        ...{ eventTime: new Date().toISOString().replace("Z", "000Z"), type: "Normal", reason: "Probe" },
        ...{ action: "Probe", reportingController: "test", reportingInstance: "test" },
      };
      webhook = await Webhook.start(bench.api, bench.operator.cluster.connection, rule, probe);
    });

    it("the object is handled, and the log says once a minute why they are missing", async () => {
      webhook.answer = () => ({ code: 403, message: "no Events" });
      for (const name of ["first", "second"]) await bench.applied(name, answering(configMap(name)));
      await eventually(async () => {
        assert.ok((await bench.engine.metric("argosy_kubernetes_events_dropped_total")) >= 2);
        const told = bench.engine.notices.filter((notice) => notice.startsWith("an Event is not written"));
        assert.equal(told.length, 1);
        assert.match(told[0] ?? "", /no Events/);
      });
    });
  });

  function deletion(of: string, refusal: () => Denial | undefined) {
    return ({ name, operation }: Review) => (name === of && operation === "DELETE" ? refusal() : undefined);
  }
});
