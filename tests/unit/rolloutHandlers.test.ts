import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import { type RolloutState, resumedText, rolloutStateIn, rolloutText } from "../../runtime/engine/rollout";
import type { RolloutPolicy } from "../../runtime/operator/definition";
import { Crash, Late } from "../../tools/chaos/kills/inProcess";
import { type Handler, THINGS } from "../../tools/chaos/kills/scenarios";
import { NetWorld } from "./support/net/netWorld";

/** With 1,000 objects, and so 5 % of them first, the table takes five minutes of a quiet machine. */
const OBJECTS = Number(process.env["ARGOSY_ROLLOUT_OBJECTS"] ?? 40);
/** Enough that a handler that fails for every other object is seen. */
const MOST = Math.max(10, OBJECTS * 0.05);
const POLICY: RolloutPolicy = {
  firstPercent: (100 * MOST) / OBJECTS,
  pauseSeconds: 60,
  haltAfterFailures: 3,
  haltOnDeletions: true,
};
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const JOB = { apiVersion: "batch/v1", kind: "Job" };
const EVENTS = { apiVersion: "events.k8s.io/v1", kind: "Event" };
const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "argosy-argosy.shop", namespace: "argosy" },
};
const nameIn = (question: Parameters<Handler>[0]) => question.object.metadata.name;

const isOdd = (question: Parameters<Handler>[0]) => /[13579]$/.test(nameIn(question));

/** Two children, as every version before the bad one answers them. */
const good = (question: Parameters<Handler>[0]): JsonObject => {
  const name = nameIn(question);
  const size = (question.object["spec"] as JsonObject)["size"] ?? 1;
  const children = [
    { ...CONFIG_MAP, metadata: { name }, data: { size: String(size) } },
    { ...CONFIG_MAP, metadata: { name: `${name}-data` }, data: { keep: "this" } },
  ];
  return question.event === "finalize" ? { finalized: true } : { children };
};

function childrenOf(question: Parameters<Handler>[0]): JsonObject[] {
  return good(question)["children"] as JsonObject[];
}

/** What happens in a moment: another number each time. */
let moment = 0;

const BAD: Readonly<Record<string, Handler>> = {
  "crashes at once": () => new Crash("out of memory"),
  "crashes for every other object": (asked) => (isOdd(asked) ? new Crash("no") : good(asked)),
  hangs: () => undefined,
  "is too slow": (asked) => new Late(31_000, good(asked)),
  "returns an error": () => ({ error: { message: "no" } }),
  "returns an error for good": () => ({ error: { message: "no", permanent: true } }),
  "breaks the contract": () => ({ kinder: [] }),
  "returns a kind that is not declared": (asked) => ({
    children: [...childrenOf(asked), { apiVersion: "v1", kind: "Service", metadata: { name: "x" } }],
  }),
  "returns a child that is too large": (asked) => ({
    children: [
      ...childrenOf(asked),
      { ...CONFIG_MAP, metadata: { name: "large" }, data: { x: "x".repeat(5e6) } },
    ],
  }),
  "deletes all children": () => ({ children: [] }),
  "deletes one child": (asked) => ({ children: childrenOf(asked).slice(0, 1) }),
  "renames the children": (asked) => ({
    children: childrenOf(asked).map((child) => ({
      ...child,
      metadata: { name: `new-${(child["metadata"] as JsonObject)["name"]}` },
    })),
  }),
  "gives all objects a child of the same name": (asked) => ({
    children: [...childrenOf(asked), { ...CONFIG_MAP, metadata: { name: "shared" } }],
  }),
  "puts a child where there is no namespace": (asked) => ({
    children: [...childrenOf(asked), { ...CONFIG_MAP, metadata: { name: "x", namespace: "nowhere" } }],
  }),
  "states a condition of the engine's": (asked) => ({
    ...good(asked),
    conditions: [{ type: "Ready", status: "True", reason: "Fine", message: "" }],
  }),
  "never lets its children become ready": (asked) => ({
    children: [
      ...childrenOf(asked),
      { ...JOB, metadata: { name: nameIn(asked) }, spec: { template: { spec: {} } } },
    ],
  }),
  "lets children wait for each other": (asked) => {
    const [one, other] = childrenOf(asked) as [JsonObject, JsonObject];
    const after = (child: JsonObject, of: JsonObject) => ({
      ...child,
      metadata: {
        ...(child["metadata"] as JsonObject),
        annotations: { "argosy.dev/after": `ConfigMap/${(of["metadata"] as JsonObject)["name"]}` },
      },
    });
    return { children: [after(one, other), after(other, one)] };
  },
  "changes its children every second": (asked) => ({
    children: childrenOf(asked).map((child) => ({ ...child, data: { now: String(moment++) } })),
    requeueAfterSeconds: 1,
  }),
  "fails when it is asked again": (asked) =>
    asked.attempt === 1 && moment++ < MOST
      ? { ...good(asked), requeueAfterSeconds: 5 }
      : { error: { message: "not again" } },
};

describe("a staged roll-out of a bad handler", () => {
  let world: NetWorld;
  before(async function () {
    this.timeout(300_000);
    world = new NetWorld({
      name: "roll-out",
      operator: () => ({ rollout: POLICY, ask: "changed", concurrency: 64, resyncSeconds: 60 }),
      acts: [],
    });
    world.leaseSeconds = 15;
    world.mostAtOnce = 1_000_000;
    world.handler = good;
    world.program = "good";
    world.start();
    await world.act(async ({ objects, namespace }) => {
      for (let at = 0; at < OBJECTS; at++)
        await objects.apply({ ...THINGS, metadata: { name: `thing-${at}`, namespace }, spec: { size: 1 } });
    });
    await passed();
    assert.equal((await state()).stage, "done");
  });
  after(() => world.end());

  async function passed(ms = 70_000): Promise<void> {
    await world.steady(world.ground.wait(ms));
    await world.rest();
  }

  async function state(): Promise<RolloutState> {
    const lease = await world.steady(world.ground.objects.find(LEASE));
    const found = rolloutStateIn(lease?.metadata.annotations?.["argosy.dev/rollout"]);
    assert.ok(found, JSON.stringify(lease));
    return found;
  }

  /** The children by their names. */
  async function children(): Promise<Map<string, JsonObject>> {
    const lists = [CONFIG_MAP, JOB].map((kind) => world.ground.objects.list(kind, "shop"));
    const found: KubernetesObject[] = (await world.steady(Promise.all(lists))).flat();
    return new Map(
      found.map(({ kind, metadata, ...content }) => [
        `${kind}/${metadata.name}`,
        { uid: metadata.uid, data: content["data"] ?? null } as JsonObject,
      ]),
    );
  }

  async function isReady(): Promise<boolean> {
    const things = await world.steady(world.ground.objects.list(THINGS, "shop"));
    return things.every(({ status }) =>
      (status as { conditions: { type: string; status: string }[] }).conditions.some(
        ({ type, status }) => type === "Ready" && status === "True",
      ),
    );
  }

  async function next(program: string, handler: Handler): Promise<void> {
    await world.stop();
    world.questions.length = 0;
    world.program = program;
    world.handler = handler;
    world.start();
    await world.rest();
  }

  for (const [name, handler] of Object.entries(BAD)) {
    it(`that ${name}: halts with at most ${MOST} of ${OBJECTS} objects touched, and is undone`, async function () {
      this.timeout(120_000);
      const before = await children();
      moment = 0;
      await next(name, handler);
      // The pause and two resyncs: nothing goes on by itself.
      await passed(130_000);
      const { halted, former } = await state();
      const asked = new Set(world.questions.map(nameIn));
      const after = await children();
      await next("good", good);
      assert.ok(halted, "it has halted");
      assert.equal(former, "good");
      assert.ok(asked.size <= MOST, `${asked.size} objects were asked`);
      const gone = [...before].filter(([key, child]) => after.get(key)?.["uid"] !== child["uid"]);
      assert.deepEqual(gone, [], "no child was deleted");
      assert.equal((await state()).stage, "done");
      assert.deepEqual(await children(), before);
      assert.ok(await isReady());
    });
  }

  it("serves at once what users change, also while it is halted, by the new version", async function () {
    this.timeout(120_000);
    await next("deletes", BAD["deletes all children"] as Handler);
    await passed();
    assert.ok((await state()).halted);
    const asked = new Set(world.questions.map(nameIn));
    const waiting = Array.from({ length: OBJECTS }, (_, at) => `thing-${at}`).find(
      (name) => !asked.has(name),
    );
    world.handler = good;
    await world.act(({ objects, namespace }) =>
      objects.apply({ ...THINGS, metadata: { name: waiting ?? "", namespace }, spec: { size: 7 } }),
    );
    assert.deepEqual((await children()).get(`ConfigMap/${waiting}`)?.["data"], { size: "7" });
    await world.act(({ objects, namespace }) =>
      objects.apply({ ...THINGS, metadata: { name: waiting ?? "", namespace }, spec: { size: 1 } }),
    );
    await next("good", good);
  });

  it("says so by an Event, stays halted over restarts and edits of its Lease, and goes on when it is resumed", async function () {
    this.timeout(120_000);
    const before = await children();
    const edit = async (annotations: JsonObject) => {
      const patch = world.ground.objects.patch(LEASE, { metadata: { annotations } });
      await world.steady(patch);
    };
    await next("fewer", BAD["deletes one child"] as Handler);
    await passed();
    const halted = await state();
    assert.match(
      halted.halted?.why ?? "",
      /^DeletionWithheld: the new version of the handler no longer returns ConfigMap /,
    );
    const events = await world.steady(world.ground.objects.list(EVENTS, "shop"));
    assert.ok(events.some(({ reason }) => reason === "RolloutHalted"));
    // No user skips a stage by hand.
    for (const text of ["", "x", rolloutText({ ...halted, stage: "done", halted: undefined })]) {
      await edit({ "argosy.dev/rollout": text });
      await passed();
      assert.deepEqual(await state(), halted, text);
    }
    await world.stop();
    world.start();
    await passed();
    assert.deepEqual(await state(), halted);
    assert.deepEqual(await children(), before);
    const lease = await world.steady(world.ground.objects.find(LEASE));
    const text = lease?.metadata.annotations?.["argosy.dev/rollout"];
    await edit({ "argosy.dev/rollout": resumedText(text, new Date()) ?? "" });
    await passed(200_000);
    assert.equal((await state()).stage, "done");
    assert.equal((await children()).size, OBJECTS);
    // The way back is a roll-out of its own, since another version has come to its end.
    await next("good", good);
    await passed(200_000);
    assert.equal((await state()).stage, "done");
    assert.equal((await children()).size, 2 * OBJECTS);
  });

  it("comes to its end with a handler that need not be asked the same twice, though it reads the clock", async function () {
    this.timeout(120_000);
    await next("clock", (asked) => ({
      children: childrenOf(asked).map((child) => ({ ...child, data: { at: String(moment++) } })),
    }));
    // Each resync asks about some object, whose children then change: it never rests.
    await world.steady(world.ground.wait(140_000));
    assert.equal((await state()).stage, "done");
  });
});
