import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { ObjectEvent } from "../../runtime/reconcile/report";
import { type EventClient, EventWriter } from "../../runtime/report/eventWriter";
import { globalWidget, MANAGER, widget } from "./support/objects";

type Written = KubernetesObject & {
  type: string;
  reason: string;
  note: string;
  eventTime: string;
  series?: { count: number };
};

describe("EventWriter", () => {
  let now: number;
  let created: Written[];
  let patched: { name: string; series: { count: number }; metadata?: object }[];
  let refusals: Error[];
  let dropped: string[];
  let writer: EventWriter;

  const client: EventClient = {
    create: async (_, manifest) => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      const event = manifest as Written;
      created.push(event);
      return event;
    },
    mergePatch: async (_, { name }, patch) => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      patched.push({ name, ...(patch as { series: { count: number } }) });
      return widget();
    },
  } satisfies Pick<KubernetesClient, "create" | "mergePatch">;

  beforeEach(() => {
    [now, created, patched, refusals, dropped] = [0, [], [], [], []];
    writer = new EventWriter({
      controller: MANAGER,
      instance: "pod-1",
      onDrop: (reason) => void dropped.push(reason),
      now: () => now,
    });
  });

  const write = (note: string, object: KubernetesObject = widget(), more: Partial<ObjectEvent> = {}) =>
    writer.write(client, object, { type: "Warning", reason: "HandlerError", note, ...more });

  it("gives an Event a name that Kubernetes takes, whatever its object is called", async () => {
    const named = (name: string) => ({ ...widget(), metadata: { ...widget().metadata, name, uid: name } });
    const names = [
      "system:a",
      ":x",
      "Reader",
      "a.-b",
      "a..b",
      ":",
      `${"a".repeat(199)}:b`,
      `${"a".repeat(199)}-${"b".repeat(53)}`,
      `${"a".repeat(199)}.b`,
      "a".repeat(253),
      "shop.example.com",
    ];
    for (const name of names) await write(`no size for ${name}`, named(name));
    assert.equal(created.length, names.length);
    for (const { metadata } of created)
      assert.match(
        metadata.name,
        /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
      );
    assert.match(created.at(-1)?.metadata.name ?? "", /^shop\.example\.com\.[a-z0-9]+$/);
  });

  it("writes an Event at last that could not be written many times: an API server that is away loses none", async () => {
    for (let tries = 1; tries <= 30; tries++) {
      refusals.push(new ApiError(503, {}, "POST"));
      await assert.rejects(write("no such size"));
    }
    await write("no such size");
    assert.deepEqual([created.length, dropped], [1, []]);
  });

  it("writes an Event about the object into its namespace", async () => {
    await write("no such size", widget(), { run: "shop-widget-1" });
    const [event] = created;
    assert.ok(event);
    const { metadata, eventTime, ...content } = event;
    assert.match(metadata.name, /^widget\.[a-z0-9]+$/);
    assert.equal(metadata.namespace, "shop");
    assert.match(eventTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual(content, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      type: "Warning",
      reason: "HandlerError",
      note: "no such size (run shop-widget-1)",
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

  it("writes an Event about an object without a namespace into the default one", async () => {
    await write("x", globalWidget());
    assert.equal(created[0]?.metadata.namespace, "default");
  });

  it("counts equal Events even when thousands of objects fail in turn", async () => {
    const objects = Array.from({ length: 3_000 }, (_, index) => widget({ uid: `uid-${index}` }));
    for (let round = 0; round < 2; round++) for (const object of objects) await write("no size", object);
    assert.deepEqual([created.length, patched.length], [3_000, 3_000]);
  });

  it("counts an equal Event once, however many tries that takes", async () => {
    await write("no such size");
    for (let tries = 0; tries < 3; tries++) {
      refusals.push(new ApiError(503, {}, "PATCH"));
      await assert.rejects(write("no such size"));
    }
    await write("no such size");
    assert.deepEqual(
      patched.map(({ series }) => series.count),
      [2],
    );
  });

  it("counts an equal Event in the first one, whatever run it names, for half an hour", async () => {
    for (const run of ["a", "b", "c"]) await write("the same", widget(), { run });
    await write("another");
    assert.deepEqual([created.length, patched.map(({ series }) => series.count)], [2, [2, 3]]);
    assert.equal(patched[0]?.name, created[0]?.metadata.name);
    now += 31 * 60_000;
    await write("the same");
    assert.equal(created.length, 3);
  });

  it("writes the annotations of the latest of equal Events", async () => {
    await write("the same", widget(), { annotations: { next: "2" } });
    await write("the same", widget(), { annotations: { next: "3" } });
    assert.deepEqual(
      [created[0]?.metadata.annotations, patched[0]?.metadata],
      [{ next: "2" }, { annotations: { next: "3" } }],
    );
  });

  it("begins again if the API server has forgotten the first one", async () => {
    await write("the same");
    refusals.push(new ApiError(404, {}, "PATCH"));
    await write("the same");
    assert.equal(created.length, 2);
  });

  it("bounds the Events of one object, counts those that it drops, and leaves the other objects theirs", async () => {
    for (let times = 0; times < 50; times++) await write(String(times));
    assert.deepEqual([created.length, dropped.length], [10, 40]);
    await write("mine", widget({ uid: "another-uid" }));
    now += 60_000;
    await write("a minute later");
    assert.deepEqual(
      created.slice(10).map(({ note }) => note),
      ["mine", "a minute later"],
    );
  });

  it("writes a Warning however many Normal Events came before it: work that goes well must not hide what does not", async () => {
    for (let change = 1; change <= 20; change++)
      await write(`patched ${change}`, widget(), { type: "Normal", reason: "Reconciled" });
    await write("an operator changes what this object uses", widget(), { reason: "UseCycle" });
    assert.deepEqual(
      [created.filter(({ type }) => type === "Normal").length, created.at(-1)?.reason],
      [10, "UseCycle"],
    );
  });

  it("cuts a long note to what the API takes with the run's name, and cleans it", async () => {
    await write(`\u001b[31m${"x".repeat(5_000)}`, widget(), { run: "run-1" });
    assert.equal(Buffer.byteLength(created[0]?.note ?? ""), 1_024);
    assert.match(created[0]?.note ?? "", /^x+… \(run run-1\)$/);
  });
});
