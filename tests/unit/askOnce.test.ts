import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { conditionsIn, type KubernetesObject } from "../../runtime/base/objects";
import type { ReconcilerOptions } from "../../runtime/reconcile/run";
import { StandingAnswers } from "../../runtime/reconcile/standingAnswers";
import { CONFIG_MAPS, configMap, operator } from "./support/objects";
import { ReconcileWorld } from "./support/reconcileWorld";

const PURE = operator({ ask: "changed" });
const KEY = "shop/widget";

describe("a handler that promises to be pure", () => {
  let world: ReconcileWorld;
  let standing: StandingAnswers;
  let marks: (readonly string[])[];
  beforeEach(() => {
    [world, marks] = [new ReconcileWorld(), []];
    newProcess([]);
    world.given();
  });

  /** @param exceptions of the mark on the Lease. Undefined: another program has led */
  function newProcess(exceptions?: readonly string[]): void {
    standing = new StandingAnswers((each) => marks.push(each));
    standing.beginTerm(exceptions, [KEY]);
  }
  const reconcile = (more: Partial<ReconcilerOptions> = {}) =>
    world.reconcile({ operator: PURE, standing, ...more });
  /** The first run, which makes the object and its child. */
  async function made(...own: string[]): Promise<void> {
    world.cause = "watch";
    assert.equal((await reconcile()).report.result, "succeeded");
    assert.deepEqual(
      conditionsIn(world.status()).map(({ type, status }) => `${type} ${status}`),
      ["Ready True", "Reconciling False", "Stalled False", ...own],
    );
    world.cause = "time";
  }
  /** Looks once more. @returns whether the handler was asked, and whether something was written */
  async function look(more: Partial<ReconcilerOptions> = {}) {
    const [asked, before] = [world.questions.length, structuredClone(world.object())];
    const { report } = await reconcile(more);
    const isAsked = world.questions.length > asked;
    if (!isAsked) assert.deepEqual([report.result, report.skipped], ["skipped", "unchanged"]);
    return { isAsked, isWritten: !isDeepStrictEqual(before, world.object()) || report.changes.length > 0 };
  }
  const neither = { isAsked: false, isWritten: false };

  it("is asked once more about what it has brought about, which is only shown", async () => {
    await made();
    const [first, second] = world.questions;
    assert.equal(world.questions.length, 2);
    assert.deepEqual([first?.children.length, first?.dryRun], [0, undefined]);
    assert.deepEqual([second?.children.length, second?.dryRun], [1, true]);
  });

  it("is shown the status that is to be written, and is not asked again once it is written", async () => {
    const conditions = [{ type: "Synced", status: "True", reason: "Synced", message: "" }];
    world.answer = { children: [configMap()], status: { size: 1 }, conditions };
    await made("Synced True");
    const status = world.questions[1]?.object["status"] as { size: number };
    assert.equal(status.size, 1);
    assert.ok(conditionsIn(status).some(({ type }) => type === "Synced"));
    assert.deepEqual(await look(), neither);
  });

  it("is asked by another program, which writes nothing and marks the Lease then", async () => {
    await made();
    newProcess(undefined);
    assert.deepEqual(await look(), { isAsked: true, isWritten: false });
    assert.deepEqual(marks, [[]]);
    assert.deepEqual(await look(), neither);
  });

  it("is asked if a digest was never remembered, or is another", async () => {
    await made();
    const { status } = world.object() as KubernetesObject & { status: { argosy: object } };
    for (const digest of [undefined, "0123456789012345678901"]) {
      world.given({}, { status: { ...status, argosy: { ...status.argosy, digest } } });
      newProcess([]);
      assert.equal((await look()).isAsked, true);
    }
  });

  const changes: Record<string, () => void> = {
    "the object's specification": () => world.given({}, { ...world.object(), spec: { size: 9 } }),
    "another's condition": () => {
      const conditions = [...conditionsIn(world.status()), { type: "Theirs", status: "True" }];
      world.given({}, { ...world.object(), status: { ...world.status(), conditions } });
    },
    "a child": () => {
      world.cluster.put({ ...(world.cluster.ofKind("ConfigMap")[0] as KubernetesObject), data: { a: "9" } });
      world.seeChildren([CONFIG_MAPS]);
    },
    "the verdict": () => {
      const conditions = conditionsIn(world.status()).map((each) => ({ ...each, status: "False" as const }));
      world.given({}, { ...world.object(), status: { ...world.status(), conditions } });
    },
  };
  for (const [what, change] of Object.entries(changes))
    it(`is asked in a routine look if ${what} has changed, and by the next process`, async () => {
      await made();
      change();
      newProcess([]);
      assert.equal((await look()).isAsked, true);
    });

  for (const cause of ["watch", "hint", "request", "used", "child", "retry"] as const)
    it(`is asked in a run with the cause ${cause}, whatever its question`, async () => {
      await made();
      world.cause = cause;
      assert.equal((await look()).isAsked, true);
    });

  it("is asked if it wants to be asked again", async () => {
    world.answer = { children: [configMap()], requeueAfterSeconds: 60 };
    await made();
    assert.equal((await look()).isAsked, true);
    assert.equal((world.status()["argosy"] as { digest?: string }).digest, undefined);
  });

  it("is asked if it answers otherwise about what it has brought about", async () => {
    world.whileAsking = () => {
      const seen = world.questions.at(-1)?.children.length;
      world.answer = { children: [configMap()], status: { seen } };
    };
    await made();
    assert.equal(world.status()["seen"], 0);
    assert.deepEqual(await look(), { isAsked: true, isWritten: true });
    assert.equal(world.status()["seen"], 1);
    assert.deepEqual(await look(), neither);
    newProcess([]);
    assert.deepEqual(await look(), neither);
  });

  it("is asked after a run of it failed", async () => {
    await made();
    world.cause = "watch";
    world.whileAsking = () => {
      world.answer = { error: { message: "broken" } };
    };
    assert.equal((await reconcile()).report.result, "failed");
    world.cause = "time";
    assert.equal((await look()).isAsked, true);
  });

  it("is asked if a kind of its children is no longer declared, or if it was renamed", async () => {
    await made();
    for (const other of [{ children: [] }, { formerNames: ["store"] }])
      assert.equal((await look({ operator: operator({ ask: "changed", ...other }) })).isAsked, true);
  });

  it("is asked if something was not given to it", async () => {
    const warnings = [{ reason: "UsedKindMissing", note: "uses.db" }] as const;
    const used = async () => ({ used: {}, warnings, secrets: [] });
    world.cause = "watch";
    await reconcile({ used });
    world.cause = "time";
    assert.equal((await look({ used })).isAsked, true);
  });
});

describe("standing answers", () => {
  const [KEY, UID] = ["shop/a", "11111111-aaaa"];
  const [OTHER, OTHER_UID] = ["shop/b", "22222222-bbbb"];
  /** The exceptions of each mark. */
  let marks: (readonly string[])[];
  let standing: StandingAnswers;
  beforeEach(() => {
    marks = [];
    standing = new StandingAnswers((exceptions) => marks.push(exceptions));
  });
  const stands = (digest: string, remembered?: string) => standing.stands(KEY, UID, digest, remembered);

  it("stand until the handler is asked again, or is another one, or the object is gone", () => {
    const ends = [() => standing.asked(KEY), () => standing.renew(), () => standing.forget(KEY)];
    for (const end of ends) {
      standing.looked(KEY, UID, "one", undefined);
      assert.ok(stands("one"));
      assert.ok(!stands("two"));
      end();
      assert.ok(!stands("one"));
    }
  });

  it("are those that objects remember, if the program before was the same", () => {
    assert.ok(!stands("one", "one"));
    standing.beginTerm([], [KEY]);
    assert.ok(stands("one", "one"));
    assert.ok(!stands("one", "two"));
    assert.ok(!stands("one"));
    standing.beginTerm(["11111111"], [KEY]);
    assert.ok(!stands("one", "one"), "an exception");
    standing.beginTerm(undefined, [KEY]);
    assert.ok(!stands("one", "one"), "another program");
    assert.deepEqual(marks, []);
  });

  it("are not those that an object remembers once this process has asked", () => {
    standing.beginTerm([], [KEY]);
    standing.asked(KEY);
    assert.ok(!stands("one", "one"));
    standing.looked(KEY, UID, "two", "one");
    assert.ok(!stands("one", "one"));
    assert.ok(stands("two", "one"));
  });

  it("are no longer those that objects remember once the handler is another one", () => {
    standing.beginTerm([], [KEY]);
    standing.renew();
    assert.ok(!stands("one", "one"));
  });

  it("lead to a mark when every object was looked at or is gone", () => {
    standing.beginTerm(undefined, [KEY, OTHER, "shop/gone"]);
    standing.looked(KEY, UID, "one", "one");
    standing.forget("shop/gone");
    assert.deepEqual(marks, []);
    standing.looked(OTHER, OTHER_UID, undefined, undefined);
    assert.deepEqual(marks, [[]]);
    standing.looked(KEY, UID, "two", "one");
    assert.equal(marks.length, 1, "only once");
    standing.beginTerm(undefined, []);
    assert.deepEqual(marks, [[], []]);
  });

  it("lead to no mark before it is known which objects there are", () => {
    standing.beginTerm(undefined, undefined);
    standing.looked(KEY, UID, "one", "one");
    assert.deepEqual(marks, []);
    standing.beginTerm(undefined, [KEY, OTHER]);
    standing.looked(KEY, UID, "one", "one");
    assert.deepEqual(marks, []);
    standing.looked(OTHER, OTHER_UID, "one", "one");
    assert.deepEqual(marks, [[]]);
  });

  it("except from the mark objects that remember a question of another program", () => {
    standing.beginTerm(undefined, [KEY, OTHER]);
    standing.looked(KEY, UID, undefined, "one");
    standing.looked(OTHER, OTHER_UID, "two", "one");
    assert.deepEqual(marks, [["11111111", "22222222"]]);
    standing.beginTerm(undefined, [KEY, OTHER]);
    standing.looked(KEY, UID, undefined, "one");
    // A later look has met the question that it remembers.
    standing.looked(KEY, UID, "one", "one");
    standing.looked(OTHER, OTHER_UID, "two", "two");
    assert.deepEqual(marks.at(-1), []);
  });

  it("make no mark with too many exceptions", () => {
    const keys = Array.from({ length: 1_001 }, (_, index) => `shop/${index}`);
    standing.beginTerm(undefined, keys);
    for (const [index, key] of keys.entries()) standing.looked(key, `${index}`, undefined, "one");
    assert.deepEqual(marks, []);
  });
});
