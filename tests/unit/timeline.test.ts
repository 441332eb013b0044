import assert from "node:assert/strict";
import { lastWriteOf, Timeline } from "../../runtime/reconcile/timeline";
import { widget } from "./support/objects";

describe("the timeline of a run", () => {
  let now: number;
  let timeline: Timeline;
  beforeEach(() => {
    now = 10;
    timeline = new Timeline(() => now);
  });
  const child = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name });

  it("has each step with its times, and throws what a step throws", async () => {
    await timeline.step("read", async () => {
      now = 12;
    });
    await timeline.step(
      "sweep",
      async () => 0,
      (deleted) => deleted > 0,
    );
    const failing = timeline.step("handler", async () => {
      now = 20;
      throw new Error(`no luck ${"!".repeat(5_000)}`);
    });
    await assert.rejects(failing, /^Error: no luck/);
    const { steps, ...timing } = timeline.timing(7);
    assert.deepEqual(timing, { from: 10, to: 20, omitted: 0, writtenAt: 7 });
    assert.deepEqual(
      steps.map(({ name, from, to, error }) => [name, from, to, error?.slice(0, 7), error?.length]),
      [
        ["read", 10, 12, undefined, undefined],
        ["handler", 12, 20, "no luck", 1025],
      ],
    );
  });

  it("leaves out children of a run with thousands: first those that it left as they were", async () => {
    for (let at = 0; at < 300; at++)
      await timeline.step("child", async () => undefined, undefined, child(`same-${at}`));
    for (let at = 0; at < 300; at++) {
      const change = { verb: "created" as const, apiVersion: "v1", kind: "ConfigMap", name: `new-${at}` };
      await timeline.step("child", async () => change, undefined, child(change.name));
    }
    await timeline.step("status", async () => {});
    const { steps, omitted } = timeline.timing(undefined);
    const count = (verb: string) => steps.filter((step) => step.verb === verb).length;
    assert.deepEqual([count("unchanged"), count("created"), omitted], [50, 50, 500]);
    assert.equal(steps.at(-1)?.name, "status");
  });
});

describe("when another client wrote an object", () => {
  const entry = (manager: string, time: string, more: object = {}) => ({ manager, time, ...more });
  const at = (time: string) => Date.parse(time);

  it("is the newest time of a writer that is none of ours, the status aside", () => {
    const written = widget({
      creationTimestamp: "2026-01-01T00:00:00Z",
      managedFields: [
        entry("kubectl", "2026-01-02T00:00:00Z"),
        entry("helm", "2026-01-01T12:00:00Z"),
        entry("argosy/argosy.shop", "2026-01-03T00:00:00Z"),
        entry("somebody", "2026-01-04T00:00:00Z", { subresource: "status" }),
      ],
    });
    assert.equal(lastWriteOf(written), at("2026-01-02T00:00:00Z"));
  });

  it("is its deletion, if it is being deleted", () => {
    const deletionTimestamp = "2026-01-05T00:00:00Z";
    assert.equal(lastWriteOf(widget({ deletionTimestamp })), at(deletionTimestamp));
  });

  it("is unknown where nothing says it, or a client wrote nonsense there", () => {
    assert.equal(lastWriteOf(widget({ creationTimestamp: "2026-01-01T00:00:00Z" })), undefined);
    const managedFields = [entry("kubectl", "yesterday"), { manager: "helm" }];
    assert.equal(lastWriteOf(widget({ managedFields })), undefined);
  });
});
