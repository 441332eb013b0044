import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { ObjectWork, ReconcileRequests } from "../../runtime/engine/objectWork";
import { Term } from "../../runtime/leadership/term";
import type { ReconcileContext } from "../../runtime/reconcile/run";
import type { Message } from "../../runtime/report/teller";
import { HeapBudget } from "../../runtime/when/workers";
import { WorkQueue } from "../../runtime/when/workQueue";
import { eventually } from "../support/eventually";
import { FakeCluster } from "./support/fakeCluster";
import { WIDGETS } from "./support/objects";
import { TestApiServer } from "./support/testApiServer";
import { due, newContests } from "./support/wakeups";

const KEY = "shop/demo";

describe("ObjectWork", () => {
  let events: { reason: string; note: string }[];
  let notices: string[];
  let options: ConstructorParameters<typeof ObjectWork>[0];
  let nowMs: number;
  let term: Term;
  /** What a reconcile requests. */
  let request: (context: ReconcileContext) => Promise<void>;

  beforeEach(() => {
    [events, notices, nowMs] = [[], [], 0];
    term = new Term(
      () => 0,
      1,
      () => false,
    );
    request = async () => {};
    const queue = new WorkQueue();
    const objects = { lengthOf: () => 0, uidOf: () => "uid" };
    const about = { id: "1", operator: "demo", kind: "Widget", namespace: "shop", name: "demo", uid: "uid" };
    const parts = {
      resource: WIDGETS,
      watches: { objects, lengthOf: () => 0 },
      reconciler: {
        reconcile: async (_: unknown, attempt: number, context: ReconcileContext) => {
          await request(context);
          const changes = [
            { verb: "patched", apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "demo" },
          ];
          const report = {
            ...about,
            attempt,
            event: "reconcile",
            result: "succeeded",
            changes,
            log: "",
            durationMs: 1,
          };
          return { report: { ...report, arrival: context.arrival }, events: [], again: { kind: "done" } };
        },
      },
      outbox: { put: (_: unknown, message: Message) => void events.push(...message.events) },
    };
    options = {
      client: new FakeCluster().client(),
      queue,
      contests: newContests(() => nowMs),
      requests: new ReconcileRequests(),
      ...parts,
      heapBudget: new HeapBudget(() => {}),
      notice: (text: string) => void notices.push(text),
      metrics: { reconciled: () => {} },
      term: () => term,
    } as unknown as typeof options;
  });

  /** Reconciles the object this often, each time because a child has reported. */
  async function rounds(count: number, before: () => void = () => {}): Promise<void> {
    const work = new ObjectWork(options);
    for (let each = 0; each < count; each++) {
      options.queue.add(KEY, { ...due("child"), cause: "child" });
      before();
      await work.do(KEY, 1, () => {});
    }
  }

  it("says by an Event and in the log which child differs in each of a handler's answers", async () => {
    await rounds(40);
    const told = events.filter(({ reason }) => reason === "AnswersDiffer");
    assert.equal(told.length, 1);
    assert.match(told[0]?.note ?? "", / patched ConfigMap demo\. /);
    assert.deepEqual(notices, [`${KEY}: ${told[0]?.note}`]);
  });

  it("says in the log why an object cannot be read that no Event can be about", async () => {
    const failure = new ReconcileFailure("KindNotListed", "the runner may not list Memory: run it again");
    const reconciler = {
      reconcile: async () => ({ report: { failure, changes: [] }, events: [], again: { kind: "failed" } }),
      fault: () => ({ report: { failure, changes: [] }, events: [], again: { kind: "failed" } }),
    };
    const objects = { read: async () => undefined, uidOf: () => undefined, lengthOf: () => 0 };
    const watches = { objects, lengthOf: () => 0 };
    await new ObjectWork({ ...options, reconciler, watches } as unknown as typeof options).do(
      KEY,
      1,
      () => {},
    );
    assert.deepEqual(notices, [`${KEY}: ${failure.message}`]);
  });

  it("waits for no request of a term that has ended", async () => {
    const api = await TestApiServer.start(() => {
      // It gives no answer.
    });
    const client = api.client();
    request = async (context) => {
      const writing = context.client.with({ class: "work" });
      await assert.rejects(writing.mergePatch(WIDGETS, { namespace: "shop", name: "demo" }, {}));
    };
    try {
      const done = new ObjectWork({ ...options, client }).do(KEY, 1, () => {});
      await eventually(() => assert.equal(api.calls.length, 1));
      term.end();
      await done;
    } finally {
      client.close();
      await api.stop();
    }
  });

  for (const minutes of [0, 2]) {
    it(`does not blame the handler where another client changes the child back each time, after ${minutes} minutes`, async () => {
      await rounds(40, () => {
        nowMs += minutes * 60_000;
        options.contests.children.changed("shop/other");
        options.contests.children.drifted(KEY);
      });
      assert.deepEqual(notices, []);
    });
  }
});
