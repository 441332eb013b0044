import assert from "node:assert/strict";
import { EVENT_LABEL } from "../../runtime/base/names";
import { conditionsIn, type KubernetesObject, type Manifest, timeOf } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import type { ErrorAnswer, HandlerQuestion, ReconcileAnswer } from "../../runtime/handler/contract";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { UnknownKindError } from "../../runtime/kubernetes/discovery";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { Operator } from "../../runtime/operator/definition";
import { intakeManagerOf } from "../../runtime/operator/eventMarks";
import { ObjectRun, type ObjectRunOptions } from "../../runtime/programs/run/objectRun";
import { OneObject, type OneObjectOptions } from "../../runtime/programs/run/oneObject";
import { runOnce } from "../../runtime/programs/run/runOnce";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { memoryOf } from "../../runtime/remember/memory";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, IDENTITY, operator, WIDGETS, widget } from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };
/** What every run has, but for the handler. */
const PARTS = {
  resource: WIDGETS,
  kinds: {
    found: [CONFIG_MAPS],
    whyNot: () => undefined,
    whyUnknown: () => undefined,
  } as unknown as OneObjectOptions["kinds"],
  fence: { assert: () => {}, problem: undefined },
  workflow: "run",
  program: undefined,
};

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
      ...PARTS,
      pool: {
        hidden: () => [],
        ask: async () => {
          const error = failures.shift();
          return { answer: error ? { error } : { children: [configMap()], ...wishes }, length: 100, log: "" };
        },
      },
    };
    const target = { kind: "object", name, uid: "widget-uid", due: undefined } as const;
    const onReport = (report: ReconcileReport) => void reports.push(report);
    const { exitCode } = await new ObjectRun(target, { ...options, onReport, ...more }, parts).finish();
    return [exitCode, reports.map(({ attempt, result }) => `${attempt} ${result}`)];
  }

  const dueAt = () => memoryOf(cluster.find("Widget", NAME) as KubernetesObject).dueAt;

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
    assert.equal(dueAt(), timeOf(new Date(cluster.time + 20_000)));
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
    assert.equal(dueAt(), timeOf(new Date(began + 1_000)));
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

describe("an object in a run of its own", () => {
  let cluster: FakeCluster;
  let object: OneObject;
  let questions: HandlerQuestion[];
  /** The children that the handler answers. */
  let answer: Manifest[];

  const begin = (definition: Operator, withholds = false) =>
    new OneObject({
      withholds,
      operator: definition,
      ...PARTS,
      client: cluster.client(),
      pool: {
        hidden: () => [],
        ask: async (question) => {
          questions.push(question);
          return { answer: { children: answer }, length: 100, log: "" };
        },
      },
      name: NAME,
      namespace: "argosy",
      instance: "pod",
      isBeyondRun: () => false,
    });

  beforeEach(() => {
    cluster = new FakeCluster();
    cluster.put(widget());
    questions = [];
    answer = [configMap({ name: "a" }), configMap({ name: "b" })];
    object = begin(operator());
  });
  afterEach(() => object.watches.stopAll());

  it("says why the run failed, though the answer was lost that part of the children is remembered", async () => {
    cluster.refusals.set("apply ConfigMap b", new ApiError(422, { kind: "Status", message: "no" }, "PATCH"));
    let writes = 0;
    cluster.lost.get = (step) =>
      step === "status" && writes++ === 0 ? new ApiUnreachableError("PATCH", new Error("cut")) : undefined;
    const report = await object.reconcile(await object.watches.read(), 1);
    assert.equal(report.failure?.reason, "ChildRefused");
    const [ready] = conditionsIn(cluster.find("Widget", NAME)?.["status"]);
    assert.deepEqual([writes, ready?.status, ready?.reason], [2, "False", "ChildRefused"]);
  });

  it("deletes no child by its first answer if its Workflow says so, and says what it withholds", async () => {
    await object.reconcile(await object.watches.read(), 1);
    const answered = answer;
    answer = [configMap({ name: "a" })];
    await object.watches.stopAll();
    object = begin(operator(), true);
    const report = await object.reconcile(await object.watches.read(), 1);
    assert.equal(report.failure?.reason, "DeletionWithheld");
    assert.match(
      report.failure?.message ?? "",
      /no longer returns ConfigMap shop\/b, although nobody has changed/,
    );
    assert.ok(cluster.find("ConfigMap", { namespace: "shop", name: "b" }));
    answer = answered;
    await object.reconcile(await object.watches.read(), 1);
    answer = [configMap({ name: "a" })];
    assert.equal((await object.reconcile(await object.watches.read(), 1)).failure, undefined);
    assert.equal(cluster.find("ConfigMap", { namespace: "shop", name: "b" }), undefined);
  });

  it("takes schedules by the clock of the API server, as the dispatcher does that begins its runs", async () => {
    const nightly = { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 0 };
    await object.watches.stopAll();
    object = begin(operator({ execution: "pod", schedules: { nightly } }));
    cluster.time = Date.parse("2020-01-01T02:00:00Z");
    await object.reconcile(await object.watches.read(), 1);
    cluster.time = Date.parse("2020-01-01T03:00:00Z");
    await object.reconcile(await object.watches.read(), 1);
    const due = [{ name: "nightly", at: "2020-01-01T03:00:00Z" }];
    assert.deepEqual(
      questions.map((question) => question.due),
      [[], due],
    );
  });
});

const WORKFLOW = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Workflow",
  metadata: { name: "run", namespace: "argosy", uid: "run", resourceVersion: "1" },
  spec: { arguments: { parameters: ["namespace", "name"].map((name) => ({ name, value: "shop" })) } },
};

/** An API server that has the Workflow and not its object. @param errors the first answers about each kind */
function server(...errors: Error[]): KubernetesClient {
  const left = new Map<string, Error[]>();
  const answerAbout = ({ kind }: Resource) => {
    const error = left
      .set(kind, left.get(kind) ?? [...errors])
      .get(kind)
      ?.shift();
    if (error) throw error;
  };
  const client = {
    with: () => client,
    now: () => Date.now(),
    get: async (resource: Resource) => {
      answerAbout(resource);
      return resource.kind === "Workflow" ? WORKFLOW : undefined;
    },
    list: async (resource: Resource, _: unknown, onPage: (items: unknown[], pages: object) => void) => {
      answerAbout(resource);
      onPage([], {});
      return "1";
    },
    read: async () => ({ resources: [{ name: WIDGETS.plural, kind: WIDGETS.kind, namespaced: true }] }),
  };
  return client as unknown as KubernetesClient;
}

function run(client: KubernetesClient, patienceMs: number) {
  return runOnce({
    operator: operator(),
    client,
    transport: {} as HandlerTransport,
    namespace: "argosy",
    workflow: "run",
    instance: "pod",
    patienceMs,
  });
}

const AWAY = new ApiUnreachableError("GET /", new Error("connect ECONNREFUSED"));
const BUSY = new ApiError(504, { message: "the API server is starting" }, "GET /");

describe("a run in a pod of its own", () => {
  for (const [what, error] of Object.entries({ away: AWAY, busy: BUSY })) {
    it(`does not fail because the API server is ${what} for a moment, whatever the run reads then`, async () => {
      const { exitCode, message } = await run(server(error), 30_000);
      assert.deepEqual([exitCode, message], [0, "nothing to do: Widget shop/shop is gone"]);
    });
  }

  it("fails if the API server is away for longer than its patience", async () => {
    const { exitCode, message } = await run(server(AWAY), 500);
    assert.deepEqual([exitCode, message], [1, "GET /: connect ECONNREFUSED"]);
  });
});
