import assert from "node:assert/strict";
import type { Parts } from "../../runtime/engine/parts";
import { Wakeups } from "../../runtime/engine/wakeups";
import { Watches } from "../../runtime/engine/watches";
import type { ObjectName } from "../../runtime/kubernetes/objects";
import type { ObjectEvent } from "../../runtime/reconcile/outcome";
import { ReconcileRequests } from "../../runtime/reconcile/requests";
import { Alarms } from "../../runtime/work/alarms";
import { Arrivals } from "../../runtime/work/arrivals";
import { Triggers } from "../../runtime/work/triggers";
import { WorkQueue } from "../../runtime/work/workQueue";
import { DEAF } from "./support/clusterListener";
import { operator, WIDGETS } from "./support/objects";
import { json, TestApiServer } from "./support/testApiServer";

const NAME = { namespace: "shop", name: "deployment" };
const KEY = "shop/deployment";
const OPERATOR = operator({ children: [], watch: { labels: {}, on: ["spec"] } });
/** The name of the object's Memory. */
const OWN = { namespace: "argosy", name: "argosy.shop.uid" };

describe("Wakeups of an operator that watches objects of others", () => {
  let queue: WorkQueue;
  let wakeups: Wakeups;
  let isActive: boolean;
  let parts: object;
  /** The objects of which the reconciler was told to keep nothing. */
  let forgotten: string[];

  beforeEach(() => {
    queue = new WorkQueue();
    isActive = true;
    forgotten = [];
    parts = {
      watches: { objects: { has: () => false, uidOf: () => undefined } },
      outbox: { forget: () => {} },
      reconciler: { forget: ({ name }: ObjectName) => void forgotten.push(name) },
    };
    wakeups = new Wakeups({
      operator: OPERATOR,
      queue,
      triggers: new Triggers({ queue, wake: () => {} }),
      arrivals: new Arrivals(),
      requests: new ReconcileRequests(),
      alarms: new Alarms({ onDue: () => {} }),
      parts: () => parts as unknown as Parts,
      isActive: () => isActive,
      notice: () => {},
    });
  });

  /** Everything that is reported when an object goes: a change before, its end, that of its child, and that of its memory. */
  const goes: Readonly<Record<string, () => void>> = {
    "the object": () => wakeups.objectGone(NAME, "uid"),
    "a child of it": () => wakeups.childChanged({ ...NAME, uid: "uid" }, { kind: "report" }),
    "its memory": () => wakeups.memoryLost(NAME),
  };

  for (const [what, go] of Object.entries(goes)) {
    it(`look once more at an object when ${what} goes`, () => {
      go();
      assert.ok(queue.has(KEY));
    });
  }

  it("let an object be read again, and its memory, which another process may just have written", async () => {
    const served = {
      memory: { state: { step: 1 } },
      metadata: { ...OWN, uid: "memory-uid", resourceVersion: "5" },
    };
    const memory = () => ({
      apiVersion: "argosy.dev/v1",
      kind: "Memory",
      object: { ...NAME, uid: "uid" },
      ...served,
    });
    const api = await TestApiServer.start(({ path, query }, response) => {
      if (query.has("watch")) return void response.writeHead(200).flushHeaders();
      if (path.endsWith(OWN.name)) return json(response, memory());
      const items = path.endsWith("/memories") ? [memory()] : [];
      return json(response, { metadata: { resourceVersion: "5" }, items });
    });
    const client = api.client();
    const watches = new Watches({
      client,
      operator: OPERATOR,
      resource: { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments", namespaced: true },
      namespace: "argosy",
      listener: DEAF,
      isActive: () => true,
      onInterruption: () => {},
    });
    try {
      await watches.start();
      served.memory.state.step = 2;
      served.metadata.resourceVersion = "6";
      const steps = async () => (await watches.memories?.read("uid"))?.map((each) => each["memory"]);
      assert.deepEqual(await steps(), [{ state: { step: 1 } }]);
      parts = { watches };
      wakeups.takeOver(KEY);
      assert.deepEqual(await steps(), [{ state: { step: 2 } }]);
    } finally {
      await watches.stop();
      client.close();
      await api.stop();
    }
  });

  it("let the reconciler forget an object that is gone", () => {
    wakeups.objectGone(NAME, "uid");
    assert.deepEqual(forgotten, [NAME.name]);
  });

  it("keep nothing of objects that are gone while another process leads", () => {
    isActive = false;
    wakeups.objectChanged({ name: NAME, resourceVersion: "1", isReady: false, isHinted: false });
    assert.ok(queue.has(KEY));
    for (const go of Object.values(goes)) go();
    assert.ok(!queue.has(KEY));
  });
});

describe("Wakeups of an operator with objects of its own", () => {
  it("look for children whose owner is gone at the beginning of a term, when a kind was listed, and in each resync", async () => {
    const queue = new WorkQueue();
    const seen: string[] = [];
    const orphans = { gone: (uid: string) => seen.push(uid), look: () => seen.push("look") };
    const parts = {
      watches: { names: () => [], relist: () => new Promise(() => {}) },
      outbox: { forget: () => {} },
      reconciler: { forget: () => {} },
      orphans,
    };
    const wakeups = new Wakeups({
      operator: operator(),
      queue,
      triggers: new Triggers({ queue, wake: () => {} }),
      arrivals: new Arrivals(),
      requests: new ReconcileRequests(),
      alarms: new Alarms({ onDue: () => {} }),
      parts: () => parts as unknown as Parts,
      isActive: () => true,
      notice: () => {},
    });
    wakeups.beginTerm();
    wakeups.kindListed();
    // Though the list of some kind never ends.
    void wakeups.relist();
    assert.deepEqual(seen, ["look", "look", "look"]);
    wakeups.objectGone(NAME, "uid");
    assert.deepEqual(seen.slice(3), ["uid"]);
  });

  it("blame nobody who deletes an object and creates it again for the children of the deleted ones that go", () => {
    const queue = new WorkQueue();
    const triggers = new Triggers({ queue, wake: () => {} });
    const warned: string[] = [];
    let uid = "";
    let isDeleting = false;
    const isGoing = (_: ObjectName, of: string) => isDeleting || of !== uid;
    const parts = {
      watches: { objects: { has: () => true, uidOf: () => uid, isGoing } },
      outbox: {
        put: (_: ObjectName, { events }: { events: readonly ObjectEvent[] }) =>
          void warned.push(...events.map(({ reason }) => reason)),
      },
      resource: WIDGETS,
    };
    const wakeups = new Wakeups({
      operator: operator(),
      queue,
      triggers,
      arrivals: new Arrivals(),
      requests: new ReconcileRequests(),
      alarms: new Alarms({ onDue: () => {} }),
      parts: () => parts as unknown as Parts,
      isActive: () => true,
      notice: () => {},
    });
    const child = { kind: "ConfigMap", ...NAME };
    const rounds = (ownerOf: (life: number) => string) => {
      for (let life = 0; life < 10; life++) {
        uid = `life-${life}`;
        triggers.childrenChanged(KEY);
        queue.forget(KEY);
        wakeups.childChanged({ ...NAME, uid: ownerOf(life) }, { kind: "drifted", child });
        assert.ok(queue.has(KEY), "another child may wait for the name");
      }
    };
    rounds((life) => `life-${life - 1}`);
    assert.deepEqual(warned, []);
    // Foreground deletion: the object is there until its children have gone.
    isDeleting = true;
    rounds((life) => `life-${life}`);
    assert.deepEqual(warned, []);
    isDeleting = false;
    rounds((life) => `life-${life}`);
    assert.deepEqual(warned, ["ChildContested"]);
  });
});
