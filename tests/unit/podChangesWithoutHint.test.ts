import assert from "node:assert/strict";
import { ChangesWithoutHint } from "../../runtime/pod/hints/changesWithoutHint";
import { FakeClock } from "./support/fakeClock";

describe("ChangesWithoutHint", () => {
  let clock: FakeClock;
  let changesWithoutHint: ChangesWithoutHint;
  let missing: number;
  beforeEach(() => {
    clock = FakeClock.install();
    missing = 0;
    changesWithoutHint = new ChangesWithoutHint({
      withinMs: 30_000,
      onMissing: (objects) => {
        missing += objects;
      },
    });
  });
  afterEach(() => {
    changesWithoutHint.stop();
    clock.uninstall();
  });

  const one = { namespace: "shop", name: "one" };
  const two = { namespace: "shop", name: "two" };

  async function missingAfter(ms: number): Promise<number> {
    await clock.tick(ms);
    changesWithoutHint.expire();
    return missing;
  }

  it("misses nothing where each change is hinted at, whichever comes first", async () => {
    changesWithoutHint.changed(one, "7");
    changesWithoutHint.hinted(one, "7");
    changesWithoutHint.hinted(two, "8");
    changesWithoutHint.changed(two, "8");
    assert.equal(await missingAfter(60_000), 0);
  });

  it("takes a hint without a version for one of the newest change", async () => {
    changesWithoutHint.changed(one, "7");
    changesWithoutHint.hinted(one);
    changesWithoutHint.hinted(two);
    changesWithoutHint.changed(two, "8");
    assert.equal(await missingAfter(60_000), 0);
  });

  it("takes one hint of the newest for all changes before it, as an event source tells it that was away", async () => {
    for (const version of ["7", "8", "9", "10"]) changesWithoutHint.changed(one, version);
    changesWithoutHint.hinted(one, "10");
    assert.equal(await missingAfter(60_000), 0);
  });

  it("counts each object whose newest change no hint came for in time, and counts it once", async () => {
    changesWithoutHint.changed(one, "7");
    changesWithoutHint.changed(one, "8");
    changesWithoutHint.changed(two, "9");
    changesWithoutHint.hinted(one, "7");
    assert.equal(await missingAfter(29_000), 0);
    assert.equal(await missingAfter(2_000), 2);
    assert.equal(await missingAfter(60_000), 2);
  });

  it("counts an object once its time is over, however often it changes", async () => {
    for (let at = 0; at < 4; at++) {
      changesWithoutHint.changed(one, String(7 + at));
      await missingAfter(10_000);
    }
    assert.equal(missing, 1);
  });

  it("does not count what hints come late for, however late, while they come in the order of the changes", async () => {
    const objects = Array.from({ length: 100 }, (_, at) => ({ namespace: "shop", name: `object-${at}` }));
    objects.forEach((name, at) => {
      changesWithoutHint.changed(name, String(100 + at));
    });
    for (const [at, name] of objects.entries()) {
      // Each three seconds later than the one before: the last one five minutes after its change.
      assert.equal(await missingAfter(3_000), 0);
      changesWithoutHint.hinted(name, String(100 + at));
    }
    assert.equal(await missingAfter(60_000), 0);
  });

  it("counts what was left out by hints that come late", async () => {
    const objects = Array.from({ length: 100 }, (_, at) => ({ namespace: "shop", name: `object-${at}` }));
    objects.forEach((name, at) => {
      changesWithoutHint.changed(name, String(100 + at));
    });
    for (const [at, name] of objects.entries()) {
      await missingAfter(3_000);
      if (at !== 10 && at !== 50) changesWithoutHint.hinted(name, String(100 + at));
    }
    assert.equal(await missingAfter(60_000), 2);
  });

  it("awaits nothing of one path because another one has come further", async () => {
    changesWithoutHint.stop();
    const pathOf = ({ namespace = "" }: { namespace?: string | undefined }) => namespace;
    changesWithoutHint = new ChangesWithoutHint({
      withinMs: 30_000,
      pathOf,
      onMissing: (objects) => {
        missing += objects;
      },
    });
    changesWithoutHint.changed(one, "7");
    changesWithoutHint.changed(two, "8");
    for (let at = 0; at < 10; at++) {
      changesWithoutHint.hinted({ namespace: "other", name: "hot" }, String(100 + at));
      changesWithoutHint.hinted({ namespace: "shop", name: "late" }, "6");
      assert.equal(await missingAfter(10_000), 0);
    }
  });

  it("does not count a hint without a change, nor a change of what is gone", async () => {
    changesWithoutHint.hinted(one, "7");
    changesWithoutHint.changed(two, "8");
    changesWithoutHint.gone(two);
    assert.equal(await missingAfter(60_000), 0);
  });

  it("does not take a late hint for a change of later", async () => {
    changesWithoutHint.changed(one, "7");
    assert.equal(await missingAfter(31_000), 1);
    changesWithoutHint.hinted(one, "7");
    changesWithoutHint.changed(one, "8");
    assert.equal(await missingAfter(60_000), 2);
  });

  it("keeps a bounded number of objects, the newest", async () => {
    for (let at = 0; at < 10_005; at++) changesWithoutHint.changed({ name: `object-${at}` }, "7");
    assert.equal(await missingAfter(31_000), 10_000);
  });
});
