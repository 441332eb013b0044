import assert from "node:assert/strict";
import { conditionsIn, type Manifest } from "../../runtime/base/objects";
import type { HandlerQuestion } from "../../runtime/handler/contract";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { Operator } from "../../runtime/operator/definition";
import { OneObject, type OneObjectOptions } from "../../runtime/programs/run/oneObject";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, operator, WIDGETS, widget } from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };

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
      resource: WIDGETS,
      kinds: { found: [CONFIG_MAPS], whyUnknown: () => undefined } as unknown as OneObjectOptions["kinds"],
      client: cluster.client(),
      pool: {
        hidden: () => [],
        ask: async (question) => {
          questions.push(question);
          return { answer: { children: answer }, length: 100, log: "" };
        },
      },
      fence: { assert: () => {}, problem: undefined },
      name: NAME,
      namespace: "argosy",
      instance: "pod",
      workflow: "run",
      program: undefined,
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
