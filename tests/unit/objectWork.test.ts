import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { NEXT_TRY_ANNOTATION } from "../../runtime/base/names";
import { keyOf } from "../../runtime/base/objects";
import { ObjectWork, ReconcileRequests } from "../../runtime/engine/objectWork";
import { Term } from "../../runtime/leadership/term";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import type { ReconcileContext } from "../../runtime/reconcile/run";
import type { Message } from "../../runtime/report/teller";
import { HeapBudget, Workers } from "../../runtime/when/workers";
import { WorkQueue } from "../../runtime/when/workQueue";
import { eventually } from "../support/eventually";
import { FakeCluster } from "./support/fakeCluster";
import { operator, WIDGETS, widget } from "./support/objects";
import { ReconcileWorld } from "./support/reconcileWorld";
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

const BAD = keyOf(widget().metadata);
const GOOD = "shop/good";
const SECRET = "hunter2-hunter2";

/** An engine's work on two objects, of which one meets a fault: each function of each part can be made to throw in its turn. */
class FaultyWork {
  /** "scrubber.outcome" of each function that was called in the turn of {@link BAD}. */
  readonly called = new Set<string>();
  readonly messages: Message[] = [];
  readonly notices: string[] = [];
  readonly reports: ReconcileReport[] = [];
  /** The result of each count of the metrics. */
  readonly counted: string[] = [];
  readonly world = new ReconcileWorld();
  /** Whether the fault has not happened yet. */
  isArmed = true;
  private readonly queue = new WorkQueue();
  private workers: Workers | undefined;
  private turn: string | undefined;
  private readonly requests = new ReconcileRequests();

  /** @param faulty the function that throws, once */
  constructor(private readonly faulty: string | undefined) {}

  async begin(): Promise<void> {
    const { world, queue, requests } = this;
    world.given();
    world.hidden.push(Buffer.from(SECRET).toString("base64"));
    await world.reconcile();
    const { reconciling: reconciler } = world;
    const inner = reconciler as unknown as Record<string, object> & { parts: Record<string, object> };
    const objects = {
      lengthOf: () => 0,
      uidOf: () => "widget-uid",
      read: async () => world.object(),
    };
    const watches = { objects, children: { of: () => [] }, lengthOf: () => 0 };
    const outbox = { put: (_: unknown, message: Message) => void this.messages.push(message) };
    const contests = newContests();
    const heapBudget = new HeapBudget(() => {});
    const metrics = {
      reconciled: ({ failure, result }: ReconcileReport) => void this.counted.push(failure?.reason ?? result),
    };
    const recorder = { recordOf: () => undefined };
    const traces = { begin: () => undefined, end: () => {} };
    const term = new Term(
      () => 0,
      1,
      () => false,
    );
    const options = {
      client: world.cluster.client(),
      ...{ operator: operator(), queue, contests, requests, metrics, recorder, traces },
      ...{ resource: WIDGETS, watches, reconciler, outbox, heapBudget },
      notice: (text: string) => void this.notices.push(text),
      term: () => term,
      onReport: (report: ReconcileReport) => void this.reports.push(report),
    };
    const work = new ObjectWork(options as unknown as ConstructorParameters<typeof ObjectWork>[0]);
    const { differingAnswers } = work as unknown as Record<string, object>;
    const parts = { heapBudget, differingAnswers, queue, ...contests, requests, metrics };
    const known = { recorder, traces, watches, objects, outbox, reconciler };
    const { outages, parts: those } = inner;
    const { scrubber, finalizers, sweep, writer } = those;
    const reconciling = { scrubber, outages, finalizers, sweep, writer, read: those["objects"] };
    for (const [name, part] of Object.entries({
      ...parts,
      ...known,
      ...reconciling,
      memories: those["memories"],
    }))
      if (part) this.watch(name, part);
    this.workers = new Workers({
      queue,
      concurrency: 1,
      work: async (key, attempt, leave) => {
        this.turn = key;
        return work.do(key, attempt, leave).finally(() => {
          this.turn = undefined;
        });
      },
      onFault: (key, frames) => void this.notices.push(`${key}: ${frames}`),
    });
  }

  /** Reconciles both objects. @returns their reports */
  start(): Promise<ReconcileReport[]> {
    const reports = [BAD, GOOD].map((key) => this.requests.ask(key));
    for (const key of [BAD, GOOD]) this.queue.add(key, due());
    this.workers?.start();
    return Promise.all(reports);
  }

  end(): void {
    this.workers?.pause();
    this.queue.clear();
  }

  /** How much of each kind is remembered by what reconciles. */
  get remembered(): Readonly<Record<string, number>> {
    return Object.fromEntries(sizesIn(this.world.reconciling, "", new Set()));
  }

  private watch(name: string, part: object): void {
    const functions = new Set([
      ...Object.keys(part),
      ...Object.getOwnPropertyNames(Object.getPrototypeOf(part)),
    ]);
    for (const each of functions) {
      const { value } = descriptorOf(part, each) ?? {};
      if (typeof value !== "function" || each === "constructor") continue;
      Object.assign(part, {
        [each]: (...given: unknown[]) => {
          if (this.turn === BAD) this.called.add(`${name}.${each}`);
          if (this.turn === BAD && this.isArmed && this.faulty === `${name}.${each}`) {
            this.isArmed = false;
            throw new TypeError(`${SECRET} is not a function`);
          }
          return value.apply(part, given);
        },
      });
    }
  }
}

/** How many entries each map and each set has that an object refers to, by the way to it. */
function sizesIn(object: object, way: string, seen: Set<object>): [string, number][] {
  if (seen.has(object)) return [];
  seen.add(object);
  if (object instanceof Map || object instanceof Set) return [[way, object.size]];
  const fields = Object.entries(object).filter(([, value]) => typeof value === "object" && value !== null);
  return fields.flatMap(([field, value]) => sizesIn(value as object, `${way}.${field}`, seen));
}

function descriptorOf(part: object, name: string): PropertyDescriptor | undefined {
  return (
    Object.getOwnPropertyDescriptor(part, name) ??
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(part), name)
  );
}

describe("a fault of ours in the turn of an object", () => {
  async function play(faulty: string | undefined): Promise<FaultyWork> {
    const work = new FaultyWork(faulty);
    await work.begin();
    const [, other] = await work.start();
    assert.equal(other?.skipped, "gone");
    // It is tried again by itself, and goes well.
    await eventually(() =>
      assert.equal(work.reports.findLast(({ name }) => name === "widget")?.result, "succeeded"),
    );
    work.end();
    return work;
  }

  it("is a failure of that object, wherever it is: it says so, it is counted, and the others are served", async () => {
    const { called, remembered } = await play(undefined);
    for (const faulty of ["reconciler.reconcile", "read.readToReconcile", "scrubber.outcome", "outbox.put"])
      assert.ok(called.has(faulty), faulty);
    const fault = async (faulty: string) => {
      const { messages, counted, notices, remembered: left } = await play(faulty);
      // What forgets a run cannot forget it.
      if (faulty !== "scrubber.outcome") assert.deepEqual(left, remembered, faulty);
      const failures = messages.flatMap(({ verdict, events }) =>
        verdict?.verdict.kind === "failed" ? events : [],
      );
      assert.deepEqual([failures.map(({ reason }) => reason)], [["InternalError"]], faulty);
      assert.ok(failures[0]?.annotations?.[NEXT_TRY_ANNOTATION], faulty);
      assert.ok(counted.includes("InternalError"), faulty);
      assert.doesNotMatch(notices.join(), new RegExp(SECRET));
    };
    await Promise.all([...called].map(fault));
  }).timeout(60_000);
});
