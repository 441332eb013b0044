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
