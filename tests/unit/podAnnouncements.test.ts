import assert from "node:assert/strict";
import { Announcements } from "../../runtime/pod/hints/announcements";
import { FakeClock } from "./support/fakeClock";

describe("Announcements", () => {
  let clock: FakeClock;
  let announcements: Announcements;
  let missing: number;
  beforeEach(() => {
    clock = FakeClock.install();
    missing = 0;
    announcements = new Announcements({
      withinMs: 30_000,
      onMissing: (objects) => {
        missing += objects;
      },
    });
  });
  afterEach(() => {
    announcements.stop();
    clock.uninstall();
  });

  const one = { namespace: "shop", name: "one" };
  const two = { namespace: "shop", name: "two" };

  async function missingAfter(ms: number): Promise<number> {
    await clock.tick(ms);
    announcements.expire();
    return missing;
  }

  it("knows a hint for a change that the watch has told of, once", () => {
    announcements.changed(one, "7");
    assert.equal(announcements.hinted(two, "7"), false);
    assert.equal(announcements.hinted(one, "7"), true);
    assert.equal(announcements.hinted(one, "7"), false);
  });

  it("misses nothing where each change is hinted at, whichever comes first", async () => {
    announcements.changed(one, "7");
    announcements.hinted(one, "7");
    announcements.hinted(two, "8");
    announcements.changed(two, "8");
    assert.equal(await missingAfter(60_000), 0);
    assert.equal(announcements.hinted(two, "8"), false, "nothing is left of it");
  });

  it("takes a hint without a version for one of the newest change", async () => {
    announcements.changed(one, "7");
    assert.equal(announcements.hinted(one), true);
    announcements.hinted(two);
    announcements.changed(two, "8");
    assert.equal(await missingAfter(60_000), 0);
  });

  it("takes one hint of the newest for all changes before it, as an event source tells it that was away", async () => {
    for (const version of ["7", "8", "9", "10"]) announcements.changed(one, version);
    announcements.hinted(one, "10");
    assert.equal(await missingAfter(60_000), 0);
  });

  it("counts each object whose newest change no hint came for in time, and counts it once", async () => {
    announcements.changed(one, "7");
    announcements.changed(one, "8");
    announcements.changed(two, "9");
    announcements.hinted(one, "7");
    assert.equal(await missingAfter(29_000), 0);
    assert.equal(await missingAfter(2_000), 2);
    assert.equal(await missingAfter(60_000), 2);
  });

  it("counts an object once its time is over, however often it changes", async () => {
    for (let at = 0; at < 4; at++) {
      announcements.changed(one, String(7 + at));
      await missingAfter(10_000);
    }
    assert.equal(missing, 1);
  });

  it("does not count what hints come late for, however late, while they come in the order of the changes", async () => {
    const objects = Array.from({ length: 100 }, (_, at) => ({ namespace: "shop", name: `object-${at}` }));
    objects.forEach((name, at) => {
      announcements.changed(name, String(100 + at));
    });
    for (const [at, name] of objects.entries()) {
      // Each three seconds later than the one before: the last one five minutes after its change.
      assert.equal(await missingAfter(3_000), 0);
      assert.equal(announcements.hinted(name, String(100 + at)), true);
    }
    assert.equal(await missingAfter(60_000), 0);
  });

  it("counts what was left out by hints that come late", async () => {
    const objects = Array.from({ length: 100 }, (_, at) => ({ namespace: "shop", name: `object-${at}` }));
    objects.forEach((name, at) => {
      announcements.changed(name, String(100 + at));
    });
    for (const [at, name] of objects.entries()) {
      await missingAfter(3_000);
      if (at !== 10 && at !== 50) announcements.hinted(name, String(100 + at));
    }
    assert.equal(await missingAfter(60_000), 2);
  });

  it("awaits nothing of one path because another one has come further", async () => {
    announcements.stop();
    const pathOf = ({ namespace = "" }: { namespace?: string | undefined }) => namespace;
    announcements = new Announcements({
      withinMs: 30_000,
      pathOf,
      onMissing: (objects) => {
        missing += objects;
      },
    });
    announcements.changed(one, "7");
    announcements.changed(two, "8");
    for (let at = 0; at < 10; at++) {
      announcements.hinted({ namespace: "other", name: "hot" }, String(100 + at));
      announcements.hinted({ namespace: "shop", name: "late" }, "6");
      assert.equal(await missingAfter(10_000), 0);
    }
  });

  it("does not count a hint without a change, nor a change of what is gone", async () => {
    announcements.hinted(one, "7");
    announcements.changed(two, "8");
    announcements.gone(two);
    assert.equal(await missingAfter(60_000), 0);
  });

  it("does not take a late hint for a change of later", async () => {
    announcements.changed(one, "7");
    await missingAfter(31_000);
    assert.equal(announcements.hinted(one, "7"), false);
  });

  it("keeps a bounded number of objects, the newest", async () => {
    for (let at = 0; at < 10_005; at++) announcements.changed({ name: `object-${at}` }, "7");
    assert.equal(await missingAfter(31_000), 10_000);
  });
});
