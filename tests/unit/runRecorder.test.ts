import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import {
  Retention,
  type RunRecord,
  RunRecorder,
  type RunRecorderOptions,
} from "../../runtime/report/runRecorder";
import { observed, reconcileReport } from "./support/objects";

/** What the clock of the API server shows. */
const SERVER_TIME = Date.parse("2026-01-01T00:00:00Z");

function report(more: Partial<ReconcileReport> = {}): ReconcileReport {
  return reconcileReport({
    id: randomUUID(),
    namespace: "services",
    name: "demo",
    uid: "uid-1",
    generation: 1,
    changes: [
      { verb: "patched", apiVersion: "v1", kind: "ConfigMap", namespace: "services", name: "settings" },
    ],
    ...more,
  });
}

function failed(message: string, more: Partial<ReconcileReport> = {}): ReconcileReport {
  const failure = new ReconcileFailure("HandlerError", message);
  return report({ result: "failed", changes: [], failure, ...more });
}

describe("RunRecorder", () => {
  let posted: Manifest[];
  let refusal: Error | undefined;
  let notices: string[];
  let now: number;
  beforeEach(() => {
    [posted, refusal, notices, now] = [[], undefined, [], 0];
  });

  function make(more: Partial<RunRecorderOptions> = {}): RunRecorder {
    return new RunRecorder({
      client: {
        create: async (_, manifest): Promise<KubernetesObject> => {
          if (refusal) throw refusal;
          posted.push(manifest);
          return observed("Workflow");
        },
        now: () => SERVER_TIME,
      },
      namespace: "operators",
      instanceId: "argosy",
      kept: { successes: 3_600, failures: 86_400 },
      operator: { installation: "argosy", name: "shop", record: "changes" },
      onNotice: (notice) => void notices.push(notice),
      now: () => now,
      ...more,
    });
  }

  function recordOf(recorder: RunRecorder, of: ReconcileReport): RunRecord {
    const record = recorder.recordOf(of);
    assert.ok(record);
    return record;
  }

  const figures = ({ recorded, coalesced, dropped }: RunRecorder) => ({ recorded, coalesced, dropped });

  it("dates a run by the API server's clock: the Workflow controller counts from that when it deletes the record", async () => {
    const recorder = make();
    await recorder.write(recordOf(recorder, report()));
    const status = posted[0]?.["status"] as JsonObject | undefined;
    assert.equal(status?.["finishedAt"], "2026-01-01T00:00:00Z");
  });

  it("writes a run under the name that its record has", async () => {
    const recorder = make();
    const record = recordOf(recorder, report());
    assert.equal(await recorder.write(record), true);
    assert.equal(posted[0]?.metadata.name, record.name);
    assert.equal(posted[0]?.metadata.namespace, "operators");
    assert.deepEqual(figures(recorder), { recorded: 1, coalesced: 0, dropped: 0 });
  });

  it("has a record of what the policy asks for, and says whether it is one of a failure", () => {
    const recorder = make({ operator: { installation: "argosy", name: "shop", record: "failures" } });
    assert.equal(recorder.recordOf(report()), undefined);
    assert.equal(recordOf(recorder, failed("no")).isFailure, true);
    assert.equal(recordOf(make(), report()).isFailure, false);
  });

  it("gives the record of one run the same name each time, and that of another run another", () => {
    const [recorder, run] = [make(), report()];
    assert.equal(recordOf(recorder, run).name, recordOf(recorder, { ...run, durationMs: 7 }).name);
    assert.notEqual(recordOf(recorder, run).name, recordOf(recorder, report()).name);
  });

  it("leaves a record to be tried again that cannot be written now, and says so once", async () => {
    const recorder = make();
    refusal = new ApiError(404, { message: "no such kind" }, "POST");
    const record = recordOf(recorder, report());
    await assert.rejects(recorder.write(record), refusal);
    await assert.rejects(recorder.write(record), refusal);
    assert.deepEqual(notices, ["runs are not recorded now: no such kind"]);
    refusal = undefined;
    assert.equal(await recorder.write(record), true);
    assert.deepEqual(figures(recorder), { recorded: 1, coalesced: 0, dropped: 0 });
  });

  it("says once a minute that records are refused, whatever their names are, and that others are dropped", async () => {
    const recorder = make();
    for (let minute = 0; minute < 3; minute++) {
      now = minute * 60_000;
      for (let at = 0; at < 50; at++) {
        const record = recordOf(recorder, report());
        refusal = new ApiError(
          403,
          { message: `workflows "${record.name}" is forbidden: exceeded quota` },
          "POST",
        );
        await assert.rejects(recorder.write(record), refusal);
        recorder.drop("too many wait to be written");
      }
    }
    const starts = notices.map((notice) => notice.split(":")[0]);
    const each = ["runs are not recorded now", "runs are not recorded"];
    assert.deepEqual(starts, [...each, ...each, ...each]);
  });

  it("keeps a record for its whole time that could be written only after many tries", async () => {
    const recorder = make();
    const record = recordOf(recorder, failed("no such size"));
    refusal = new ApiError(503, {}, "POST");
    for (let tries = 0; tries < 5_000; tries++) await assert.rejects(recorder.write(record));
    refusal = undefined;
    await recorder.write(record);
    assert.match(JSON.stringify(posted[0]?.["spec"]), /"secondsAfterCompletion":86400/);
  });

  it("drops what the API server will never take", async () => {
    const recorder = make();
    refusal = new ApiError(422, { message: "spec: Invalid value" }, "POST");
    assert.equal(await recorder.write(recordOf(recorder, report())), false);
    assert.deepEqual(figures(recorder), { recorded: 0, coalesced: 0, dropped: 1 });
    assert.match(notices[0] ?? "", /Invalid value/);
  });

  it("records a failure again once its record is gone", async () => {
    const recorder = make({ kept: { successes: 60, failures: 120 } });
    const record = recordOf(recorder, failed("the disk is full"));
    for (const at of [0, 119_999, 120_000]) {
      now = at;
      await recorder.write(record);
    }
    assert.equal(posted.length, 2);
  });

  it("records a failure that comes again and again once, numbers in it aside, and another one too", async () => {
    const recorder = make();
    for (let attempt = 1; attempt < 30; attempt++)
      await recorder.write(recordOf(recorder, failed(`port ${attempt} is taken`, { attempt })));
    await recorder.write(recordOf(recorder, failed("the disk is full")));
    await recorder.write(recordOf(recorder, failed("the disk is full", { generation: 2 })));
    assert.deepEqual([posted.length, recorder.coalesced], [3, 28]);
    now += 11 * 60_000;
    await recorder.write(recordOf(recorder, failed("the disk is full")));
    assert.equal(posted.length, 4);
  });

  it("takes a record of that failure by a former leader for its own", async () => {
    const [first, second] = [make(), make()];
    assert.equal(recordOf(first, failed("no")).name, recordOf(second, failed("no")).name);
    refusal = new ApiError(409, { reason: "AlreadyExists" }, "POST");
    assert.equal(await second.write(recordOf(second, failed("no"))), true);
    assert.deepEqual(figures(second), { recorded: 0, coalesced: 1, dropped: 0 });
  });

  it("joins records into one of all that was changed, with the newest report and its name", async () => {
    const recorder = make();
    const records = Array.from({ length: 50 }, (_, at) => {
      const name = at % 2 ? "odd" : "even";
      const changes = [
        { verb: "patched" as const, apiVersion: "v1", kind: "ConfigMap", namespace: "services", name },
      ];
      return recordOf(recorder, report({ generation: at + 1, changes }));
    });
    const joined = records.reduce((earlier, later) => recorder.join(earlier, later));
    await recorder.write(joined);
    const text = JSON.stringify(posted[0]);
    assert.match(text, /50 runs: patched ConfigMap even, patched ConfigMap odd/);
    assert.match(text, /"generation","value":"50"/);
    assert.equal(posted[0]?.metadata.name, records.at(-1)?.name);
    assert.deepEqual(figures(recorder), { recorded: 1, coalesced: 49, dropped: 0 });
  });

  it("does not lose a run that is joined with one whose write was on its way", async () => {
    const recorder = make();
    const [first, second] = [recordOf(recorder, report()), recordOf(recorder, report({ generation: 2 }))];
    await recorder.write(first);
    await recorder.write(recorder.join(first, second));
    assert.equal(recorder.recorded, 2);
    assert.match(JSON.stringify(posted[1]), /"generation","value":"2"/);
  });
});
describe("Retention", () => {
  it("keeps few records for the longest time, and a flood of them for the shortest", () => {
    let now = 0;
    const retention = new Retention(3_600, 60, 100, () => now);
    assert.equal(retention.seconds(), 3_600);
    for (let at = 0; at < 100_000; at++) retention.count();
    assert.equal(retention.seconds(), 60);
    now += 24 * 3_600_000;
    assert.equal(retention.seconds(), 3_600);
  });

  it("bounds how many there are at once, at any steady rate", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (perSecond) => {
        let now = 0;
        const retention = new Retention(3_600, 60, 1_000, () => now);
        let kept = 0;
        for (let second = 0; second < 3 * 3_600; second++) {
          now += 1_000;
          for (let at = 0; at < perSecond; at++) {
            kept = retention.seconds();
            retention.count();
          }
        }
        assert.ok(kept * perSecond <= 1_300, `${kept} s at ${perSecond} a second`);
      }),
      { numRuns: 5 },
    );
  });
});
