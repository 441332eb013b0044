import assert from "node:assert/strict";
import { EVENT_LABEL } from "../../runtime/base/names";
import { timeOf } from "../../runtime/base/objects";
import type { ErrorAnswer, ReconcileAnswer } from "../../runtime/handler/contract";
import { UnknownKindError } from "../../runtime/kubernetes/discovery";
import { ApiError } from "../../runtime/kubernetes/errors";
import { intakeManagerOf } from "../../runtime/operator/eventMarks";
import { ObjectRun, type ObjectRunOptions } from "../../runtime/programs/run/objectRun";
import type { OneObjectOptions } from "../../runtime/programs/run/oneObject";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { memoryOf } from "../../runtime/remember/memory";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, IDENTITY, operator, WIDGETS, widget } from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };

describe("the run of an object in a pod of its own", () => {
  let cluster: FakeCluster;
  let reports: ReconcileReport[];
  /** What the handler answers first. Afterwards it answers a child. */
  let failures: ErrorAnswer["error"][];
  /** What it answers with that child. */
  let wishes: Pick<ReconcileAnswer, "requeueAfterSeconds">;
  let name: typeof NAME;

  beforeEach(() => {
    name = NAME;
    cluster = new FakeCluster();
    cluster.put(widget());
    [reports, failures, wishes] = [[], [], {}];
  });

  async function finish(more: Partial<ObjectRunOptions> = {}) {
    const options = { operator: operator(), client: cluster.client(), namespace: "argosy", instance: "pod" };
    const parts = {
      resource: WIDGETS,
      kinds: { found: [CONFIG_MAPS], whyUnknown: () => undefined } as unknown as OneObjectOptions["kinds"],
      pool: {
        hidden: () => [],
        ask: async () => {
          const error = failures.shift();
          return { answer: error ? { error } : { children: [configMap()], ...wishes }, length: 100, log: "" };
        },
      },
      fence: { assert: () => {}, problem: undefined },
      workflow: "run",
      program: undefined,
    };
    const target = { kind: "object", name, uid: "widget-uid", due: undefined } as const;
    const onReport = (report: ReconcileReport) => void reports.push(report);
    const { exitCode } = await new ObjectRun(target, { ...options, onReport, ...more }, parts).finish();
    return [exitCode, reports.map(({ attempt, result }) => `${attempt} ${result}`)];
  }

  it("asks the handler again soon, if that wants so after a failure", async () => {
    failures = [
      { message: "not yet", retryAfterSeconds: 0 },
      { message: "not yet", retryAfterSeconds: 1 },
    ];
    assert.deepEqual(await finish(), [0, ["1 failed", "2 failed", "3 succeeded"]]);
    assert.ok(cluster.find("ConfigMap", { namespace: "shop", name: "settings" }));
  });

  it("clears up after no object while the cluster does not serve its kind", async () => {
    const watching = operator({ watch: { labels: {}, on: ["spec"] } });
    await finish({ operator: watching });
    const child = () => cluster.find("ConfigMap", { namespace: "shop", name: "settings" });
    assert.ok(child());
    cluster.readRefusals.set("list Widget in shop", new ApiError(404, {}, "GET"));
    await assert.rejects(finish({ operator: watching }), UnknownKindError);
    assert.ok(child());
    cluster.readRefusals.clear();
    cluster.remove("Widget", NAME);
    await finish({ operator: watching });
    assert.equal(child(), undefined);
  });

  it("notes when the handler wants to be asked again, for the resync, since the run may end while it waits", async () => {
    wishes = { requeueAfterSeconds: 20 };
    const ended = new AbortController();
    const outcome = await finish({ signal: ended.signal, onReport: () => ended.abort() });
    assert.deepEqual(outcome, [0, []]);
    const noted = cluster.find("Widget", NAME);
    assert.ok(noted);
    assert.equal(memoryOf(noted).dueAt, timeOf(new Date(cluster.time + 20_000)));
  });

  it("notes only the first of the times for which it waits itself, since each note is a write of the status", async () => {
    wishes = { requeueAfterSeconds: 1 };
    const began = cluster.time;
    const ended = new AbortController();
    const onReport = () => {
      if (cluster.time > began) ended.abort();
      cluster.time += 5_000;
    };
    await finish({ signal: ended.signal, onReport });
    const noted = cluster.find("Widget", NAME);
    assert.ok(noted);
    assert.equal(memoryOf(noted).dueAt, timeOf(new Date(began + 1_000)));
  });

  it("asks no handler twice within a second, however soon it wants to be asked again", async () => {
    wishes = { requeueAfterSeconds: 0 };
    assert.deepEqual(await finish({ patienceMs: 500 }), [0, ["1 succeeded"]]);
  });

  it("deletes nothing that has lasted long enough only by the API server's clock, which may be wrong", async () => {
    const lastTransitionTime = timeOf(new Date());
    const ready = { type: "Ready", status: "True", reason: "Reconciled", message: "", lastTransitionTime };
    const made = { name: "made-1", labels: { [EVENT_LABEL]: "made" }, creationTimestamp: lastTransitionTime };
    const managedFields = [{ manager: intakeManagerOf(IDENTITY), operation: "Update" as const }];
    const status = { observedGeneration: 3, conditions: [ready] };
    cluster.put(widget({ ...made, managedFields }, { status }));
    cluster.time = Date.now() + 30 * 86_400_000;
    name = { namespace: "shop", name: "made-1" };
    const [exitCode] = await finish({ operator: { ...operator(), eventTtls: { made: 86_400 } } });
    assert.deepEqual([exitCode, reports[0]?.result], [0, "succeeded"]);
    assert.ok(cluster.find("Widget", name));
  });

  for (const [what, failure, more] of [
    ["says no time", { message: "no" }, {}],
    ["says a time that comes after the run", { message: "no", retryAfterSeconds: 60 }, {}],
    [
      "says a time, and the run waits for nothing",
      { message: "no", retryAfterSeconds: 1 },
      { patienceMs: 0 },
    ],
    ["fails for good", { message: "no", retryAfterSeconds: 1, permanent: true }, {}],
  ] as const)
    it(`leaves the handler to the next resync if it ${what}`, async () => {
      failures = [failure];
      assert.deepEqual(await finish(more), [1, ["1 failed"]]);
    });
});
