import assert from "node:assert/strict";
import type { ObjectName } from "../../runtime/kubernetes/objects";
import type { Parts } from "../../runtime/parts";
import { ReconcileRequests } from "../../runtime/reconcile/requests";
import { Wakeups } from "../../runtime/wakeups";
import { Alarms } from "../../runtime/work/alarms";
import { Arrivals } from "../../runtime/work/arrivals";
import { Schedule } from "../../runtime/work/schedule";
import { Triggers } from "../../runtime/work/triggers";
import { operator } from "./support/objects";

const NAME = { namespace: "shop", name: "deployment" };
const KEY = "shop/deployment";

describe("Wakeups of an operator that watches objects of others", () => {
  let schedule: Schedule;
  let wakeups: Wakeups;
  let isActive: boolean;
  /** The objects of which the reconciler was told to keep nothing. */
  let forgotten: string[];

  beforeEach(() => {
    schedule = new Schedule();
    isActive = true;
    forgotten = [];
    const parts = {
      watches: { objects: { has: () => false } },
      outbox: { forget: () => {} },
      reconciler: { forget: ({ name }: ObjectName) => void forgotten.push(name) },
    };
    wakeups = new Wakeups({
      operator: operator({ watch: { labels: {}, on: ["spec"] } }),
      schedule,
      triggers: new Triggers({ schedule, wake: () => {} }),
      arrivals: new Arrivals(),
      requests: new ReconcileRequests(),
      alarms: new Alarms({ onDue: () => {} }),
      parts: () => parts as unknown as Parts,
      isActive: () => isActive,
      notice: () => {},
    });
  });

  /** Everything that is reported when an object goes: a change before, its end, that of its child, and that of its memory. */
  const goes: Readonly<Record<string, () => void>> = {
    "the object": () => wakeups.objectGone(NAME, { uid: "uid", isDeleted: true }),
    "a child of it": () => wakeups.childChanged({ ...NAME, uid: "uid" }, undefined, false),
    "its memory": () => wakeups.memoryLost(NAME),
  };

  for (const [what, go] of Object.entries(goes)) {
    it(`look once more at an object when ${what} goes`, () => {
      go();
      assert.ok(schedule.has(KEY));
    });
  }

  it("let the reconciler forget an object that is gone", () => {
    wakeups.objectGone(NAME, { uid: "uid", isDeleted: true });
    assert.deepEqual(forgotten, [NAME.name]);
  });

  it("keep nothing of objects that are gone while another process leads", () => {
    isActive = false;
    wakeups.objectChanged({ name: NAME, resourceVersion: "1", isReady: false, isAnnounced: false });
    assert.ok(schedule.has(KEY));
    for (const go of Object.values(goes)) go();
    assert.ok(!schedule.has(KEY));
  });
});
