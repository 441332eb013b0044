import assert from "node:assert/strict";
import fc from "fast-check";
import { identityOf } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { type HandlerEvent, MOST_GIVEN_BYTES } from "../../runtime/handler/contract";
import type { Child, ChildStore } from "../../runtime/observe/childStore";
import { ownedManifest } from "../../runtime/observe/marks";
import { GivenChildren, givenChildren } from "../../runtime/reconcile/ask";
import { judge } from "../../runtime/reconcile/converge";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { applied, CONFIG_MAPS, configMap, IDENTITY, MANAGER, observed, widget } from "./support/objects";

const OWNER = widget();

describe("observed children", () => {
  let cluster: FakeCluster;
  let store: ChildStore;
  let isFollowed: (child: Child) => boolean;

  beforeEach(() => {
    cluster = new FakeCluster();
    ({ store } = childrenIn(cluster));
    isFollowed = () => true;
  });

  /**
   * Creates this many children. Another client wrote a text of this length into each of them.
   * @param more of their metadata
   * @param owned how many characters our entry in their `managedFields` has in addition
   */
  function given(count: number, length: number, letter = "x", more: object = {}, owned = 0): void {
    const objects = Array.from({ length: count }, (_, index): KubernetesObject => {
      const name = `c-${String(index).padStart(3, "0")}`;
      const manifest = ownedManifest(configMap({ name }), OWNER, CONFIG_MAPS, identityOf(IDENTITY));
      const child = applied(manifest, MANAGER);
      const managedFields = (child.metadata.managedFields ?? []).map((entry) => ({
        ...entry,
        fieldsV1: { ...entry.fieldsV1, [`f:${"x".repeat(owned)}`]: {} },
      }));
      const metadata = { ...child.metadata, ...more, managedFields, uid: `uid-${name}` };
      return cluster.put({ ...child, metadata, data: { theirs: letter.repeat(length) } });
    });
    store.learn(CONFIG_MAPS, objects);
  }

  const shownOf = (...about: [KubernetesObject, HandlerEvent?]) => givenChildren(store, isFollowed, ...about);

  it("are given to the handler in order, however many they are", async () => {
    given(100, 10);
    const names = (await shownOf(OWNER, "reconcile")).children.map(({ metadata }) => metadata.name);
    assert.equal(names.length, 100);
    assert.deepEqual(names, [...names].sort());
  });

  it("are given to finalize without those that are not followed any more, and these are not read", async () => {
    given(3, 10);
    isFollowed = ({ name }) => name !== "c-001";
    const shown = async (event: HandlerEvent) =>
      (await shownOf(OWNER, event)).children.map(({ metadata }) => metadata.name);
    assert.deepEqual(await shown("reconcile"), ["c-000", "c-001", "c-002"]);
    const asked: string[] = [];
    const { readChild: read } = store;
    store.readChild = async (child) => {
      asked.push(child.name);
      return read.call(store, child);
    };
    assert.deepEqual(await shown("finalize"), ["c-000", "c-002"]);
    assert.deepEqual(asked, ["c-000", "c-002"]);
  });

  const cutIn = ({ children }: GivenChildren) =>
    children.filter((child) => child["data"] === undefined).map(({ metadata }) => metadata.name);

  it("are given whole up to 8 MiB together, and then only the metadata of the largest, until the rest fits", async () => {
    given(16, 500_000);
    assert.deepEqual((await shownOf(OWNER)).warnings, []);
    given(17, 500_000);
    given(2, 600_000);
    const { children: shown, warnings } = await shownOf(OWNER, "finalize");
    assert.equal(shown.length, 17);
    assert.deepEqual(Object.keys(shown[0] ?? {}), ["apiVersion", "kind", "metadata"]);
    assert.equal(shown[0]?.metadata.labels?.["argosy.dev/child-of"], "argosy.shop");
    const truncated = shown.filter(
      ({ metadata }) => metadata.annotations?.["argosy.dev/truncated"] === "true",
    );
    assert.deepEqual(truncated, shown.slice(0, 1));
    assert.deepEqual(shown[2]?.["data"], { theirs: "x".repeat(500_000) });
    assert.deepEqual(
      warnings.map(({ reason }) => reason),
      ["ChildrenTooLarge"],
    );
    assert.match(warnings[0]?.note ?? "", /more than 8 MiB .* the largest: ConfigMap shop\/c-000\. Remove /);
    // Each of these characters has three bytes.
    given(17, 160_000, "語");
    assert.deepEqual(cutIn(await shownOf(OWNER)), []);
    given(17, 170_000, "語");
    assert.deepEqual(cutIn(await shownOf(OWNER)), ["c-000"]);
  });

  it("are given however large their metadata is, and the words do not name all of them", async () => {
    given(20, 10, "x", { annotations: { theirs: "x".repeat(600_000) } });
    const { children: shown, warnings } = await shownOf(OWNER);
    assert.ok(Buffer.byteLength(JSON.stringify(shown)) <= MOST_GIVEN_BYTES);
    const annotated = shown.filter(({ metadata }) => metadata.annotations?.["theirs"]);
    assert.equal(annotated.length, 13);
    const [bare] = shown.filter(({ metadata }) => metadata.labels === undefined);
    const fields = ["name", "namespace", "uid", "resourceVersion", "annotations"];
    assert.deepEqual(Object.keys(bare?.metadata ?? {}), fields);
    assert.deepEqual(bare?.metadata.annotations, { "argosy.dev/truncated": "true" });
    assert.match(warnings[0]?.note ?? "", /c-009 and 10 more\./);
  });

  it("are given the same, in whatever order they are read", () => {
    const sizes = fc.uniqueArray(fc.integer({ min: 1, max: 4_000_000 }), { minLength: 1, maxLength: 8 });
    const shown = (lengths: readonly number[]) => {
      const all = new GivenChildren();
      for (const length of lengths)
        all.take(observed("ConfigMap", { data: { theirs: "x".repeat(length) } }, { name: `c-${length}` }));
      return cutIn(all).sort();
    };
    fc.assert(
      fc.property(sizes, (lengths) => {
        assert.deepEqual(shown(lengths), shown([...lengths].reverse()));
      }),
      { numRuns: 10 },
    );
  });

  it("count as they are given: without what is kept to know what we applied", async () => {
    given(4, 1_900_000, "x", {}, 400_000);
    const shown = await shownOf(OWNER);
    assert.deepEqual([cutIn(shown), shown.warnings], [[], []]);
  });

  it("are judged however large they have become since the handler was asked, few of them at once", async () => {
    given(60, 500_000);
    let [reading, most] = [0, 0];
    const { readChild: read } = store;
    store.readChild = async (child) => {
      most = Math.max(most, ++reading);
      const object = await read.call(store, child);
      reading--;
      return object;
    };
    const judged = await judge(store, OWNER, {
      waiting: [],
      going: new Set(),
      ready: new Map(),
    });
    assert.deepEqual(judged.verdict, { kind: "ready" });
    assert.deepEqual(judged.children, { ready: 60, total: 60 });
    assert.ok(most <= 8, `${most} at once`);
  });
});
