import assert from "node:assert/strict";
import type { LiveRun } from "../../runtime/engine/dispatch/liveRun";
import type { Need } from "../../runtime/engine/dispatch/needs";
import { markOf, Places } from "../../runtime/engine/dispatch/places";

describe("the places of runs", () => {
  let live: Map<string, Need>;
  let free: string[];

  function places(most: number): Places {
    live = new Map();
    free = [];
    return new Places({
      most,
      live: () => [...live].map(([, need]) => ({ mark: markOf(need, "1") }) as LiveRun),
      onFree: (key) => free.push(key),
    });
  }
  /** Begins runs, and says which have begun. */
  async function begin(of: Places, need: Need, ...keys: string[]): Promise<string[]> {
    for (const key of keys) await of.take(key, need, async () => void live.set(key, need));
    return keys.filter((key) => live.has(key));
  }

  it("are as many as may be at once", async () => {
    const three = places(3);
    assert.deepEqual(await begin(three, "urgent", "a", "b", "c", "d"), ["a", "b", "c"]);
    assert.equal(three.depth, 1);
  });

  it("count a run that is being created", async () => {
    const one = places(1);
    let end = () => {};
    const created = new Promise<void>((resolve) => {
      end = resolve;
    });
    const creating = one.take("a", "urgent", () => created);
    assert.deepEqual(await begin(one, "urgent", "b"), []);
    end();
    await creating;
  });

  it("go to routine runs up to half of those that others leave, and at least one", async () => {
    const eight = places(8);
    assert.equal((await begin(eight, "routine", "a", "b", "c", "d", "e")).length, 4);
    const busy = places(8);
    await begin(busy, "urgent", "a", "b", "c", "d");
    assert.deepEqual(await begin(busy, "routine", "e", "f", "g"), ["e", "f"]);
    assert.deepEqual(await begin(busy, "urgent", "h", "i", "j"), ["h", "i"]);
    const one = places(1);
    assert.deepEqual(await begin(one, "retry", "a", "b"), ["a"]);
  });

  it("go to changed objects first when they are free again, and then to the others in their order", async () => {
    const two = places(2);
    await begin(two, "urgent", "a", "b");
    await begin(two, "routine", "c", "d");
    await begin(two, "urgent", "e");
    live.delete("a");
    two.freed();
    assert.equal(free[0], "e");
    assert.deepEqual(await begin(two, "urgent", "e"), ["e"]);
    live.clear();
    free = [];
    two.freed();
    assert.deepEqual(free, ["c"]);
    two.leave("c");
    assert.equal(two.depth, 1);
  });
});
