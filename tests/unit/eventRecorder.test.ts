import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { EventRecorder } from "../../runtime/outbox/eventWriter";
import { eventually } from "../integration/support/eventually";
import { globalWidget, MANAGER, widget } from "./support/objects";
import { type ApiCall, json, refuse, TestApiServer } from "./support/testApiServer";

describe("EventRecorder", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let recorder: EventRecorder;
  let dropped: Error[];
  beforeEach(async () => {
    api = await TestApiServer.start((_, response) => json(response, {}, 201));
    client = api.client();
    const ofThisTest: Error[] = [];
    dropped = ofThisTest;
    recorder = new EventRecorder({
      client,
      controller: MANAGER,
      instance: "pod-1",
      onDrop: (error) => ofThisTest.push(error),
    });
  });
  afterEach(async () => {
    client.close();
    await api.stop();
  });

  /** Records an event and waits until it is written. */
  async function record(note: string, object: KubernetesObject = widget()): Promise<void> {
    recorder.record(object, { type: "Warning", reason: "HandlerError", note });
    await recorder.flush();
  }

  function events(): (KubernetesObject & { note: string; series?: { count: number } })[] {
    return api.calls.map(({ body }) => body as KubernetesObject & { note: string });
  }

  it("writes an event about the object beside it", async () => {
    await record("no such size");
    const [call] = api.calls as [ApiCall];
    assert.equal(call.method, "POST");
    assert.equal(call.path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    const { metadata, eventTime, ...event } = call.body as KubernetesObject;
    assert.match(metadata.name, /^widget\.[a-z0-9]+$/);
    assert.match(String(eventTime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepStrictEqual(event, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      type: "Warning",
      reason: "HandlerError",
      note: "no such size",
      action: "Reconcile",
      reportingController: MANAGER,
      reportingInstance: "pod-1",
      regarding: {
        apiVersion: "shop.example.com/v1",
        kind: "Widget",
        name: "widget",
        uid: "widget-uid",
        namespace: "shop",
      },
    });
  });

  it("writes an event about an object without a namespace into the default one", async () => {
    await record("x", globalWidget());
    assert.equal(api.calls[0]?.path, "/apis/events.k8s.io/v1/namespaces/default/events");
  });

  it("counts an equal event in the first one", async () => {
    for (let times = 0; times < 3; times++) await record("the same");
    await record("another");
    assert.deepStrictEqual(
      api.calls.map(({ method }) => method),
      ["POST", "PATCH", "PATCH", "POST"],
    );
    assert.deepStrictEqual(
      events().map(({ series }) => series?.count),
      [undefined, 2, 3, undefined],
    );
    const [first, second] = api.calls;
    assert.equal(second?.path, `${first?.path}/${events()[0]?.metadata.name}`);
  });

  it("begins anew when the API server has forgotten the first one", async () => {
    await record("the same");
    api.answer = ({ method }, response) =>
      method === "PATCH" ? refuse(response, 404) : json(response, {}, 201);
    await record("the same");
    assert.deepStrictEqual(
      api.calls.map(({ method }) => method),
      ["POST", "PATCH", "POST"],
    );
    assert.deepStrictEqual(dropped, []);
  });

  it("bounds the events of one object, tells of those that it drops, and leaves other objects theirs", async () => {
    for (let times = 0; times < 50; times++) {
      recorder.record(widget(), { type: "Normal", reason: "Reconciled", note: `${times}` });
    }
    await record("mine", widget({ uid: "another-uid", name: "another" }));
    assert.equal(api.calls.length, 11);
    assert.equal(dropped.length, 40);
    assert.equal(events().at(-1)?.note, "mine");
  });

  it("bounds what waits to be written", async () => {
    api.answer = () => {};
    for (let index = 0; index < 1_100; index++) {
      recorder.record(widget({ uid: `uid-${index}` }), { type: "Normal", reason: "Reconciled", note: "x" });
    }
    assert.equal(dropped.length, 100);
  });

  it("holds on to no object that waits to be told of", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    api.answer = () => {};
    recorder.record(widget(), { type: "Normal", reason: "Reconciled", note: "the first, in flight" });
    const held = [1, 2, 3].map((at) => {
      const object = widget({ uid: `uid-${at}` });
      recorder.record(object, { type: "Normal", reason: "Reconciled", note: "x" });
      return new WeakRef(object);
    });
    await eventually(() => {
      collect();
      assert.ok(
        held.every((object) => object.deref() === undefined),
        "an object is held",
      );
    });
  });

  it("waits for its turn before each event", async () => {
    const turns: (() => void)[] = [];
    const patient = new EventRecorder({
      client,
      controller: MANAGER,
      instance: "pod-1",
      turn: () => new Promise((resolve) => turns.push(resolve)),
      onDrop: (error) => dropped.push(error),
    });
    for (const uid of ["uid-1", "uid-2"])
      patient.record(widget({ uid }), { type: "Normal", reason: "Reconciled", note: "x" });
    await eventually(() => assert.equal(turns.length, 1));
    assert.equal(api.calls.length, 0);
    turns[0]?.();
    await eventually(() => assert.equal(turns.length, 2));
    assert.equal(api.calls.length, 1);
    turns[1]?.();
    await patient.flush();
    assert.equal(api.calls.length, 2);
    assert.deepStrictEqual(dropped, []);
  });

  it("drops what cannot be written, and goes on", async () => {
    api.answer = (_, response) => refuse(response, 403, { message: "not allowed" });
    await record("a");
    api.answer = (_, response) => json(response, {}, 201);
    await record("b");
    assert.deepStrictEqual(
      dropped.map(({ message }) => message),
      ["not allowed"],
    );
    assert.equal(api.calls.length, 2);
  });

  it("cuts a long note to what the API takes, and cleans it", async () => {
    await record(`\u001b[31m${"x".repeat(5_000)}`);
    assert.equal(events()[0]?.note.length, 1_024);
    assert.match(events()[0]?.note ?? "", /^x+…$/);
  });

  it("makes a valid name of any object's name", async () => {
    for (const name of [`${"a".repeat(199)}-${"b".repeat(53)}`, `${"a".repeat(199)}.b`, "a".repeat(253)]) {
      await record("x", widget({ name, uid: name }));
      const { name: made } = events().at(-1)?.metadata ?? { name: "" };
      assert.match(made, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      assert.ok(made.length <= 253);
    }
  });
});
