import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { NEXT_ATTEMPT_ANNOTATION, NEXT_TRY_ANNOTATION } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { WorkResult } from "../../runtime/base/turn";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { ObjectEvent, Outcome } from "../../runtime/reconcile/report";
import type { RunRecord } from "../../runtime/report/runRecorder";
import { type Message, messageAbout, Teller, type Unreported } from "../../runtime/report/teller";
import { WorkQueue } from "../../runtime/when/workQueue";
import { FakeClock } from "./support/fakeClock";
import { WIDGETS, widget } from "./support/objects";
import { due } from "./support/wakeups";

const NAME = { namespace: "shop", name: "widget" };
const NORMAL: ObjectEvent = {
  type: "Normal",
  reason: "Reconciled",
  note: "created ConfigMap a",
  isInRecord: true,
};
/** One of a handler's own, which no record has. */
const HANDLERS: ObjectEvent = { type: "Normal", reason: "BackedUp", note: "to s3" };
const WARNING: ObjectEvent = { type: "Warning", reason: "HandlerError", note: "no plan" };
const SUCCESS: RunRecord = { name: "run-1", isFailure: false };
const UNREACHABLE = new ApiUnreachableError("PATCH", new Error("refused"));

function message(more: Partial<Message> = {}): Message {
  return {
    regarding: widget(),
    verdict: { verdict: { kind: "ready" }, generation: 3 },
    records: [],
    events: [],
    ...more,
  };
}

describe("Teller", () => {
  let clock: FakeClock;
  /** What was written, in order: "record run-1", "status run-1", "Warning HandlerError run-1". */
  let written: string[];
  let object: KubernetesObject | undefined;
  /** Steps that fail, by how they are told in `written`, and with what. */
  let failing: Map<string, Error>;
  let client: KubernetesClient;
  beforeEach(() => {
    clock = FakeClock.install();
    [written, object, failing] = [[], widget(), new Map()];
    client = new KubernetesClient({ server: "https://127.0.0.1:1" });
  });
  afterEach(() => {
    client.close();
    clock.uninstall();
  });

  function step(what: string): void {
    const error = failing.get(what);
    if (error) throw error;
    written.push(what);
  }

  type Parts = ConstructorParameters<typeof Teller>;
  function teller({
    memories = {
      write: async (_, { uid }, { verdict }) => {
        if (object?.metadata.uid === uid) step(`status ${verdict?.run ?? "-"}`);
        return object;
      },
    },
    events = { write: async (_, __, { type, reason, run = "-" }) => step(`${type} ${reason} ${run}`) },
    record = async ({ name }) => {
      step(`record ${name}`);
      return true;
    },
  }: {
    memories?: Parts[0];
    events?: Parts[1];
    record?: Parts[2];
  } = {}): Teller {
    return new Teller(memories, events, record);
  }

  const tell = (what: Message, by = teller()): Promise<Unreported | undefined> => by.tell(client, NAME, what);

  it("writes the record first, then the status, which names it, then the Events", async () => {
    assert.equal(await tell(message({ records: [SUCCESS], events: [WARNING] })), undefined);
    assert.deepEqual(written, ["record run-1", "status run-1", "Warning HandlerError run-1"]);
  });

  it("writes no Event of what a record says, but a handler's own with the record's name, and one where there is no record", async () => {
    await tell(message({ records: [SUCCESS], events: [HANDLERS, NORMAL] }));
    assert.deepEqual(written, ["record run-1", "status run-1", "Normal BackedUp run-1"]);
    await tell(message({ events: [NORMAL] }));
    assert.deepEqual(written.slice(3), ["status -", "Normal Reconciled -"]);
  });

  it("waits for the record no longer than a second: the verdict goes without its name, the record is left", async () => {
    const slow = teller({ record: () => new Promise(() => {}) });
    const telling = tell(message({ records: [SUCCESS], events: [NORMAL] }), slow);
    await clock.tick(999);
    assert.deepEqual(written, []);
    await clock.tick(1);
    assert.deepEqual(await telling, {
      left: { regarding: widget(), verdict: undefined, records: [SUCCESS], events: [] },
      error: undefined,
    });
    assert.deepEqual(written, ["status -", "Normal Reconciled -"]);
    assert.equal(clock.pending, 0);
  });

  it("leaves a record that cannot be written now, and forgets one that never can", async () => {
    failing.set("record run-1", UNREACHABLE);
    assert.deepEqual((await tell(message({ records: [SUCCESS] })))?.left.records, [SUCCESS]);
    assert.equal(
      await tell(message({ records: [SUCCESS] }), teller({ record: async () => false })),
      undefined,
    );
    assert.deepEqual(written, ["status -", "status -"]);
  });

  it("leaves a status that cannot be written, for which no Event waits, and tells nothing twice", async () => {
    failing.set("status run-1", UNREACHABLE);
    const untold = await tell(message({ records: [SUCCESS], events: [WARNING] }));
    assert.equal(untold?.error, UNREACHABLE);
    assert.deepEqual(written, ["record run-1", "Warning HandlerError run-1"]);
    failing.clear();
    assert.ok(untold);
    assert.equal(await tell(untold.left), undefined);
    assert.deepEqual(written, ["record run-1", "Warning HandlerError run-1", "status run-1"]);
  });

  it("leaves the Events that follow one that cannot be written", async () => {
    const second: ObjectEvent = { ...WARNING, reason: "Second" };
    failing.set("Warning Second -", UNREACHABLE);
    const untold = await tell(message({ events: [WARNING, second] }));
    assert.deepEqual([untold?.left.verdict, untold?.left.events], [undefined, [second]]);
  });

  const denial = new ApiError(422, { message: 'admission webhook "x" denied the request: no' }, "PATCH");
  const refusals: [by: string, refusal: Error][] = [
    ["a policy", new ApiError(403, { message: "denied by a policy" }, "PATCH")],
    ["a webhook", new ReconcileFailure("StatusRefused", "no", { cause: denial })],
    ["the API server", new ReconcileFailure("StatusRefused", "conversion webhook failed")],
  ];
  for (const [who, refusal] of refusals)
    it(`writes one Event in the place of a status that ${who} refuses, and leaves the verdict`, async () => {
      failing.set("status -", refusal);
      const by = teller();
      const untold = await tell(message({ events: [WARNING] }), by);
      assert.equal(untold?.error, refusal);
      assert.deepEqual([untold.left.verdict, untold.left.events], [message().verdict, []]);
      assert.equal((await tell(untold.left, by))?.error, refusal);
      failing.clear();
      assert.equal(await tell(untold.left, by), undefined);
      assert.deepEqual(written, ["Warning HandlerError -", "Warning StatusRefused -", "status -"]);
    });
});

describe("the Event of a failure", () => {
  let now: number;
  let queue: WorkQueue;
  beforeEach(() => {
    now = 0;
    queue = new WorkQueue({ now: () => now, random: () => 0.999_999, longestWaitMs: 200_000 });
  });

  /** Fails once, and gives what the Event tells of the next try: its number, and in how many milliseconds it comes at most. */
  function failing(again: WorkResult, add: () => void): [number, number | undefined] {
    add();
    assert.equal(queue.takeDue(), "a");
    const failure = new ReconcileFailure("HandlerError", "no size");
    const attempt = queue.attemptOf("a");
    const report = {
      uid: "u",
      name: "widget",
      attempt,
      failure,
      changes: [],
    } as unknown as Outcome["report"];
    const waitMs = queue.longestWaitAfter("a", again);
    const [event] = messageAbout({ report, events: [], again }, WIDGETS, undefined, waitMs)?.events ?? [];
    const { [NEXT_ATTEMPT_ANNOTATION]: next, [NEXT_TRY_ANNOTATION]: by } = event?.annotations ?? {};
    queue.finish("a", again);
    return [Number(next), by === undefined ? undefined : Date.parse(by) - Date.now()];
  }

  for (const [what, again] of [
    ["a backoff", { kind: "failed" }],
    ["the pause that the failure asks for", { kind: "failed", retryAfterMs: 5_000 }],
    ["no pause", { kind: "failed", permanent: true }],
  ] as const)
    for (const [when, isWaited] of [
      ["that was waited out", true],
      ["that a change ended", false],
    ] as const)
      it(`tells the next try after ${what} ${when}, as the queue has it`, () => {
        for (let turn = 1; turn <= 15; turn++) {
          const [next, inMs] = failing(again, () => {
            const { dueInMs } = queue.stateOf("a");
            if (isWaited && dueInMs !== undefined) now += dueInMs;
            else queue.add("a", due());
          });
          const { attempt, dueInMs } = queue.stateOf("a");
          assert.equal(next, attempt);
          if (dueInMs === undefined || inMs === undefined) assert.equal(inMs, dueInMs);
          else assert.ok(Math.abs(inMs - dueInMs) < 1_000, `${inMs} ms, and not ${dueInMs} ms`);
        }
      });
});
