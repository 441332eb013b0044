import assert from "node:assert/strict";
import { Announcements } from "../../runtime/pod/announcements";
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
      onMissing: (changes) => {
        missing += changes;
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
    announcements.changed(one);
    assert.equal(announcements.hinted(two), false);
    assert.equal(announcements.hinted(one), true);
    assert.equal(announcements.hinted(one), false);
  });

  it("misses nothing where each change is hinted at, whichever comes first", async () => {
    announcements.changed(one);
    announcements.hinted(one);
    announcements.hinted(two);
    announcements.changed(two);
    assert.equal(await missingAfter(60_000), 0);
    assert.equal(announcements.hinted(two), false, "nothing is left of it");
  });

  it("counts each change that no hint came for in time, and counts it once", async () => {
    announcements.changed(one);
    announcements.changed(one);
    announcements.changed(two);
    announcements.hinted(one);
    assert.equal(await missingAfter(29_000), 0);
    assert.equal(await missingAfter(2_000), 2);
    assert.equal(await missingAfter(60_000), 2);
  });

  it("counts a change once its time is over, however often the object changes", async () => {
    for (let at = 0; at < 4; at++) {
      announcements.changed(one);
      await missingAfter(10_000);
    }
    assert.equal(missing, 4 - 1);
  });

  it("does not count a hint without a change, nor a change of what is gone", async () => {
    announcements.hinted(one);
    announcements.changed(two);
    announcements.gone(two);
    assert.equal(await missingAfter(60_000), 0);
  });

  it("does not take a late hint for a change of later", async () => {
    announcements.changed(one);
    await missingAfter(31_000);
    assert.equal(announcements.hinted(one), false);
  });

  it("keeps a bounded number of objects, the newest", async () => {
    for (let at = 0; at < 10_005; at++) announcements.changed({ name: `object-${at}` });
    assert.equal(await missingAfter(31_000), 10_000);
  });
});
