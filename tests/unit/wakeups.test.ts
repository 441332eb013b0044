import assert from "node:assert/strict";
import type { ObjectName } from "../../runtime/base/objects";
import type { News } from "../../runtime/observe/news";
import { type Circumstances, RULES, ruleFor } from "../../runtime/when/rules";
import type { ContestsOfObjects, Wakeups } from "../../runtime/when/wakeups";
import { WorkQueue } from "../../runtime/when/workQueue";
import { CONFIG_MAPS, WIDGETS } from "./support/objects";
import { due, newContests, newWakeups } from "./support/wakeups";

const KEY = "shop/widget";
const NAME = { namespace: "shop", name: "widget" };
const OWNER = { ...NAME, uid: "uid" };
const CHILD = { kind: "ConfigMap", ...NAME };

describe("Wakeups", () => {
  let now: number;
  let queue: WorkQueue;
  let wakeups: Wakeups;
  let contests: ContestsOfObjects;
  let wakes: number;

  beforeEach(() => {
    [now, wakes] = [0, 0];
    const clock = () => now;
    queue = new WorkQueue({ now: clock, random: () => 1 });
    contests = newContests(clock);
    wakeups = newWakeups(queue, { wake: () => void wakes++, contests, now: clock });
  });

  const reports = () => wakeups.wakeBy({ kind: "child reports", owner: OWNER });
  const progresses = () => wakeups.wakeBy({ kind: "child progresses", owner: OWNER });
  const drifts = () => wakeups.wakeBy({ kind: "child drifted", owner: OWNER, child: CHILD }).length > 0;
  const used = (users: readonly string[], isByOperator: boolean) =>
    wakeups.wakeBy({ kind: "used changed", users, what: "ConfigMap a", isByOperator });

  /** When the object is reconciled next, which is then done. */
  function nextAt(result: Parameters<WorkQueue["finish"]>[1] = { kind: "done" }): number {
    now += queue.nextInMs ?? 0;
    assert.equal(queue.takeDue(), KEY);
    queue.finish(KEY, result);
    return now;
  }

  /** When the object is reconciled if something changes every 70 ms. Each reconcile is done before the next change. */
  function changing(untilMs: number, change: () => void): number[] {
    const at: number[] = [];
    const reconcile = () => {
      while (queue.takeDue() === KEY) {
        at.push(now);
        queue.finish(KEY, { kind: "done" });
      }
    };
    for (let nextMs = 0; nextMs <= untilMs; nextMs += 70) {
      while (now + (queue.nextInMs ?? Number.POSITIVE_INFINITY) <= nextMs) {
        now += queue.nextInMs ?? 0;
        reconcile();
      }
      now = nextMs;
      change();
      reconcile();
    }
    return at;
  }

  it("makes one reconcile a second of a child that reports all the time", () => {
    const at = changing(5_000, () => reports());
    assert.deepEqual(at, [100, 1_000, 2_000, 3_000, 4_000]);
  });

  it("makes one reconcile a second of a child that comes up, and another one soon after it is ready", () => {
    const at = changing(3_000, () => (now < 2_800 ? progresses() : reports()));
    assert.deepEqual(at, [1_000, 2_050, 2_900]);
  });

  it("puts a finalizer back soon, and once in ten seconds if another client takes it away each time", () => {
    const at: number[] = [];
    for (let time = 0; time < 8; time++) {
      wakeups.wakeBy({ kind: "object stripped", name: NAME });
      at.push(nextAt());
    }
    assert.deepEqual(at, [0, 0, 0, 0, 0, 10_000, 20_000, 30_000]);
  });

  it("ends no backoff for a report, and ends it for drift", () => {
    queue.add(KEY, due());
    nextAt({ kind: "failed", retryAfterMs: 60_000 });
    reports();
    assert.equal(queue.nextInMs, 60_000);
    drifts();
    assert.equal(queue.nextInMs, 20);
  });

  it("corrects drift soon, of several children at once, and less often if another client contests it", () => {
    const waits: number[] = [];
    const contestedAt: number[] = [];
    for (let round = 0; round < 9; round++) {
      contests.children.changed(KEY);
      const since = now;
      if (drifts()) contestedAt.push(round);
      assert.equal(drifts(), false);
      waits.push(nextAt() - since);
    }
    assert.deepEqual(waits, [20, 20, 20, 20, 20, 250, 500, 1_000, 2_000]);
    assert.deepEqual([contestedAt, contests.children.size], [[5], 1]);
  });

  it("looks at once when a child is gone that we deleted, and finds no contest in that", () => {
    for (let round = 0; round < 20; round++) {
      contests.children.changed(KEY);
      const from = now;
      wakeups.wakeBy({ kind: "child gone", owner: OWNER });
      assert.equal(nextAt() - from, 20);
    }
    assert.equal(contests.children.size, 0);
  });

  it("wakes what is left of objects of others where a kind is listed, and not those that are known", () => {
    const names = ["known", "left"].map((name) => ({ namespace: "shop", name }));
    const objects = { has: ({ name }: ObjectName) => name === "known", isGoing: () => false };
    const others = newWakeups(queue, {
      isOurs: false,
      objects,
      names: () => [...names, { namespace: "team", name: "left" }],
    });
    others.wakeBy({ kind: "kind listed", listed: CONFIG_MAPS, namespace: "shop" });
    assert.deepEqual([queue.takeDue(), queue.takeDue()], ["shop/left", undefined]);
  });

  it("has room for ten thousand objects that wait, and for those that wait already", () => {
    for (let at = 0; at < 10_000; at++) {
      assert.ok(wakeups.hasRoomFor(`team/${at}`));
      queue.add(`team/${at}`, due());
    }
    assert.equal(wakeups.hasRoomFor("team/one-more"), false);
    assert.equal(wakeups.hasRoomFor("team/0"), true);
  });

  it("wakes a worker each time that something was added", () => {
    wakeups.wakeBy({ kind: "resync turn", key: KEY });
    reports();
    drifts();
    assert.equal(wakes, 3);
  });

  it("wakes thousands of users of one object after fresh changes, and not all at once", () => {
    const users = Array.from({ length: 10_000 }, (_, index) => `shop/user-${index}`);
    assert.deepEqual(used(users, false), []);
    queue.add(KEY, due());
    assert.equal(queue.takeDue(), KEY);
    queue.finish(KEY, { kind: "done" });
    const seen = new Set<string>();
    let most = 0;
    for (; seen.size < users.length && now < 60_000; now += 100) {
      let taken = 0;
      for (let key = queue.takeDue(); key !== undefined; key = queue.takeDue()) {
        seen.add(key);
        queue.finish(key, { kind: "done" });
        taken++;
      }
      most = Math.max(most, taken);
    }
    assert.equal(seen.size, users.length);
    assert.ok(most <= 150, `${most} at once`);
    assert.ok(now <= 25_000, `${now} ms`);
  });

  it("tries an object again at once that failed, when what it uses changes, also while it is tried", () => {
    queue.add(KEY, due());
    nextAt({ kind: "failed", retryAfterMs: 60_000 });
    used([KEY], false);
    assert.equal(queue.takeDue(), KEY);
    used([KEY], false);
    queue.finish(KEY, { kind: "failed", retryAfterMs: 60_000 });
    assert.equal(queue.takeDue(), KEY);
  });

  it("lets what changes all the time wake an object once a second", () => {
    const at = changing(8_050, () => used([KEY], false));
    assert.deepEqual(at.slice(0, 5), [0, 70, 140, 210, 280]);
    // The first five cost seconds of what comes after them.
    assert.deepEqual(at.slice(5), [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000]);
  });

  it("lets objects come to rest that change each other by what they use, and says so once", () => {
    let told = 0;
    const waits: number[] = [];
    for (let round = 0; round < 20; round++) {
      contests.uses.changed(KEY);
      now += 100;
      told += used([KEY], true).length;
      const before = now;
      waits.push(nextAt() - before);
    }
    assert.equal(told, 1);
    assert.ok(Math.max(...waits.slice(0, 5)) <= 1_000, waits.join());
    assert.deepEqual(waits.slice(-3), [60_000, 60_000, 60_000]);
    // Anyone who is no operator is followed as ever.
    now += 60_000;
    used([KEY], false);
    assert.ok(nextAt() <= now);
  });
});

describe("the table of rules", () => {
  const LEADS: Circumstances = {
    ...{ isKnown: true, isGoing: false, isOurs: true, isAwaited: false, isLeading: true },
  };
  const OTHERS = { isOurs: false, isKnown: false };
  const used = { kind: "used changed", users: [KEY], what: "ConfigMap a" } as const;
  /** News, the circumstances that differ from {@link LEADS}, and the row that counts. */
  const table: [news: News, circumstances: Partial<Circumstances>, row: keyof typeof RULES | undefined][] = [
    [{ kind: "object changed", name: NAME, resourceVersion: "1", isHinted: true }, {}, "object changed"],
    [{ kind: "object stripped", name: NAME }, {}, "object stripped"],
    [{ kind: "object ready", name: NAME }, {}, "object ready"],
    [{ kind: "object unready", name: NAME }, {}, "object unready"],
    [{ kind: "object gone", ...OWNER, name: NAME }, {}, undefined],
    [{ kind: "object gone", ...OWNER, name: NAME }, { isAwaited: true }, "object gone"],
    [{ kind: "object gone", ...OWNER, name: NAME }, OTHERS, "object gone"],
    ...(["child reports", "child progresses", "child gone"] as const).map((kind): (typeof table)[number] => [
      { kind, owner: OWNER },
      {},
      kind,
    ]),
    [{ kind: "child drifted", owner: OWNER, child: CHILD }, {}, "child drifted"],
    [{ kind: "child drifted", owner: OWNER, child: CHILD }, { isGoing: true }, "child gone"],
    [{ kind: "child drifted", owner: OWNER, child: CHILD }, { isKnown: false }, undefined],
    [{ kind: "child drifted", owner: OWNER, child: CHILD }, OTHERS, "remains"],
    [{ kind: "child reports", owner: OWNER }, OTHERS, "remains"],
    [{ kind: "memory created", name: NAME }, {}, undefined],
    [{ kind: "memory created", name: NAME }, OTHERS, "remains"],
    [{ kind: "memory gone", name: NAME }, {}, "memory gone"],
    [{ kind: "memory gone", name: NAME }, OTHERS, "remains"],
    [{ ...used, isByOperator: false }, {}, "used changed"],
    [{ ...used, isByOperator: true }, {}, "used changed by an operator"],
    [{ kind: "children unserved", owners: [OWNER] }, {}, "children unserved"],
    [{ kind: "former kind", owner: "Gadget shop/a" }, {}, undefined],
    [{ kind: "kind listed", listed: WIDGETS, namespace: undefined }, {}, "kind listed"],
    ...(["woken", "hinted", "requested", "taken over", "has room", "run changed", "place free"] as const).map(
      (kind): (typeof table)[number] => [{ kind, key: KEY }, {}, kind],
    ),
    [{ kind: "resync turn", key: KEY }, {}, "resync turn"],
    [{ kind: "term begun" }, {}, "term begun"],
    [{ kind: "handler renewed" }, {}, "handler renewed"],
    [{ kind: "program renewed" }, {}, "program renewed"],
    [{ kind: "stage opened" }, {}, "stage opened"],
  ];
  for (const [news, circumstances, row] of table) {
    it(`has for "${news.kind}", ${JSON.stringify(circumstances)}: ${row}`, () => {
      const rule = row && RULES[row];
      assert.equal(ruleFor(news, { ...LEADS, ...circumstances }), rule);
      const ofStandby = rule && "isForLeader" in rule ? undefined : rule;
      assert.equal(ruleFor(news, { ...LEADS, ...circumstances, isLeading: false }), ofStandby);
    });
  }

  it("has no row that nothing uses, and is as its module says", () => {
    assert.deepEqual(Object.keys(RULES).sort(), [...new Set(table.flatMap(([, , row]) => row ?? []))].sort());
  });
});
