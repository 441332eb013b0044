import assert from "node:assert/strict";
import type { ObjectName } from "../../runtime/base/objects";
import { NewsReceiver } from "../../runtime/engine/newsReceiver";
import { ReconcileRequests } from "../../runtime/engine/objectWork";
import type { News } from "../../runtime/observe/news";
import type { ObjectEvent } from "../../runtime/reconcile/report";
import type { KnownNames } from "../../runtime/when/wakeups";
import { WorkQueue } from "../../runtime/when/workQueue";
import { WIDGETS } from "./support/objects";
import { newContests, newWakeups } from "./support/wakeups";

const NAME = { namespace: "shop", name: "deployment" };
const KEY = "shop/deployment";

/** Receives news for an operator. */
function newReceiver({
  queue,
  parts,
  isActive = () => true,
  isOurs = true,
  contests = newContests(),
}: {
  queue: WorkQueue;
  parts: () => object;
  isActive?: () => boolean;
  isOurs?: boolean;
  contests?: ReturnType<typeof newContests>;
}): (news: News) => void {
  type Parts = ConstructorParameters<typeof NewsReceiver>[0];
  const known = () => parts() as unknown as Parts;
  const objects: KnownNames = {
    has: (name) => known().watches.objects.has(name),
    isGoing: (name, uid) => known().watches.objects.isGoing(name, uid),
  };
  const requests = new ReconcileRequests();
  return new NewsReceiver({
    wakeups: newWakeups(queue, {
      objects,
      names: () => known().watches.names(),
      contests,
      isOurs,
      isLeading: isActive,
      requests,
    }),
    resource: WIDGETS,
    rollout: undefined,
    onListed: () => {},
    get watches() {
      return known().watches;
    },
    get reconciler() {
      return known().reconciler;
    },
    get outbox() {
      return known().outbox;
    },
    get orphans() {
      return known().orphans;
    },
    isLeading: isActive,
    notice: () => {},
    onChange: undefined,
    onGone: undefined,
  }).receive;
}

describe("news for an operator that watches objects of others", () => {
  let queue: WorkQueue;
  let receive: (news: News) => void;
  let isActive: boolean;
  let parts: object;
  /** The objects of which the reconciler was told to keep nothing. */
  let forgotten: string[];

  beforeEach(() => {
    queue = new WorkQueue();
    isActive = true;
    forgotten = [];
    parts = {
      watches: { objects: { has: () => false, uidOf: () => undefined, isGoing: () => false } },
      outbox: { dropVerdict: () => {} },
      reconciler: { forgetObject: ({ name }: ObjectName) => void forgotten.push(name) },
    };
    receive = newReceiver({ queue, parts: () => parts, isActive: () => isActive, isOurs: false });
  });

  /** Everything that is reported when an object goes: a change before, its end, that of its child, and that of its memory. */
  const goes: Readonly<Record<string, () => void>> = {
    "the object": () => receive({ kind: "object gone", name: NAME, uid: "uid" }),
    "a child of it": () => receive({ kind: "child reports", owner: { ...NAME, uid: "uid" } }),
    "its memory": () => receive({ kind: "memory gone", name: NAME }),
  };

  it("let an object be read again, and its memory, which another process may just have written", () => {
    const outdated: ObjectName[] = [];
    parts = { watches: { invalidate: (name: ObjectName) => void outdated.push(name) } };
    receive({ kind: "taken over", key: KEY });
    assert.deepEqual(outdated, [NAME]);
  });

  it("let the reconciler forget an object that is gone", () => {
    receive({ kind: "object gone", name: NAME, uid: "uid" });
    assert.deepEqual(forgotten, [NAME.name]);
  });

  it("keep nothing of objects that are gone while another process leads", () => {
    isActive = false;
    receive({ kind: "object changed", name: NAME, resourceVersion: "1", isHinted: false });
    assert.ok(queue.has(KEY));
    for (const go of Object.values(goes)) go();
    assert.ok(!queue.has(KEY));
  });
});

describe("news for an operator with objects of its own", () => {
  it("look for children whose owner is gone at the beginning of a term", async () => {
    const queue = new WorkQueue();
    const seen: string[] = [];
    const orphans = {
      gone: (uid: string) => seen.push(uid),
      look: () => seen.push("look"),
    };
    const parts = {
      watches: { names: () => [], objects: { has: () => false } },
      outbox: { dropVerdict: () => {} },
      reconciler: { forgetObject: () => {} },
      orphans,
    };
    const receive = newReceiver({ queue, parts: () => parts });
    receive({ kind: "term begun" });
    receive({ kind: "object gone", name: NAME, uid: "uid" });
    assert.deepEqual(seen, ["look", "uid"]);
  });

  it("report no contest when a user deletes and recreates an object, and the deleted one's children go", () => {
    const queue = new WorkQueue();
    const contests = newContests();
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
    const receive = newReceiver({ queue, parts: () => parts, contests });
    const child = { kind: "ConfigMap", ...NAME };
    const rounds = (ownerOf: (life: number) => string) => {
      for (let life = 0; life < 10; life++) {
        uid = `life-${life}`;
        contests.children.changed(KEY);
        queue.forget(KEY);
        receive({ kind: "child drifted", owner: { ...NAME, uid: ownerOf(life) }, child });
        assert.ok(queue.has(KEY), "another child may wait for the name");
      }
    };
    rounds((life) => `life-${life - 1}`);
    assert.deepEqual(warned, []);
    // Foreground deletion: the object exists until its children have gone.
    isDeleting = true;
    rounds((life) => `life-${life}`);
    assert.deepEqual(warned, []);
    isDeleting = false;
    rounds((life) => `life-${life}`);
    assert.deepEqual(warned, ["ChildContested"]);
  });

  it("tell the author of a Job that Kubernetes deletes what makes it run once, however long each run takes", () => {
    const queue = new WorkQueue();
    const notes: string[] = [];
    const parts = {
      watches: { objects: { has: () => true, isGoing: () => false } },
      outbox: {
        put: (_: ObjectName, { events }: { events: readonly ObjectEvent[] }) =>
          void notes.push(...events.map(({ reason, note }) => `${reason}: ${note}`)),
      },
      resource: WIDGETS,
    };
    let now = 0;
    const receive = newReceiver({ queue, parts: () => parts, contests: newContests(() => now) });
    const expires = (name: string) => {
      now += 3_600_000;
      const child = { kind: "Job", namespace: "shop", name, isExpiring: true };
      receive({ kind: "child drifted", owner: { ...NAME, uid: "uid" }, child });
    };
    for (const name of ["migrate", "other"]) expires(name);
    assert.deepEqual(notes, []);
    expires("migrate");
    assert.equal(notes.length, 1);
    assert.match(
      notes[0] ?? "",
      /^ChildContested: Job shop\/migrate has ttlSecondsAfterFinished: .* runs again each time\. .* argosy\.dev\/once: "true"/,
    );
  });
});
