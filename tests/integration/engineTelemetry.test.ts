import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { configMap } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

interface Event extends KubernetesObject {
  type: string;
  reason: string;
  note: string;
  regarding: { uid: string };
  reportingController: string;
  series?: { count: number };
}

describe("the engine tells", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "telemetry-test" });

  async function eventsAbout({ metadata }: KubernetesObject): Promise<Event[]> {
    const events = (await bench.api.list(
      { apiVersion: "events.k8s.io/v1", kind: "Event" },
      metadata.namespace,
    )) as Event[];
    return events.filter(({ regarding }) => regarding.uid === metadata.uid);
  }

  it("what it changed, in a Kubernetes Event", async () => {
    const object = await bench.applied("told", answering(configMap("told-a"), configMap("told-b")));
    await eventually(async () => {
      const [event, ...more] = await eventsAbout(object);
      assert.deepEqual([event?.type, event?.reason], ["Normal", "Reconciled"]);
      assert.equal(event?.note, "created ConfigMap told-a, created ConfigMap told-b");
      assert.equal(event?.reportingController, "argosy/argosy.telemetry-test");
      assert.deepEqual(more, []);
    });
    await bench.reconcileAgain(object);
    assert.equal((await eventsAbout(object)).length, 1, "nothing was changed, nothing is told");
  });

  it("why it failed, in one Event that is counted up", async () => {
    const error = { message: "no luck", retryAfterSeconds: 1 };
    const object = await bench.applyObject("warned", { answer: { error } });
    await eventually(async () => {
      const [event, ...more] = await eventsAbout(object);
      assert.deepEqual([event?.type, event?.reason, event?.note], ["Warning", "HandlerError", "no luck"]);
      assert.ok((event?.series?.count ?? 0) >= 2, JSON.stringify(event?.series));
      assert.deepEqual(more, []);
    });
    await bench.applied("warned", answering());
  });

  it("how much it did, in Prometheus metrics", async () => {
    const { engine } = bench;
    const count = async () => ({
      succeeded: await engine.metric("argosy_reconciles_total", { result: "succeeded" }),
      failed: await engine.metric("argosy_reconciles_total", { result: "failed" }),
      crashed: await engine.metric("argosy_reconcile_failures_total", { reason: "HandlerCrashed" }),
      processes: await engine.metric("argosy_handler_process_failures_total", { reason: "HandlerCrashed" }),
      created: await engine.metric("argosy_child_changes_total", { verb: "created", kind: "ConfigMap" }),
      requests: await engine.metric("argosy_api_requests_total"),
      children: await engine.metric("argosy_children"),
    });
    await bench.idle();
    const before = await count();
    const object = await bench.applied("counted", answering(configMap("counted")));
    await bench.applyObject("counted", { exitCode: 1 });
    await bench.failed(object, "HandlerCrashed");
    await bench.applied("counted", answering(configMap("counted")));
    await bench.idle();
    const after = await count();
    assert.equal(after.created - before.created, 1);
    assert.equal(after.children - before.children, 1);
    assert.ok(after.succeeded - before.succeeded >= 2);
    assert.ok(after.failed - before.failed >= 1);
    assert.ok(after.crashed - before.crashed >= 1);
    assert.ok(after.processes - before.processes >= 1);
    // An Event is written when nothing has been at work for a moment.
    await eventually(async () => assert.ok((await count()).requests - before.requests >= 6));
    assert.equal(await engine.metric("argosy_leader"), 1);
    assert.equal(await engine.metric("argosy_queue_depth"), 0);
    const text = await engine.controller.metrics.registry.metrics();
    assert.match(text, /argosy_reconcile_duration_seconds_bucket\{.*operator="telemetry-test"/);
  });
});
