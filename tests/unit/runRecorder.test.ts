import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { Retention } from "../../runtime/argo/retention";
import { RunRecorder, type RunRecorderOptions } from "../../runtime/argo/runRecorder";
import { ReconcileFailure } from "../../runtime/failure";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { Pace } from "../../runtime/work/pace";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { eventually } from "../integration/support/eventually";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const ENDLESS = { burst: 10_000, refillMs: 1 };

function report(more: Partial<ReconcileReport> = {}): ReconcileReport {
  return {
    operator: "shop",
    kind: "Widget",
    namespace: "services",
    name: "demo",
    uid: "uid-1",
    generation: 1,
    event: "reconcile",
    attempt: 1,
    result: "succeeded",
    changes: [{ verb: "patched", kind: "ConfigMap", namespace: "services", name: "settings" }],
    log: "",
    durationMs: 1,
    ...more,
  };
}

function failed(message: string, more: Partial<ReconcileReport> = {}): ReconcileReport {
  const failure = new ReconcileFailure("HandlerError", message);
  return report({ result: "failed", changes: [], failure, ...more });
}

describe("RunRecorder", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let recorders: RunRecorder[];
  let notices: string[];

  beforeEach(async () => {
    api = await TestApiServer.start((call, response) => json(response, call.body, 201));
    client = api.client();
    recorders = [];
    notices = [];
  });

  afterEach(async () => {
    await Promise.all(recorders.map((recorder) => recorder.stop(0)));
    client.close();
    await api.stop();
  });

  function make(more: Partial<RunRecorderOptions> = {}): RunRecorder {
    const recorder = new RunRecorder({
      client,
      namespace: "operators",
      installation: "argosy",
      instanceId: "argosy",
      policy: "changes",
      pace: ENDLESS,
      onNotice: (notice) => void notices.push(notice),
      ...more,
    });
    recorders.push(recorder);
    return recorder;
  }

  const posted = () => api.calls.map(({ body }) => body as Manifest);
  const recorded = (recorder: RunRecorder, count: number) =>
    eventually(() => assert.equal(recorder.figures.recorded, count));

  it("posts a run under the name that it was given before its status was written", async () => {
    const recorder = make();
    const run = recorder.nameOf(report());
    recorder.record(report({ run }));
    await recorded(recorder, 1);
    const [call] = api.calls;
    assert.equal(call?.path, "/apis/argoproj.io/v1alpha1/namespaces/operators/workflows");
    assert.equal(posted()[0]?.metadata.name, run);
  });

  it("names no run that is not recorded", () => {
    const recorder = make({ policy: "failures" });
    assert.equal(recorder.nameOf(report()), undefined);
    assert.notEqual(recorder.nameOf(failed("no")), undefined);
  });

  it("never waits: what cannot be written stays until it can be, and is written once", async () => {
    api.answer = (_, response) => refuse(response, 404, { message: "no such kind" });
    const recorder = make();
    for (const name of ["a", "b", "c"]) recorder.record(report({ name, uid: name }));
    await eventually(() => assert.deepStrictEqual(notices, ["runs are not recorded now: no such kind"]));
    await eventually(() => assert.equal(recorder.figures.waiting, 3));
    await sleep(20);
    assert.ok(recorder.figures.lagSeconds > 0);
    api.answer = (call, response) => json(response, call.body, 201);
    await recorded(recorder, 3);
    assert.deepStrictEqual(
      { ...recorder.figures },
      {
        recorded: 3,
        coalesced: 0,
        dropped: 0,
        waiting: 0,
        lagSeconds: 0,
      },
    );
  });

  it("drops the oldest where too many wait, and counts them", async () => {
    api.answer = (_, response) => refuse(response, 500);
    const recorder = make({ longestBacklog: 3 });
    for (let at = 0; at < 20; at++) recorder.record(report({ name: `demo-${at}`, uid: String(at) }));
    await eventually(() => assert.equal(recorder.figures.dropped, 17));
    api.answer = (call, response) => json(response, call.body, 201);
    await recorded(recorder, 3);
    const names = posted()
      .slice(-3)
      .map(({ metadata }) => metadata.name);
    for (const last of ["demo-17", "demo-18", "demo-19"]) {
      assert.ok(
        names.some((name) => name.startsWith(`shop-${last}-`)),
        names.join(", "),
      );
    }
  });

  it("drops the oldest where what waits is too large, whatever its reports hold on to", async () => {
    api.answer = (_, response) => refuse(response, 500);
    const recorder = make({ largestBacklog: 100_000 });
    const log = "x".repeat(8 * 1024);
    for (let at = 0; at < 100; at++) recorder.record(report({ name: `demo-${at}`, uid: String(at), log }));
    const { waiting, dropped } = recorder.figures;
    assert.equal(waiting + dropped, 100);
    assert.ok(waiting >= 8 && waiting <= 14, `${waiting} wait`);
  });

  it("waits for its turn before each run, and drops the oldest meanwhile where too many wait", async () => {
    const turns: (() => void)[] = [];
    const turn = () => new Promise<void>((resolve) => turns.push(resolve));
    const recorder = make({ turn, longestBacklog: 3 });
    for (let at = 0; at < 5; at++) recorder.record(report({ name: `demo-${at}`, uid: String(at) }));
    assert.equal(recorder.figures.waiting, 3);
    assert.equal(recorder.figures.dropped, 2);
    for (let done = 0; done < 3; done++) {
      await eventually(() => assert.ok(turns.length > 0));
      assert.equal(recorder.figures.recorded, done);
      turns.shift()?.();
      await recorded(recorder, done + 1);
    }
    turns.shift()?.();
    await recorder.stop(20_000);
    assert.deepStrictEqual(
      api.calls.map(({ body }) => /demo-\d/.exec((body as Manifest).metadata.name)?.[0]),
      ["demo-2", "demo-3", "demo-4"],
    );
  });

  it("drops at its end what never has its turn", async () => {
    const recorder = make({ turn: () => new Promise(() => {}) });
    for (let at = 0; at < 5; at++) recorder.record(report({ name: `demo-${at}`, uid: String(at) }));
    await recorder.stop(0);
    assert.equal(recorder.figures.dropped, 5);
  });

  it("holds back a bounded number of hot objects", async () => {
    const recorder = make({ pace: { burst: 1, refillMs: 3_600_000 }, mostHeld: 3 });
    for (const generation of [1, 2])
      for (let at = 0; at < 5; at++)
        recorder.record(report({ generation, name: `demo-${at}`, uid: String(at) }));
    await recorded(recorder, 7);
    assert.equal(recorder.figures.waiting, 0);
  });

  it("drops what the API server will never take, and goes on", async () => {
    api.answer = (_, response) => refuse(response, 422, { message: "spec: Invalid value" });
    const recorder = make();
    recorder.record(report());
    await eventually(() => assert.equal(recorder.figures.dropped, 1));
    assert.match(notices[0] ?? "", /Invalid value/);
    api.answer = (call, response) => json(response, call.body, 201);
    recorder.record(report());
    await recorded(recorder, 1);
  });

  it("records a failure that comes again and again once, numbers in it aside, and another one anew", async () => {
    const recorder = make();
    for (let attempt = 1; attempt < 30; attempt++)
      recorder.record(failed(`port ${attempt} is taken`, { attempt }));
    recorder.record(failed("the disk is full"));
    recorder.record(failed("the disk is full", { generation: 2 }));
    await recorded(recorder, 3);
    assert.equal(recorder.figures.coalesced, 28);
    assert.equal(api.calls.length, 3);
  });

  it("takes a record of that failure by a former leader for its own", async () => {
    const [first, second] = [make(), make()];
    assert.equal(first.nameOf(failed("no")), second.nameOf(failed("no")));
    api.answer = (_, response) => refuse(response, 409, { reason: "AlreadyExists" });
    second.record(failed("no"));
    await eventually(() => assert.equal(second.figures.coalesced, 1));
    assert.equal(second.figures.dropped, 0);
  });

  it("tells of many quick runs of one object in one record, with all that they changed and the newest report", async () => {
    const recorder = make({ pace: { burst: 2, refillMs: 300 } });
    for (let generation = 1; generation <= 50; generation++) {
      const name = generation % 2 ? "odd" : "even";
      const changes = [{ verb: "patched" as const, kind: "ConfigMap", namespace: "services", name }];
      const hot = report({ generation, changes });
      recorder.record({ ...hot, run: recorder.nameOf(hot) });
    }
    await recorded(recorder, 3);
    assert.equal(recorder.figures.coalesced, 47);
    const last = JSON.stringify(posted().at(-1));
    assert.match(last, /48 runs: patched ConfigMap odd, patched ConfigMap even/);
    assert.match(last, /"generation","value":"50"/);
  });

  it("gives runs that are told of together one name, for the object's status", () => {
    const recorder = make({ pace: { burst: 1, refillMs: 60_000 } });
    const names = [1, 2, 3].map(() => {
      const run = recorder.nameOf(report());
      recorder.record(report({ run }));
      return run;
    });
    assert.notEqual(names[0], names[1]);
    assert.equal(names[1], names[2]);
  });

  it("writes at its end what waits, held or not", async () => {
    const recorder = make({ pace: { burst: 1, refillMs: 60_000 } });
    for (let at = 0; at < 5; at++) recorder.record(report());
    await recorder.stop();
    assert.equal(recorder.figures.recorded, 2);
  });

  it("counts as dropped what could not be written before its end", async () => {
    api.answer = (_, response) => refuse(response, 500);
    const recorder = make();
    for (const name of ["a", "b", "c", "d"]) recorder.record(report({ name, uid: name }));
    await recorder.stop(50);
    await eventually(() => assert.equal(recorder.figures.dropped, 4));
  });
});

describe("Retention", () => {
  it("keeps few records for the longest time, and a flood of them for the shortest", () => {
    let now = 0;
    const retention = new Retention({ longestSeconds: 3_600, shortestSeconds: 60, few: 100 }, () => now);
    assert.equal(retention.next(), 3_600);
    for (let at = 0; at < 100_000; at++) retention.next();
    assert.equal(retention.next(), 60);
    now += 24 * 3_600_000;
    assert.equal(retention.next(), 3_600);
  });

  it("bounds how many there are at once, at any steady rate", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (perSecond) => {
        let now = 0;
        const retention = new Retention(
          { longestSeconds: 3_600, shortestSeconds: 60, few: 1_000 },
          () => now,
        );
        let kept = 0;
        for (let second = 0; second < 3 * 3_600; second++) {
          now += 1_000;
          for (let at = 0; at < perSecond; at++) kept = retention.next();
        }
        assert.ok(kept * perSecond <= 1_300, `${kept} s at ${perSecond} a second`);
      }),
      { numRuns: 5 },
    );
  });
});

describe("Pace", () => {
  it("lets a burst pass, then one each time, for every key by itself", () => {
    let now = 0;
    const pace = new Pace({ burst: 3, refillMs: 1_000 }, () => now);
    const waits = () => [1, 2, 3, 4].map(() => pace.take("a"));
    assert.deepStrictEqual(waits(), [0, 0, 0, 1_000]);
    assert.equal(pace.take("b"), 0);
    now += 1_000;
    assert.deepStrictEqual([pace.take("a"), pace.take("a")], [0, 1_000]);
    now += 60_000;
    assert.deepStrictEqual(waits(), [0, 0, 0, 1_000]);
  });
});
