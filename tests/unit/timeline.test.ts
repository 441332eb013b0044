import assert from "node:assert/strict";
import { Timeline } from "../../runtime/reconcile/timeline";

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
    const { steps, ...timing } = timeline.timing();
    assert.deepEqual(timing, { from: 10, to: 20, omitted: 0 });
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
    const { steps, omitted } = timeline.timing();
    const count = (verb: string) => steps.filter((step) => step.verb === verb).length;
    assert.deepEqual([count("unchanged"), count("created"), omitted], [50, 50, 500]);
    assert.equal(steps.at(-1)?.name, "status");
  });
});
