import assert from "node:assert/strict";
import fc from "fast-check";
import type { KubernetesObject } from "../../runtime/base/objects";
import { type Change, Store } from "../../runtime/observe/store";
import type { Source, StoredObject } from "../../runtime/observe/storedObject";
import { CONFIG_MAPS, observed } from "./support/objects";

/** A ConfigMap of that name and version. */
function item(name: string, version: number, data = "", uid = `${name}-uid`): KubernetesObject {
  return observed("ConfigMap", { data: { data } }, { name, uid, resourceVersion: String(version) });
}

/** What is kept of an object without being packed. */
function jsonOf(stored: StoredObject<string> | undefined): string {
  return typeof stored?.json === "string" ? stored.json : "";
}

describe("Store", () => {
  let changes: Change<string>[];
  let got: string[];
  /** What the API server has. */
  let server: Map<string, KubernetesObject>;
  let store: Store<string>;

  beforeEach(() => {
    [changes, got, server] = [[], [], new Map()];
    store = make();
  });

  function make(
    mostKept?: number,
    isMetadataOnly = false,
    onChange = (change: Change<string>) => void changes.push(change),
    mostPacked?: number,
  ): Store<string> {
    return new Store<string>({
      isMetadataOnly,
      client: {
        get: async (_, { name }) => {
          got.push(name);
          return server.get(name);
        },
      },
      factsOf: (object) =>
        object.metadata.labels?.["theirs"] ? undefined : String(JSON.stringify(object["data"])),
      onChange,
      ...(mostKept !== undefined && { mostKept }),
      mostPacked,
    });
  }

  const find = (name: string) => store.find(CONFIG_MAPS, { namespace: "shop", name });
  const known = (name: string) => find(name) ?? assert.fail(`${name} is not known`);

  function list(
    version: number,
    items: readonly KubernetesObject[],
    isReset = false,
    sink = store.sink(CONFIG_MAPS, undefined),
  ) {
    sink.listing(isReset, String(version));
    for (const each of items) sink.set(each, true);
    sink.listed(String(version));
    return sink;
  }

  it("reports nothing if only the version is another one, and reports each later version whose content it cannot compare", () => {
    const sink = list(2, [item("a", 1, "x")]);
    changes = [];
    sink.set(item("a", 4, "x"), false);
    assert.deepEqual([changes.length, find("a")?.resourceVersion, find("a")?.observedVersion], [0, "4", "4"]);
    // The data changes with the version, and looks like it.
    const quoted = (version: number) => item("a", version, `"resourceVersion":"${version}"`);
    sink.set(quoted(5), false);
    sink.set(quoted(6), false);
    assert.equal(changes.length, 2);
    store.invalidate(known("a"));
    sink.set(quoted(7), false);
    sink.set(quoted(8), false);
    assert.equal(changes.length, 4);
  });

  it("parses an object once for all who use it at the same time, and again when it has changed", async () => {
    const came = item("a", 1);
    const sink = list(2, [came]);
    const read = () => {
      const stored = find("a");
      return stored && store.read(stored);
    };
    assert.equal(await read(), came);
    const later = item("a", 3, "x");
    sink.set(later, false);
    assert.equal(await read(), later);
  });

  it("stores what is listed, watched and answered, and says how it came", () => {
    const sink = list(2, [item("a", 1)]);
    sink.set(item("b", 3), false);
    store.set(CONFIG_MAPS, item("a", 4, "x"), "handled");
    sink.set(item("a", 4, "x"), false);
    sink.remove(item("b", 5));
    list(9, [item("c", 8)], false, sink);
    assert.deepEqual(
      changes.map(
        ({ source, before, after }) => `${source} ${before?.name}@${before?.resourceVersion} ${after?.name}`,
      ),
      [
        "initial undefined@undefined a",
        "watch undefined@undefined b",
        "handled a@1 a",
        "watch b@3 undefined",
        "list undefined@undefined c",
        "list a@4 undefined",
      ],
    );
    assert.equal(store.size, 1);
  });

  it("never lets an older version replace a newer one, whatever comes late, of an earlier object of the name too", () => {
    const source = fc.constantFrom<Source>("list", "watch", "answer", "handled");
    const step = fc.record({ version: fc.integer({ min: 1, max: 30 }), source });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        store = make();
        let newest = 0;
        for (const each of steps) {
          // The object was deleted and created again at version 10, and at version 20.
          const uid = `uid-${Math.floor(each.version / 10)}`;
          store.set(CONFIG_MAPS, item("a", each.version, String(each.version), uid), each.source);
          newest = Math.max(newest, each.version);
          assert.equal(find("a")?.resourceVersion, String(newest));
          assert.equal(find("a")?.facts, JSON.stringify({ data: String(newest) }));
          assert.equal(find("a")?.uid, `uid-${Math.floor(newest / 10)}`);
        }
      }),
    );
  });

  it("says each change once, whichever source has it first", () => {
    const step = fc.record({
      version: fc.integer({ min: 1, max: 9 }),
      source: fc.constantFrom<Source>("list", "watch", "answer", "handled"),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        [changes, store] = [[], make()];
        for (const { version, source } of steps)
          store.set(CONFIG_MAPS, item("a", version, String(version)), source);
        const said = changes.map(({ after }) => after?.resourceVersion);
        assert.equal(
          new Set(changes.map(({ object }) => object?.metadata.resourceVersion)).size,
          said.length,
        );
        const newest = Math.max(0, ...steps.map(({ version }) => version));
        if (newest > 0) assert.equal(changes.at(-1)?.object?.metadata.resourceVersion, String(newest));
      }),
    );
  });

  it("forgets what a list lacks, but not what we wrote after the list began", () => {
    const sink = list(5, [item("a", 1), item("b", 2)]);
    sink.listing(false, "7");
    store.set(CONFIG_MAPS, item("new", 8), "handled");
    sink.set(item("a", 1), true);
    sink.listed("7");
    assert.deepEqual([...store.values()].map(({ name }) => name).sort(), ["a", "new"]);
  });

  it("forgets only what the list is about: its kind and its namespace", () => {
    list(5, [item("a", 1)]);
    store.set({ ...CONFIG_MAPS, kind: "Other" }, item("other", 1), "watch");
    list(9, [], false, store.sink(CONFIG_MAPS, "another"));
    assert.equal(store.size, 2);
    list(9, [], false, store.sink(CONFIG_MAPS, "shop"));
    assert.deepEqual(
      [...store.values()].map(({ name }) => name),
      ["other"],
    );
  });

  it("stores older versions, and forgets later ones, if the API server itself went back", () => {
    const sink = list(50, [item("a", 40, "new"), item("lost", 45)]);
    list(20, [item("a", 10, "old")], true, sink);
    assert.equal(find("a")?.resourceVersion, "10");
    assert.equal(find("a")?.facts, JSON.stringify({ data: "old" }));
    assert.equal(find("lost"), undefined);
    sink.set(item("a", 21, "newer"), false);
    assert.equal(find("a")?.resourceVersion, "21");
  });

  it("stores an older version from a later list, if the API server went back and was written since", () => {
    const sink = list(50, [item("a", 40, "new")]);
    store.set(CONFIG_MAPS, item("ours", 53), "handled");
    // Restored at 30. Since then it was written so often that its versions are as high as before.
    sink.listing(false, "52");
    sink.set(item("a", 10, "old"), true);
    sink.set(item("ours", 20), true);
    sink.listed("52");
    assert.equal(find("a")?.resourceVersion, "10");
    assert.equal(find("a")?.facts, JSON.stringify({ data: "old" }));
    assert.equal(changes.at(-1)?.after?.name, "a");
    // The list may have been made before our own write.
    assert.equal(find("ours")?.resourceVersion, "53");
    list(54, [item("a", 10, "old"), item("ours", 20)], false, sink);
    assert.equal(find("ours")?.resourceVersion, "20");
  });

  it("stores other content under the same version if a list has it, and not if a late event has", () => {
    const sink = list(5, [item("a", 1, "x")]);
    sink.set(item("a", 1, "y"), false);
    store.set(CONFIG_MAPS, item("a", 1, "y"), "handled");
    assert.equal(changes.length, 1);
    list(6, [item("a", 1, "x")], false, sink);
    assert.equal(changes.length, 1);
    list(7, [item("a", 1, "y")], false, sink);
    assert.equal(changes.length, 2);
    assert.equal(find("a")?.facts, JSON.stringify({ data: "y" }));
  });

  it("ignores the deletion of an earlier object of the name", () => {
    const sink = list(5, [item("a", 1, "", "second")]);
    sink.remove(item("a", 4, "", "first"));
    assert.equal(find("a")?.uid, "second");
  });

  it("keeps our own write if the watch reports late that the object had left its selection before", () => {
    const sink = list(5, [item("a", 1)]);
    store.set(CONFIG_MAPS, item("a", 8, "ours"), "handled");
    // Another client took its label away at version 7, and our write put the label back.
    sink.remove(item("a", 7));
    assert.equal(find("a")?.resourceVersion, "8");
    assert.deepEqual(
      changes.map(({ source }) => source),
      ["initial", "handled"],
    );
    sink.remove(item("a", 9));
    assert.equal(store.size, 0);
  });

  it("remembers which version a watch or a list told of, apart from our own writes", () => {
    const sink = list(5, [item("a", 1)]);
    store.set(CONFIG_MAPS, item("a", 7), "handled");
    assert.deepEqual([find("a")?.resourceVersion, find("a")?.observedVersion], ["7", "1"]);
    sink.set(item("a", 6), false);
    assert.deepEqual([find("a")?.resourceVersion, find("a")?.observedVersion], ["7", "6"]);
    sink.set(item("a", 7), false);
    assert.equal(find("a")?.observedVersion, "7");
  });

  describe("read", () => {
    /** An object that was listed, and invalidated since. */
    function invalidated() {
      list(5, [item("a", 1)]);
      const stored = known("a");
      store.invalidate(stored);
      return stored;
    }

    /** A read of an object that changes, and is invalidated again, while it is read. */
    function overtaken(stored: ReturnType<typeof invalidated>, version = 3) {
      server.set("a", item("a", version, "old"));
      const reading = store.read(stored);
      store.invalidate(stored);
      server.set("a", item("a", version + 1, "new"));
      return reading;
    }

    async function read(name: string): Promise<unknown> {
      return (await store.read(known(name)))?.["data"];
    }

    it("gives what is kept, or asks the API server once for what is not", async () => {
      list(5, [item("a", 1, "x")]);
      assert.deepEqual(await read("a"), { data: "x" });
      store.invalidate(known("a"));
      server.set("a", item("a", 3, "y"));
      assert.deepEqual(await read("a"), { data: "y" });
      assert.deepEqual(await read("a"), { data: "y" });
      assert.deepEqual(got, ["a"]);
      assert.deepEqual([changes.at(-1)?.source, changes.at(-1)?.after?.resourceVersion], ["answer", "3"]);
    });

    it("keeps nothing of an object that was outdated while it was read, and reads it again", async () => {
      const stored = invalidated();
      for (const version of [1, 3]) {
        store.invalidate(stored);
        assert.deepEqual((await overtaken(stored, version))?.["data"], { data: "old" });
        assert.deepEqual(await read("a"), { data: "new" }, `version ${version}`);
      }
    });

    it("keeps the answer to a read that began after the object was outdated, though an earlier read was still open", async () => {
      const stored = invalidated();
      const earlier = overtaken(stored);
      const later = store.read(stored);
      await earlier;
      await later;
      assert.deepEqual(await read("a"), { data: "new" });
      assert.deepEqual(got, ["a", "a"]);
    });

    it("gives no reader an object that was outdated while it was read, not even those who are told of it", async () => {
      const told: Promise<KubernetesObject | undefined>[] = [];
      store = make(undefined, false, ({ source, after }) => {
        if (source === "answer" && after) told.push(store.read(after));
      });
      await overtaken(invalidated());
      assert.deepEqual((await told[0])?.["data"], { data: "new" });
    });

    it("gives nothing for an object that is gone, or that another one of its name has replaced", async () => {
      const stored = invalidated();
      assert.equal(await store.read(stored), undefined);
      server.set("a", item("a", 9, "", "another"));
      assert.equal(await store.read(stored), undefined);
    });

    it("gives nothing for an object that this read shows to be none of ours any more", async () => {
      const stored = invalidated();
      const theirs = item("a", 6);
      server.set("a", { ...theirs, metadata: { ...theirs.metadata, labels: { theirs: "1" } } });
      assert.equal(await store.read(stored), undefined);
      assert.equal(store.size, 0);
    });
  });

  it("keeps nothing of a list that was asked for before its object was outdated, and reads that object alone", async () => {
    const sink = list(5, [item("a", 1, "old"), item("b", 2, "old"), item("c", 3, "old")]);
    sink.asking?.();
    sink.listing(false, "7");
    for (const name of ["a", "b"]) {
      store.invalidate(known(name));
    }
    // The first has the same version in the list, the second another one, and both have later ones by now.
    for (const each of [item("a", 1, "old"), item("b", 6, "older"), item("c", 7, "new")])
      sink.set(each, true);
    sink.listed("7");
    const now: Record<string, KubernetesObject> = { a: item("a", 8, "new"), b: item("b", 9, "new") };
    for (const [name, each] of Object.entries(now)) server.set(name, each);
    for (const name of ["a", "b", "c"]) {
      assert.deepEqual((await store.read(known(name)))?.["data"], { data: "new" });
    }
    assert.deepEqual(got, ["a", "b"]);
    // A list that is asked for later is believed.
    store.invalidate(known("a"));
    sink.asking?.();
    list(9, [item("a", 8, "new"), item("b", 9, "new"), item("c", 7, "new")], false, sink);
    assert.ok(find("a")?.json);
  });

  it("keeps nothing of a watch that comes after an object was outdated, since it may come late, and reads the object", async () => {
    list(5, [item("a", 1, "old")]);
    const [stored] = store.values();
    assert.ok(stored);
    for (const late of [1, 6]) {
      store.invalidate(stored);
      store.set(CONFIG_MAPS, item("a", late, "old"), "watch");
      server.set("a", item("a", 7, "new"));
      assert.deepEqual((await store.read(stored))?.["data"], { data: "new" }, `version ${late}`);
    }
    assert.deepEqual(got, ["a", "a"]);
    // What a watch brings after that is believed.
    store.set(CONFIG_MAPS, item("a", 8, "newest"), "watch");
    assert.deepEqual((await store.read(stored))?.["data"], { data: "newest" });
    assert.deepEqual(got, ["a", "a"]);
  });

  it("keeps nothing of a list that was asked for before everything was outdated, and reads the objects", async () => {
    const reading: Promise<KubernetesObject | undefined>[] = [];
    store = make(undefined, false, ({ after }) => {
      // Whoever is told may read it at once.
      if (after) reading.push(store.read(after));
    });
    const sink = store.sink(CONFIG_MAPS, undefined);
    sink.asking?.();
    sink.listing(false, "5");
    store.invalidateAll();
    server.set("a", item("a", 7, "new"));
    sink.set(item("a", 1, "old"), true);
    sink.listed("5");
    assert.deepEqual(
      (await Promise.all(reading)).map((object) => object?.["data"]),
      [{ data: "new" }],
    );
    sink.asking?.();
    list(9, [item("a", 7, "new"), item("b", 9, "newest")], false, sink);
    assert.ok(find("a")?.json && jsonOf(find("b")).includes("newest"));
  });

  it("packs older objects, reads none of them, and drops the oldest beyond what is allowed", async () => {
    const texts = Array.from(
      { length: 40 },
      (_, at) => `${"ä common part of all of them ".repeat(20)} ${at} \u{1f600}`,
    );
    store = make(1_000, false, (change) => void changes.push(change), 4_000);
    const sink = list(1, []);
    for (const [at, text] of texts.entries()) sink.set(item(String(at), at + 2, text), false);
    const packed = [...store.values()].filter(({ json }) => typeof json === "object");
    assert.ok(packed.length > 20, `${packed.length} of 40 are packed`);
    for (const stored of packed)
      assert.deepEqual((await store.read(stored))?.["data"], { data: texts[Number(stored.name)] });
    assert.deepEqual(got, []);
    // As others are: a write that changes nothing is no change.
    changes = [];
    const [last] = packed.slice(-1);
    assert.ok(last);
    sink.set(item(last.name, 100, texts[Number(last.name)]), false);
    assert.deepEqual(changes, []);
    const room = packed.reduce(
      (sum, { json }) => sum + (typeof json === "object" ? json.bytes.length : 0),
      0,
    );
    assert.ok(room <= 4_000, `${room} characters`);
    store = make(1_000, false, undefined, 400);
    for (const [at, text] of texts.entries()) store.set(CONFIG_MAPS, item(String(at), at + 2, text), "watch");
    const dropped = [...store.values()].filter(({ json }) => json === undefined);
    assert.deepEqual(dropped.map(({ name }) => name).slice(0, 3), ["0", "1", "2"]);
    assert.ok(dropped.length < 40);
  });

  it("keeps the newest objects within the length that is allowed, and knows of all of them", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.nat(9), length: fc.nat(400) }), { maxLength: 60 }),
        (steps) => {
          store = make(1_000);
          steps.forEach(({ name, length }, at) => {
            store.set(CONFIG_MAPS, item(String(name), at + 1, "x".repeat(length)), "watch");
            const kept = [...store.values()].map((stored) => jsonOf(stored).length);
            const isNewestAlone = kept.filter((one) => one > 0).length === 1;
            assert.ok(kept.reduce((sum, one) => sum + one, 0) <= 1_000 || isNewestAlone);
            assert.ok(find(String(name))?.json !== undefined);
          });
          assert.equal(store.size, new Set(steps.map(({ name }) => name)).size);
        },
      ),
    );
  });

  it("says nothing of content that it dropped, when a later list brings that again", async () => {
    store = make(1);
    const items = [item("a", 1), item("b", 2)];
    const sink = list(3, items);
    const before = changes.length;
    list(4, items, false, sink);
    list(5, [...items].reverse(), false, sink);
    assert.equal(changes.length, before);
    const stored = find("a");
    assert.deepEqual((stored && (await store.read(stored)))?.["data"], { data: "" });
    assert.deepEqual(got, []);
  });

  it("reads an object whole of which watches show the metadata, once for each version, and keeps it", async () => {
    store = make(undefined, true);
    const partial = (version: number): KubernetesObject => {
      const { data: _, ...rest } = item("a", version);
      return rest as KubernetesObject;
    };
    const dataOf = async () => {
      const stored = find("a");
      return stored && ((await store.read(stored))?.["data"] as { data: string } | undefined)?.data;
    };
    const sink = list(2, [partial(1)]);
    server.set("a", item("a", 1, "one"));
    assert.deepEqual(await Promise.all([dataOf(), dataOf()]), ["one", "one"]);
    assert.deepEqual([await dataOf(), got], ["one", ["a"]]);
    list(3, [partial(1)], false, sink);
    assert.deepEqual([await dataOf(), got], ["one", ["a"]]);
    server.set("a", item("a", 4, "two"));
    sink.set(partial(4), false);
    assert.deepEqual([await dataOf(), got], ["two", ["a", "a"]]);
  });
});
