import assert from "node:assert/strict";
import { ObjectWork, type ObjectWorkOptions } from "../../runtime/engine/objectWork";
import { Term } from "../../runtime/leadership/term";
import type { Message } from "../../runtime/outbox/teller";
import type { ReconcileContext } from "../../runtime/reconcile/reconciliation";
import { ReconcileRequests } from "../../runtime/reconcile/requests";
import { Scrubber } from "../../runtime/reconcile/scrubber";
import { Alarms } from "../../runtime/work/alarms";
import { Arrivals } from "../../runtime/work/arrivals";
import { Triggers } from "../../runtime/work/triggers";
import { WorkQueue } from "../../runtime/work/workQueue";
import { eventually } from "../support/eventually";
import { FakeCluster } from "./support/fakeCluster";
import { WIDGETS } from "./support/objects";
import { TestApiServer } from "./support/testApiServer";

const KEY = "shop/demo";

describe("ObjectWork", () => {
  let round: number;
  let events: { reason: string; note: string }[];
  let notices: string[];
  let options: ObjectWorkOptions;
  let scrubber: Scrubber;
  let nowMs: number;
  let term: Term;
  /** What a reconcile requests. */
  let request: (context: ReconcileContext) => Promise<void>;

  /** A child into which the handler puts the time. */
  const child = () => ({
    resource: { apiVersion: "v1", kind: "ConfigMap" },
    ...{ namespace: "shop", name: "demo", uid: "child" },
    json: JSON.stringify({ metadata: { name: "demo" }, data: { at: `time ${round}` } }),
  });

  beforeEach(() => {
    [round, events, notices, nowMs] = [0, [], [], 0];
    scrubber = new Scrubber();
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
      watches: { objects, children: { of: () => [child()] }, lengthOf: () => 0 },
      reconciler: {
        masked: (text: string) => scrubber.text(text),
        reconcile: async (_: unknown, attempt: number, context: ReconcileContext) => {
          round++;
          await request(context);
          const changes = [{ verb: "patched", kind: "ConfigMap", namespace: "shop", name: "demo" }];
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
      triggers: new Triggers({ queue, wake: () => {}, now: () => nowMs }),
      arrivals: new Arrivals(),
      requests: new ReconcileRequests(),
      alarms: new Alarms({ onDue: () => {} }),
      parts: () => parts,
      notice: (text: string) => void notices.push(text),
      metrics: { reconciled: () => {} },
      term: () => term,
      stopping: new AbortController().signal,
    } as unknown as ObjectWorkOptions;
  });

  /** Reconciles the object this often, each time because a child has reported. */
  async function rounds(count: number, before: () => void = () => {}): Promise<void> {
    const work = new ObjectWork(options);
    for (let each = 0; each < count; each++) {
      options.arrivals.note(KEY, "child");
      before();
      await work.do(KEY, 1, () => {});
    }
  }

  it("says by an Event and in the log which field of a handler's answers differs each time", async () => {
    await rounds(40);
    const told = events.filter(({ reason }) => reason === "AnswersDiffer");
    assert.equal(told.length, 1);
    assert.match(told[0]?.note ?? "", / patched ConfigMap demo \(\.data\.at\)\. /);
    assert.deepEqual(notices, [`${KEY}: ${told[0]?.note}`]);
  });

  it("says nothing of a Secret's values, in the names of fields either", async () => {
    scrubber.learn([
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { user: "ZGF0YS5hdA==" } },
    ]);
    await rounds(20);
    const told = events.filter(({ reason }) => reason === "AnswersDiffer");
    assert.match(told[0]?.note ?? "", / patched ConfigMap demo \(\.\*\*\*\)\. /);
    assert.deepEqual(notices, [`${KEY}: ${told[0]?.note}`]);
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
    it(`does not blame the handler where somebody else changes the child back each time, after ${minutes} minutes`, async () => {
      await rounds(40, () => {
        nowMs += minutes * 60_000;
        options.triggers.childrenChanged("shop/other");
        options.triggers.childDrifted(KEY);
      });
      assert.deepEqual(notices, []);
    });
  }
});
