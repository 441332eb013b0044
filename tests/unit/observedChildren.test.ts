import assert from "node:assert/strict";
import type { Child, ChildStore } from "../../runtime/children/childStore";
import { ownedManifest } from "../../runtime/children/ownership";
import type { HandlerEvent } from "../../runtime/handler/contract";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { identityOf } from "../../runtime/names";
import { ObservedChildren } from "../../runtime/reconcile/observedChildren";
import { failureOf } from "./support/failures";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { applied, CONFIG_MAPS, configMap, IDENTITY, MANAGER, widget } from "./support/objects";

const OWNER = widget();

describe("ObservedChildren", () => {
  let cluster: FakeCluster;
  let store: ChildStore;
  let children: ObservedChildren;

  beforeEach(() => {
    cluster = new FakeCluster();
    ({ store } = childrenIn(cluster));
    children = new ObservedChildren({ children: store });
  });

  /** Puts so many children there, into each of which somebody wrote a text of this length. */
  function given(count: number, length: number, letter = "x"): void {
    const objects = Array.from({ length: count }, (_, index): KubernetesObject => {
      const name = `c-${String(index).padStart(3, "0")}`;
      const manifest = ownedManifest(configMap({ name }), OWNER, CONFIG_MAPS, identityOf(IDENTITY));
      const child = applied(manifest, MANAGER);
      const metadata = { ...child.metadata, uid: `uid-${name}` };
      return cluster.put({ ...child, metadata, data: { theirs: letter.repeat(length) } });
    });
    store.learn(CONFIG_MAPS, objects);
  }

  it("are given to the handler in order, however many they are", async () => {
    given(100, 10);
    const names = (await children.observe(OWNER, "reconcile")).map(({ metadata }) => metadata.name);
    assert.equal(names.length, 100);
    assert.deepEqual(names, [...names].sort());
  });

  it("are given to finalize without those that are not followed any more, and these are not read", async () => {
    given(3, 10);
    const isFollowed = ({ name }: Child) => name !== "c-001";
    children = new ObservedChildren({ children: store, isFollowed });
    const shown = async (event: HandlerEvent) =>
      (await children.observe(OWNER, event)).map(({ metadata }) => metadata.name);
    assert.deepEqual(await shown("reconcile"), ["c-000", "c-001", "c-002"]);
    const asked: string[] = [];
    const { read } = store;
    store.read = async (child) => {
      asked.push(child.name);
      return read.call(store, child);
    };
    assert.deepEqual(await shown("finalize"), ["c-000", "c-002"]);
    assert.deepEqual(asked, ["c-000", "c-002"]);
  });

  it("are not given to the handler if they are larger than 8 MiB, and the words name the largest", async () => {
    given(16, 500_000);
    assert.equal((await children.observe(OWNER, "reconcile")).length, 16);
    given(17, 500_000);
    const { reason, message, permanent } = await failureOf(() => children.observe(OWNER, "reconcile"));
    assert.deepEqual([reason, permanent], ["ChildrenTooLarge", false]);
    assert.match(message, /more than 8 MiB .* ConfigMap shop\/c-000 with 500\d\d\d bytes\./);
    // Each of these characters has three bytes.
    given(17, 160_000, "語");
    assert.equal((await children.observe(OWNER, "reconcile")).length, 17);
    given(17, 170_000, "語");
    const wide = await failureOf(() => children.observe(OWNER, "reconcile"));
    assert.match(wide.message, /with 510\d\d\d bytes\./);
  });

  it("are judged however large they have become since the handler was asked, few of them at once", async () => {
    given(60, 500_000);
    let [reading, most] = [0, 0];
    const { read } = store;
    store.read = async (child) => {
      most = Math.max(most, ++reading);
      const object = await read.call(store, child);
      reading--;
      return object;
    };
    const judged = await children.judge(OWNER, { waiting: [], going: new Set(), ready: new Map() });
    assert.deepEqual(judged.verdict, { kind: "ready" });
    assert.deepEqual(judged.children, { ready: 60, total: 60 });
    assert.ok(most <= 8, `${most} at once`);
  });
});
