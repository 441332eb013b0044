import assert from "node:assert/strict";
import fc from "fast-check";
import { CHILDREN_CHANGED_BACK, Contests } from "../../runtime/when/contests";
import { WorkQueue } from "../../runtime/when/workQueue";
import { newContests, newWakeups } from "./support/wakeups";

describe("Contests", () => {
  let now: number;
  let contests: Contests;
  beforeEach(() => {
    now = 0;
    contests = new Contests(
      { patience: 3, firstDelayMs: 100, longestDelayMs: 1_000, quietMs: 2_000 },
      () => now,
    );
  });

  /** `rounds` times, our change is undone after `undoneAfterMs`; we change it again when the delay is over. */
  function fight(rounds: number, key = "a", undoneAfterMs = 1): number[] {
    return Array.from({ length: rounds }, () => {
      contests.changed(key);
      now += undoneAfterMs;
      contests.drifted(key);
      const delayMs = contests.delayMs(key);
      now += delayMs;
      return delayMs;
    });
  }

  it("puts nothing off where changes are undone never or only now and then", () => {
    contests.changed("a");
    assert.equal(contests.delayMs("a"), 0);
    assert.deepEqual(fight(20, "b", 2_001), new Array(20).fill(0));
    assert.equal(contests.drifted("c"), false);
    assert.equal(contests.delayMs("c"), 0);
  });

  it("mends a few times at once, then less and less often, up to a bound", () => {
    assert.deepEqual(fight(9), [0, 0, 0, 100, 200, 400, 800, 1_000, 1_000]);
  });

  it("tells it once also of an autoscaler, which looks every 15 s", () => {
    contests = new Contests(CHILDREN_CHANGED_BACK, () => now);
    const told: number[] = [];
    for (let round = 1; round <= 40; round++) {
      contests.changed("a");
      now += 15_000;
      if (contests.drifted("a")) told.push(round);
      now += contests.delayMs("a");
    }
    assert.deepEqual(told, [6]);
  });

  it("counts many children that are undone at once as one time", () => {
    contests.changed("a");
    for (let child = 0; child < 200; child++) assert.equal(contests.drifted("a"), false);
    assert.equal(contests.delayMs("a"), 0);
  });

  it("is over when what we changed stays for a while: then it is mended at once again", () => {
    fight(9);
    contests.changed("a");
    now += 2_001;
    assert.equal(contests.size, 0);
    contests.drifted("a");
    assert.equal(contests.delayMs("a"), 0);
    assert.deepEqual(fight(4), [0, 0, 0, 100]);
  });

  it("is not over while what was undone waits to be mended", () => {
    fight(9);
    contests.changed("a");
    contests.drifted("a");
    now += 1_000 + 2_000;
    assert.equal(contests.size, 1);
    contests.changed("a");
    contests.drifted("a");
    assert.equal(contests.delayMs("a"), 1_000);
  });

  it("still knows of drift that came long after our last change, although other objects changed since", () => {
    contests.changed("a");
    now += 100_000;
    contests.drifted("a");
    contests.changed("b");
    assert.equal(contests.changed("a"), true);
  });

  it("begins a new contest for an object that was quiet, although an earlier drift of another one still waits", () => {
    contests.changed("b");
    contests.drifted("b");
    fight(3, "a");
    contests.changed("a");
    now += 2_001;
    assert.equal(contests.drifted("a"), false);
    assert.equal(contests.delayMs("a"), 0);
  });

  it("remembers nothing of objects that have been quiet", () => {
    for (let object = 0; object < 1_000; object++) contests.changed(`object-${object}`);
    now += 10_000;
    contests.changed("last");
    assert.equal(remembered(), 1);
  });

  it("remembers nothing of old changes by other clients where we change nothing: another process leads", () => {
    for (let object = 0; object < 1_000; object++) contests.drifted(`object-${object}`);
    now += 1_000_000;
    contests.drifted("last");
    assert.equal(remembered(), 1);
  });

  const remembered = () => (contests as unknown as { contests: Map<string, unknown> }).contests.size;
});

const KEY = "shop/widget";
const OWNER = { namespace: "shop", name: "widget", uid: "uid" };
const CHILD = { kind: "ConfigMap", namespace: "shop", name: "a" };

/** What a new child does, by the milliseconds since its creation. In the end another client undoes it. */
interface Life {
  /** When it reports that it is not ready yet. */
  readonly progress?: readonly number[];
  /** When it reports anything else. */
  readonly reports?: readonly number[];
  readonly undoneAt: number;
  /** How often another child of the object reports, all the time, in milliseconds. */
  readonly othersEveryMs?: number;
}

/** An object with a child that another client undoes each time, in a time of its own. */
class Contest {
  /** When the child was made again. */
  readonly corrections: number[] = [];
  /** In which round the object became contested. */
  contestedIn: number | undefined;
  private now = 0;
  private readonly queue = new WorkQueue({ now: () => this.now, random: () => 1 });
  private readonly contests = newContests(() => this.now);
  private readonly wakeups = newWakeups(this.queue, { contests: this.contests, now: () => this.now });
  private events: { at: number; happens: () => void }[] = [];
  private isThere = true;

  constructor(private readonly life: Life) {
    this.contests.children.changed(KEY);
    this.born();
    const { othersEveryMs } = life;
    if (othersEveryMs !== undefined) this.othersReport(othersEveryMs);
  }

  /** Until the child was made again this often. */
  run(times: number): void {
    for (let step = 0; this.corrections.length < times; step++) {
      assert.ok(step < 1_000_000, "the child is not made again");
      this.events.sort((one, other) => one.at - other.at);
      const nextRun = this.now + (this.queue.nextInMs ?? Number.POSITIVE_INFINITY);
      const [first] = this.events;
      if (first && first.at <= nextRun) {
        this.now = Math.max(this.now, first.at);
        this.events.shift();
        first.happens();
      } else this.now = nextRun;
      while (this.queue.takeDue() !== undefined) this.reconcile();
    }
  }

  /** The times between corrections. */
  get pauses(): number[] {
    return this.corrections.slice(1).map((at, index) => at - (this.corrections[index] ?? 0));
  }

  private reconcile(): void {
    if (!this.isThere) {
      this.corrections.push(this.now);
      this.contests.children.changed(KEY);
      this.isThere = true;
      this.born();
    }
    this.queue.finish(KEY, { kind: "done" });
  }

  private born(): void {
    const { progress = [], reports = [], undoneAt } = this.life;
    for (const at of progress)
      this.later(at, () => this.wakeups.wakeBy({ kind: "child progresses", owner: OWNER }));
    for (const at of reports)
      this.later(at, () => this.wakeups.wakeBy({ kind: "child reports", owner: OWNER }));
    this.later(undoneAt, () => {
      this.isThere = false;
      if (this.wakeups.wakeBy({ kind: "child drifted", owner: OWNER, child: CHILD }).length > 0)
        this.contestedIn ??= this.corrections.length;
    });
  }

  private othersReport(everyMs: number): void {
    this.wakeups.wakeBy({ kind: "child reports", owner: OWNER });
    this.later(everyMs, () => this.othersReport(everyMs));
  }

  private later(afterMs: number, happens: () => void): void {
    this.events.push({ at: this.now + afterMs, happens });
  }
}

describe("a child that is undone each time", () => {
  /** The pause before the next correction, from the sixth round on. */
  const PAUSES = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000];

  function assertSlower(life: Life): void {
    const contest = new Contest(life);
    contest.run(40);
    const { pauses, contestedIn } = contest;
    assert.equal(contestedIn, 5);
    // A report of the round before may have been planned a step earlier.
    const least = (at: number) => PAUSES[Math.min(at, PAUSES.length) - 1] ?? 0;
    for (const [at, pause] of pauses.slice(4).entries()) assert.ok(pause >= least(at), `${pauses}`);
    assert.ok(Math.min(...pauses.slice(14)) >= 10_000, String(pauses));
    assert.ok(Math.max(...pauses) <= 10_000 + life.undoneAt + 1_100, String(pauses));
  }

  /** Of known kinds. */
  const KNOWN: readonly Life[] = [
    // A ConfigMap that another client deletes.
    { undoneAt: 10 },
    // A Pod that another client deletes.
    { progress: [50, 200, 700], reports: [900, 950], undoneAt: 1_000 },
    // A Job with ttlSecondsAfterFinished, which in the end waits until its pod is deleted.
    { progress: [20, 100], reports: [900, 2_950], undoneAt: 3_000 },
    // A Deployment whose field another client changes in its roll-out.
    { progress: [20, 100, 400, 800], reports: [1_500, 1_600], undoneAt: 300 },
    // A ConfigMap next to a child that reports all the time.
    { undoneAt: 10, othersEveryMs: 70 },
    // A Pod next to a child that reports once a minute.
    { progress: [5], undoneAt: 15_000, othersEveryMs: 60_000 },
  ];

  it("is made again less and less often, in the end every ten seconds, whatever it reports, and when", () => {
    for (const known of KNOWN) assertSlower(known);
    const times = fc.array(fc.nat(20_000), { maxLength: 12 });
    const life = fc.record({
      progress: times,
      reports: times,
      undoneAt: fc.nat(20_000),
      othersEveryMs: fc.option(fc.integer({ min: 10, max: 60_000 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(life, ({ othersEveryMs, ...rest }) =>
        assertSlower({ ...rest, ...(othersEveryMs !== undefined && { othersEveryMs }) }),
      ),
    );
  });
});
