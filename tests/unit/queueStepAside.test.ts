import assert from "node:assert/strict";
import type { Outcome } from "../../runtime/queue";
import { FakeClock } from "./support/fakeClock";
import { started } from "./support/watchedQueue";

const DONE: Outcome = { done: true };

describe("ReconcileQueue, when a run steps aside,", () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = FakeClock.install();
  });
  afterEach(() => clock.uninstall());

  it("lets it go on at once where no change waits", async () => {
    const watched = started();
    watched.queue.add("a");
    watched.queue.add("b", "child");
    watched.queue.add("c", "routine");
    watched.stepAside("a");
    await clock.tick();
    assert.deepStrictEqual([watched.wentOn, watched.starts], [["a"], ["a"]]);
  });

  it("gives its place to changes, and takes it again before all else", async () => {
    const watched = started();
    watched.queue.add("a");
    watched.queue.add("b");
    watched.queue.add("c");
    watched.queue.add("d", "child");
    watched.stepAside("a");
    await clock.tick();
    assert.deepStrictEqual([watched.wentOn, watched.starts, watched.queue.active], [[], ["a", "b"], 2]);
    watched.finish("b", DONE);
    await clock.tick();
    assert.deepStrictEqual([watched.wentOn, watched.starts], [[], ["a", "b", "c"]]);
    watched.finish("c", DONE);
    await clock.tick();
    assert.deepStrictEqual(
      [watched.wentOn, watched.starts, watched.queue.active],
      [["a"], ["a", "b", "c"], 1],
    );
    watched.finish("a", DONE);
    await clock.tick();
    assert.deepStrictEqual(watched.starts, ["a", "b", "c", "d"]);
  });

  it("lets it wait also where no change does, while the API server is crowded", async () => {
    let crowded = true;
    const watched = started({ concurrency: 3, isCrowded: () => crowded });
    watched.queue.add("a");
    watched.queue.add("b");
    watched.queue.add("c");
    watched.stepAside("a");
    await clock.tick(1_000);
    assert.deepStrictEqual([watched.wentOn, watched.starts], [[], ["a", "b", "c"]]);
    crowded = false;
    watched.stepAside("b");
    await clock.tick();
    assert.deepStrictEqual(watched.wentOn.toSorted(), ["a", "b"]);
  });

  it("lets it go on after ten seconds although runs without end have all the places", async () => {
    const watched = started();
    watched.queue.add("a");
    watched.queue.add("hangs");
    watched.queue.add("waits");
    watched.stepAside("a");
    await clock.tick(9_999);
    assert.deepStrictEqual([watched.wentOn, watched.starts], [[], ["a", "hangs"]]);
    await clock.tick(1);
    assert.deepStrictEqual([watched.wentOn, watched.starts], [["a"], ["a", "hangs"]]);
    watched.finish("a", DONE);
    await clock.tick();
    assert.deepStrictEqual(watched.starts, ["a", "hangs"]);
    assert.equal(clock.pending, 0);
  });

  it("lets it go on after ten seconds under an endless storm of changes", async () => {
    const watched = started();
    watched.queue.add("a");
    watched.queue.add("storm-0");
    watched.stepAside("a");
    for (let turn = 1; watched.wentOn.length === 0; turn++) {
      watched.queue.add(`storm-${turn}`);
      await clock.tick(100);
      watched.finish(`storm-${turn - 1}`, DONE);
      await clock.tick();
    }
    assert.equal(watched.starts.at(-1), "storm-99");
  });

  it("lets no more than a thousand be aside", async () => {
    const watched = started();
    for (let index = 0; index < 1_100; index++) watched.queue.add(`change-${index}`);
    for (let index = 0; index < 1_100; index++) watched.stepAside(`change-${index}`);
    await clock.tick();
    assert.deepStrictEqual([watched.starts.length, watched.queue.active], [1_001, 1_001]);
  });

  it("goes on when the queue pauses, which waits for its end", async () => {
    const watched = started();
    watched.queue.add("a");
    watched.queue.add("b");
    watched.queue.add("c");
    watched.stepAside("a");
    let paused = false;
    void watched.queue.pause().then(() => {
      paused = true;
    });
    watched.finish("b", DONE);
    await clock.tick();
    assert.deepStrictEqual([watched.wentOn, paused], [["a"], false]);
    watched.finish("a", DONE);
    await clock.tick();
    assert.deepStrictEqual([watched.starts, paused], [["a", "b"], true]);
  });
});
