import assert from "node:assert/strict";
import type { JsonObject } from "../../runtime/base/objects";
import { type RolloutState, rolloutStateIn } from "../../runtime/engine/rollout";
import type { RolloutPolicy } from "../../runtime/operator/definition";
import { isByUser } from "../../runtime/reconcile/rolloutGate";
import { WorkQueue } from "../../runtime/when/workQueue";
import { type Handler, THINGS } from "../../tools/chaos/kills/scenarios";
import type { MemoryAnswer } from "./support/net/memoryApi";
import { NetWorld } from "./support/net/netWorld";

const OBJECTS = 40;
const FIRST = 2;
const POLICY: RolloutPolicy = {
  firstPercent: 5,
  pauseSeconds: 60,
  haltAfterFailures: 3,
  haltOnDeletions: true,
};
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "argosy-argosy.shop", namespace: "argosy" },
};
const nameIn = (question: Parameters<Handler>[0]) => question.object.metadata.name;

/** Objects that are never Ready: every fourth. */
const isIll = (name: string) => Number(name.split("-")[1]) % 4 === 1;

const good: Handler = (asked) =>
  isIll(nameIn(asked))
    ? { error: { message: "ill", permanent: true } }
    : { children: [{ ...CONFIG_MAP, metadata: { name: nameIn(asked) }, data: { size: "1" } }] };

describe("a staged roll-out that others disturb", () => {
  let world: NetWorld;
  beforeEach(async function () {
    this.timeout(60_000);
    world = new NetWorld({
      name: "roll-out",
      operator: () => ({ rollout: POLICY, ask: "changed", resyncSeconds: 60 }),
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
    await world.stop();
    world.questions.length = 0;
    world.program = "next";
  });
  afterEach(() => world.end());

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

  const asked = () => new Set(world.questions.map(nameIn));

  for (const [what, answer] of Object.entries<MemoryAnswer>({
    "the API server is too busy to list the objects": { code: 503, body: { kind: "Status", code: 503 } },
    "the runner may not list the objects": {
      code: 403,
      body: { kind: "Status", code: 403, reason: "Forbidden" },
    },
  })) {
    it(`begins with its first share when ${what} at first`, async function () {
      this.timeout(60_000);
      world.https.intermediary = {
        answer: ({ method, url }) =>
          method === "GET" && url.pathname.endsWith("/things") ? answer : undefined,
      };
      world.start();
      await world.steady(world.ground.wait(50_000));
      const lease = await world.steady(world.ground.objects.find(LEASE));
      assert.equal(lease?.metadata.annotations?.["argosy.dev/asked-by"], "", "no object was asked about yet");
      world.https.intermediary = {};
      await world.steady(world.ground.wait(30_000));
      assert.equal(asked().size, FIRST, world.notices.join("\n"));
      await passed(200_000);
      assert.equal(asked().size, OBJECTS);
      assert.equal((await state()).stage, "done");
    });
  }

  it("does not say that an object does not exist before the objects were listed", async function () {
    this.timeout(60_000);
    const busy = { code: 503, body: { kind: "Status", code: 503 } };
    world.https.intermediary = {
      answer: ({ method, url }) => (method === "GET" && url.pathname.endsWith("/things") ? busy : undefined),
    };
    world.start();
    await world.steady(world.ground.wait(8_000));
    assert.equal(world.wake("thing-1"), "leaderless");
    world.https.intermediary = {};
    await world.steady(world.ground.wait(20_000));
    assert.equal(world.wake("thing-1"), "queued");
    assert.equal(world.wake("thing-x"), "absent");
  });

  it("lets an object that an event wakes wait for its stage, and one whose labels its user changes not", async function () {
    this.timeout(60_000);
    world.start();
    await world.steady(world.ground.wait(10_000));
    const [woken, changed] = Array.from({ length: OBJECTS }, (_, at) => `thing-${at}`).filter(
      (name) => !asked().has(name),
    ) as [string, string];
    world.wake(woken);
    await world.steady(world.ground.wait(10_000));
    assert.ok(!asked().has(woken));
    const labels = { labels: { tier: "gold" } };
    const object = { ...THINGS, metadata: { name: changed, namespace: "shop" } };
    await world.steady(world.ground.objects.patch(object, { metadata: labels }));
    await world.steady(world.ground.wait(1_000));
    assert.ok(asked().has(changed));
    await passed(200_000);
    assert.ok(asked().has(woken));
  });

  it("takes a change of its user for one whatever else wakes the object", () => {
    const object = { metadata: { generation: 1 }, status: { observedGeneration: 1 } } as never;
    for (const [causes, isUsers] of [
      [["watch"], true],
      [["event", "watch"], true],
      [["watch", "event", "child"], true],
      [["child", "request", "hint"], true],
      [["event", "hint", "used", "child"], false],
      [[], false],
    ] as const) {
      const queue = new WorkQueue();
      queue.add("a", { priority: "change", afterMs: 0, endsBackoff: true });
      for (const cause of causes)
        queue.add("a", { cause, priority: "change", afterMs: 0, endsBackoff: true });
      assert.equal(queue.takeDue(), "a");
      assert.equal(isByUser(object, queue.arrivalOf("a"), true), isUsers, String(causes));
      assert.equal(isByUser(object, queue.arrivalOf("a"), true), false, "it is forgotten");
    }
  });

  it("asks about no more than its share, and comes to its end, at whichever write its process dies", async function () {
    this.timeout(300_000);
    const deaths = [
      [2, "lost"],
      [7, "before"],
      [11, "lost"],
      [16, "before"],
    ] as const;
    for (const [version, [deadAt, fate]] of deaths.entries()) {
      if (version > 0) await world.stop();
      world.questions.length = 0;
      world.program = `v${version}`;
      world.handler = (asked) => {
        const answer = good(asked) as JsonObject;
        const [child] = (answer["children"] ?? []) as JsonObject[];
        return child ? { children: [{ ...child, data: { version: String(version) } }] } : answer;
      };
      let writes = 0;
      world.line.decide = (write) => (/events/.test(write) || ++writes !== deadAt ? undefined : fate);
      const start = () => {
        world.start();
        world.line.onDeath = () =>
          world.clock.after(40_000, () => {
            world.clock.drop();
            start();
          });
      };
      start();
      for (const ms of [20_000, 55_000]) {
        await world.steady(world.ground.wait(ms));
        assert.ok(asked().size <= FIRST, `${deadAt}: ${asked().size}`);
      }
      await passed(300_000);
      assert.ok(writes > deadAt);
      const { program, stage } = await state();
      assert.deepEqual([program, stage], [`v${version}`, "done"], String(deadAt));
      assert.equal(asked().size, OBJECTS, String(deadAt));
    }
  });
});
