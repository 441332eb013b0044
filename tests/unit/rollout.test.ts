import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import {
  firstOf,
  type Looked,
  Rollout,
  type RolloutObject,
  resumedText,
  rolloutStateIn,
  rolloutText,
  undoneText,
} from "../../runtime/engine/rollout";
import type { RolloutPolicy } from "../../runtime/operator/definition";

const POLICY: RolloutPolicy = {
  firstPercent: 5,
  pauseSeconds: 60,
  haltAfterFailures: 3,
  haltOnDeletions: true,
};
const READY: Looked = { state: "ready" };
const FAILED: Looked = { state: "failed", why: "HandlerError: no" };
const WITHHELD: Looked = { state: "failed", why: "DeletionWithheld: no", isWithheld: true };

function objectsOf(count: number): RolloutObject[] {
  return Array.from({ length: count }, (_, at) => ({ uid: `uid-${at}`, key: `shop/${at}` }));
}

/** The processes of one operator, one after the other, and what they have asked. */
class Scene {
  now = 0;
  lease: string | undefined;
  rollout: Rollout;
  readonly asked = new Set<string>();
  readonly halts: string[] = [];
  opened = 0;

  constructor(
    readonly objects: readonly RolloutObject[],
    readonly policy = POLICY,
  ) {
    this.rollout = this.make();
  }

  make(): Rollout {
    return new Rollout({
      policy: this.policy,
      objects: () => this.objects,
      now: () => this.now,
      onOpen: () => this.opened++,
      onHalt: (why) => this.halts.push(why),
    });
  }

  /** A process with that program begins to lead. */
  begin(program: string): void {
    this.rollout = this.make();
    this.rollout.begin(program, this.lease);
    this.keep();
  }

  keep(): void {
    this.lease = this.rollout.text;
  }

  /** Looks at an object, as a routine does. @returns whether the handler was asked */
  look(object: RolloutObject, look: Looked = READY, isByUser = false, wasReady = true): boolean {
    if (this.rollout.waits(object, isByUser, wasReady)) return false;
    this.asked.add(object.uid);
    this.rollout.looked(object, look);
    this.keep();
    return true;
  }

  lookAtAll(look: (object: RolloutObject) => Looked = () => READY): void {
    for (const object of this.objects) this.look(object, look(object));
  }

  pass(seconds: number): void {
    this.now += seconds * 1000;
    this.rollout.tick();
    this.keep();
  }

  resume(): boolean {
    this.lease = resumedText(this.lease, new Date()) ?? this.lease;
    return this.rollout.heed(this.lease);
  }

  /** The whole roll-out, if nothing is wrong. */
  complete(program: string): void {
    this.begin(program);
    this.lookAtAll();
    this.pass(this.policy.pauseSeconds);
    this.lookAtAll();
    assert.ok(this.rollout.isDone);
    this.asked.clear();
  }
}

describe("a staged roll-out", () => {
  it("asks about the first share, pauses, and asks about all others", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    scene.lookAtAll();
    assert.equal(scene.asked.size, 50);
    assert.equal(scene.rollout.pending, 950);
    scene.pass(59);
    scene.lookAtAll();
    assert.equal(scene.asked.size, 50);
    assert.equal(scene.opened, 0);
    scene.pass(1);
    assert.equal(scene.opened, 1);
    assert.equal(scene.rollout.pending, 0);
    scene.lookAtAll();
    assert.equal(scene.asked.size, 1000);
    assert.ok(scene.rollout.isDone);
    assert.equal(rolloutStateIn(scene.lease)?.stage, "done");
  });

  it("takes the same objects first each time, and at least one", () => {
    const uids = Array.from({ length: 300 }, () => randomUUID());
    const first = firstOf(uids, 5);
    assert.equal(first.length, 15);
    assert.deepEqual(firstOf([...uids].reverse(), 5), first);
    // One object more moves the boundary by one at most.
    assert.ok(firstOf([...uids, randomUUID()], 5).filter((uid) => first.includes(uid)).length >= 14);
    assert.equal(firstOf(uids.slice(0, 3), 1).length, 1);
    assert.deepEqual(firstOf([], 5), []);
    assert.equal(firstOf(uids, 100).length, 300);
  });

  it("halts after three failures of objects that were Ready, and asks about no other", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    const bad = scene.objects.filter((object) => scene.look(object, READY)).slice(0, 3);
    assert.equal(bad.length, 3);
    for (const object of bad.slice(0, 2)) scene.look(object, FAILED);
    assert.ok(!scene.rollout.isHalted);
    scene.look(bad[2] as RolloutObject, FAILED);
    assert.ok(scene.rollout.isHalted);
    assert.match(scene.halts[0] ?? "", /^shop\/\d+, shop\/\d+, shop\/\d+ failed: HandlerError: no$/);
    scene.pass(3600);
    scene.lookAtAll();
    assert.equal(scene.asked.size, 50);
  });

  it("does not count failures of objects that failed before, nor those that were mended in between", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    for (const object of scene.objects) scene.look(object, FAILED, false, false);
    scene.pass(60);
    assert.equal(scene.opened, 1);
    const [one, two, three] = scene.objects as [RolloutObject, RolloutObject, RolloutObject];
    for (const object of [one, two]) scene.look(object, FAILED);
    scene.look(one, READY);
    scene.look(three, FAILED);
    assert.ok(!scene.rollout.isHalted);
  });

  it("halts at the end of the pause if objects are not Ready again, or if all of the first have failed", () => {
    for (const [count, look] of [
      [1000, { state: "unready" }],
      [1, FAILED],
      [30, FAILED],
      [30, { state: "unready" }],
    ] as [number, Looked][]) {
      const scene = new Scene(objectsOf(count));
      scene.begin("one");
      scene.lookAtAll(() => look);
      scene.pass(60);
      assert.ok(scene.rollout.isHalted, `${count} ${look.state}`);
      assert.ok(scene.asked.size <= Math.max(2, count * 0.05));
    }
  });

  it("halts at the end of the pause if all of the first have failed, whatever users have changed in the pause", () => {
    const scene = new Scene(objectsOf(20));
    scene.begin("one");
    scene.lookAtAll(() => FAILED);
    const waiting = scene.objects.filter((object) => scene.rollout.waits(object, false, true));
    assert.equal(waiting.length, 19);
    for (const object of waiting.slice(0, 5)) scene.look(object, READY, true);
    scene.pass(60);
    assert.ok(scene.rollout.isHalted);
  });

  it("halts on an object whose children change again and again, and on none that has work to do now and then", () => {
    const changed: Looked = { state: "ready", hasChanged: true };
    for (const [everySeconds, isByUser, isHalted] of [
      [1, false, true],
      // A schedule.
      [60, false, false],
      // A user who tries one value after another.
      [1, true, false],
    ] as const) {
      const scene = new Scene(objectsOf(1), { ...POLICY, pauseSeconds: 3_600 });
      scene.begin("one");
      for (let time = 0; time < 30; time++) {
        scene.pass(everySeconds);
        scene.look(scene.objects[0] as RolloutObject, changed, isByUser);
      }
      scene.pass(3_600);
      assert.equal(scene.rollout.isHalted, isHalted, `${everySeconds} ${isByUser}`);
    }
  });

  it("halts at the first deletion that is withheld, and withholds none of what users change or people accept", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    const first = scene.objects.find((object) => !scene.rollout.waits(object, false, true)) as RolloutObject;
    assert.ok(scene.rollout.withholds(first.uid));
    const other = scene.objects.find((object) => scene.rollout.waits(object, false, true)) as RolloutObject;
    assert.ok(!scene.rollout.waits(other, true, true));
    assert.ok(!scene.rollout.withholds(other.uid));
    scene.look(first, WITHHELD);
    assert.ok(scene.rollout.isHalted);
    assert.ok(scene.resume());
    assert.ok(!scene.rollout.withholds(first.uid));
    scene.lookAtAll();
    scene.pass(60);
    scene.lookAtAll();
    assert.ok(scene.rollout.isDone);
  });

  it("serves what users change at once, also while it is halted, until it is Ready", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    scene.lookAtAll(() => FAILED);
    assert.ok(scene.rollout.isHalted);
    const waiting = scene.objects.find((object) => scene.rollout.waits(object, false, true)) as RolloutObject;
    assert.ok(scene.look(waiting, FAILED, true));
    assert.ok(scene.look(waiting, { state: "unready" }), "its retry");
    assert.ok(scene.look(waiting), "until it is Ready");
    assert.ok(!scene.look(waiting));
  });

  it("stays halted after a restart, and goes on where a person resumes it", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    scene.lookAtAll(() => FAILED);
    for (let restart = 0; restart < 3; restart++) {
      scene.begin("one");
      scene.lookAtAll();
      scene.pass(3600);
    }
    assert.equal(scene.asked.size, 3);
    assert.equal(scene.halts.length, 1);
    assert.ok(scene.resume());
    assert.ok(!scene.resume(), "only once");
    scene.lookAtAll();
    assert.equal(scene.asked.size, 50, "the first stage goes on");
    scene.pass(60);
    scene.lookAtAll();
    assert.equal(scene.asked.size, 1000);
  });

  it("watches on after it was resumed: further failures halt it again, the same ones do not", () => {
    const scene = new Scene(objectsOf(1000));
    scene.begin("one");
    const members = scene.objects.filter((object) => !scene.rollout.waits(object, false, true));
    for (const object of members.slice(0, 3)) scene.look(object, FAILED);
    scene.resume();
    for (const object of members.slice(0, 3)) scene.look(object, FAILED);
    assert.ok(!scene.rollout.isHalted);
    for (const object of members.slice(3, 6)) scene.look(object, FAILED);
    assert.ok(scene.rollout.isHalted);
  });

  it("takes no time from the machine of the person who resumes it", () => {
    const scene = new Scene(objectsOf(100));
    scene.begin("one");
    scene.lookAtAll(() => FAILED);
    assert.ok(scene.rollout.heed(resumedText(scene.lease, new Date("2099-01-01"))));
    assert.ok(scene.rollout.since <= Date.now());
  });

  it("remembers the last program that came to its end, through any number that did not", () => {
    const scene = new Scene(objectsOf(100));
    scene.complete("good");
    for (const bad of ["bad", "worse"]) {
      scene.begin(bad);
      scene.lookAtAll(() => FAILED);
      assert.ok(scene.rollout.isHalted);
      assert.equal(rolloutStateIn(scene.lease)?.former, "good");
    }
    scene.asked.clear();
    scene.begin("good");
    scene.lookAtAll();
    assert.equal(scene.rollout.pending, 0, "the way back is open");
    assert.ok(scene.rollout.isDone);
  });

  it("asks for no second resumption when it is undone by another program", () => {
    const scene = new Scene(objectsOf(100));
    scene.complete("good");
    scene.begin("bad");
    scene.lookAtAll(() => FAILED);
    scene.lease = undoneText(scene.lease);
    assert.ok(!scene.rollout.heed(scene.lease));
    assert.equal(scene.rollout.text, scene.lease, "it is kept");
    scene.asked.clear();
    scene.begin("undone");
    const first = scene.objects.filter((object) => !scene.rollout.waits(object, false, false));
    assert.equal(first.length, 5);
    assert.ok(!scene.rollout.withholds((first[0] as RolloutObject).uid));
    scene.lookAtAll();
    scene.pass(60);
    scene.lookAtAll();
    assert.ok(scene.rollout.isDone);
    assert.equal(rolloutStateIn(scene.lease)?.former, "good");
    assert.equal(undoneText("{}"), undefined);
  });

  it("is none for a program that has come to its end, and none without objects", () => {
    const scene = new Scene(objectsOf(100));
    scene.complete("one");
    scene.begin("one");
    assert.ok(scene.rollout.isDone);
    const empty = new Scene([]);
    empty.begin("one");
    assert.ok(empty.rollout.isDone);
  });

  it("begins again if a user has changed, removed or invented what the Lease says", () => {
    const forge = (text: string): (string | undefined)[] => [
      undefined,
      "",
      "null",
      "{",
      "[]",
      text.replace('"first"', '"done"'),
      text.replace('"first"', '"rest"'),
      JSON.stringify({ program: "two", stage: "done", since: "2026-01-01T00:00:00Z" }),
      rolloutText({ program: "two", stage: "open" as "done", since: "2026-01-01T00:00:00Z" }),
      rolloutText({ program: "two", stage: "done", since: "soon" }),
    ];
    const scene = new Scene(objectsOf(100));
    scene.begin("two");
    for (const text of forge(scene.lease ?? "")) {
      scene.lease = text;
      scene.asked.clear();
      scene.begin("two");
      scene.lookAtAll();
      assert.equal(scene.asked.size, 5, text);
    }
  });

  it("takes no word of the Lease in its term but a resumption of its own halt", () => {
    const scene = new Scene(objectsOf(100));
    scene.begin("two");
    const since = "2026-01-01T00:00:00Z";
    const texts = [
      rolloutText({ program: "two", stage: "done", since }),
      rolloutText({ program: "two", stage: "rest", since, accepted: true }),
      undefined,
      "x",
    ];
    for (const text of texts) assert.ok(!scene.rollout.heed(text));
    scene.lookAtAll(() => FAILED);
    const halted = scene.rollout.text;
    for (const text of [rolloutText({ program: "one", stage: "first", since, accepted: true }), halted])
      assert.ok(!scene.rollout.heed(text));
    // Even a stage that a user writes there with the right sum is not taken.
    assert.ok(scene.rollout.heed(texts[1]));
    scene.lookAtAll();
    assert.equal(scene.asked.size, 5);
  });

  it("never goes beyond its share before the pause has ended well, whatever happens", () => {
    const event = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({ do: fc.constant("look" as const), at: fc.nat(99), how: fc.nat(3) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant("change" as const), at: fc.nat(99), how: fc.nat(3) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("restart" as const, "pass" as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("resume" as const, "program" as const) }) },
    );
    const looks: Looked[] = [READY, { state: "unready" }, FAILED, WITHHELD];
    fc.assert(
      fc.property(fc.array(event, { maxLength: 120 }), (events) => {
        const scene = new Scene(objectsOf(100));
        scene.complete("p0");
        let programs = 0;
        let changed = new Set<string>();
        const next = () => {
          scene.asked.clear();
          changed = new Set();
          scene.begin(`p${++programs}`);
        };
        next();
        for (const step of events) {
          const stage = rolloutStateIn(scene.lease);
          if ("at" in step) {
            const object = scene.objects[step.at] as RolloutObject;
            const isByUser = step.do === "change";
            if (isByUser) changed.add(object.uid);
            const isAsked = scene.look(object, looks[step.how], isByUser);
            if (isByUser) assert.ok(isAsked, "a change waits");
            if (stage?.halted && !changed.has(object.uid)) assert.ok(!isAsked, "asked while it is halted");
          } else if (step.do === "restart") scene.begin(`p${programs}`);
          else if (step.do === "pass") scene.pass(60);
          else if (step.do === "resume") scene.resume();
          else next();
          scene.keep();
          if (rolloutStateIn(scene.lease)?.stage === "first")
            assert.ok([...scene.asked].filter((uid) => !changed.has(uid)).length <= 5);
        }
        // Whatever happened, a person can bring it to its end.
        for (let round = 0; round < 4 && !scene.rollout.isDone; round++) {
          scene.resume();
          scene.lookAtAll();
          scene.pass(60);
        }
        assert.ok(scene.rollout.isDone);
      }),
      { numRuns: 100 },
    );
  });
});
