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
