import assert from "node:assert/strict";
import type { Child } from "../../runtime/children/childStore";
import type { ChildChange } from "../../runtime/children/childWriter";
import { Unrest } from "../../runtime/engine/unrest";
import type { Cause } from "../../runtime/work/arrivals";

const KEY = "shop/demo";
const PATCHED: ChildChange = { verb: "patched", kind: "Deployment", namespace: "shop", name: "demo" };

describe("Unrest", () => {
  let unrest: Unrest;
  let round: number;
  let isKept: boolean;

  /** The child as it is now: its handler puts the time into it. */
  const child = (): Child =>
    ({
      resource: { apiVersion: "apps/v1", kind: "Deployment" },
      namespace: "shop",
      name: "demo",
      uid: "uid",
      json: isKept
        ? JSON.stringify({
            metadata: { name: "demo", resourceVersion: String(round) },
            spec: { template: { metadata: { annotations: { "example.com/at": `time ${round}` } } } },
            status: { replicas: round },
          })
        : undefined,
    }) as unknown as Child;

  beforeEach(() => {
    unrest = new Unrest();
    round = 0;
    isKept = true;
  });

  function reconciled(
    cause: Cause,
    changes: readonly ChildChange[] = [PATCHED],
    isUndoing = false,
    waits = false,
  ) {
    unrest.begins(KEY, () => [child()]);
    round++;
    const report = { namespace: "shop", changes, waits, arrival: { cause, readyAt: 0, takenAt: 0 } };
    return unrest.ended(KEY, report, isUndoing, () => [child()]);
  }

  /** The Events of so many reconciles, one after another. */
  function notes(count: number, ...of: Parameters<typeof reconciled>): string[] {
    return Array.from({ length: count }, () => reconciled(...of)).flatMap((event) => event?.note ?? []);
  }

  it("says once which field differs in each answer", () => {
    assert.deepEqual(notes(50, "child"), [
      "20 times in a row the handler has answered other children, although only its own children had changed: patched " +
        "Deployment demo (.spec.template.metadata.annotations['example.com/at']). This goes on without end if the answer contains " +
        "the time or a random value: let the handler answer the same for the same object",
    ]);
  });

  it("names only the children if nothing is kept of them", () => {
    isKept = false;
    const changes = [
      { verb: "created", kind: "Job", namespace: "shop", name: "b" },
      { verb: "deleted", kind: "Job", namespace: "shop", name: "a" },
    ] as const;
    assert.match(String(notes(20, "child", changes)), /created Job b, deleted Job a\. This/);
  });

  it("says nothing of a handler that comes to rest, and begins to count again", () => {
    assert.deepEqual(notes(19, "child"), []);
    reconciled("child", []);
    assert.deepEqual(notes(19, "child"), []);
    assert.equal(notes(1, "child").length, 1);
  });

  for (const cause of ["watch", "used", "time"] as const) {
    it(`says nothing of changes for which there is a reason: ${cause}`, () => {
      for (let times = 0; times < 5; times++)
        assert.deepEqual([...notes(19, "child"), ...notes(1, cause)], []);
    });
  }

  it("says nothing of children that are created one after another, because each waits for the one before", () => {
    const changes: ChildChange[] = [{ ...PATCHED, verb: "created" }];
    const created = () => reconciled("child", changes, false, true);
    assert.deepEqual(
      [...Array.from({ length: 30 }, created), ...notes(1, "child", changes)],
      Array(30).fill(undefined),
    );
  });

  it("says it although a child waits for the one that changes each time", () => {
    const patched = Array.from({ length: 20 }, () => reconciled("child", [PATCHED], false, true));
    assert.equal(patched.at(-1)?.reason, "AnswersDiffer");
  });

  it("says nothing if somebody else changes a child back each time", () => {
    assert.deepEqual(notes(50, "child", [PATCHED], true), []);
  });
});
