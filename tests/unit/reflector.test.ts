import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { Reflector, type ReflectorOptions } from "../../runtime/watch/reflector";
import { eventually } from "../support/eventually";
import { CONFIG_MAPS } from "./support/objects";
import { type ApiCall, json, refuse, sendEvent, TestApiServer } from "./support/testApiServer";

/** A ConfigMap of that name and version, as a list or a watch gives it. */
function item(name: string, resourceVersion: string, data = ""): KubernetesObject {
  const metadata = { name, namespace: "shop", uid: `${name}-uid`, resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { data } };
}

describe("Reflector", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let reflector: Reflector | undefined;
  /** What the sink was told, in order: "listing", "set a@1", "listed", "remove a@1". */
  let told: string[];
  let interruptions: Error[];
  let synced: number;
  /** The pages of the next lists; an empty one where none is left. */
  let pages: { items: KubernetesObject[]; resourceVersion: string; more?: string }[];
  /** The watches that were opened, and are answered by the test. */
  let watches: { call: ApiCall; response: ServerResponse }[];
  /** How a watch is answered as soon as it is opened. */
  let onWatch: (call: ApiCall, response: ServerResponse) => void;

  beforeEach(async () => {
    [told, interruptions, pages, watches] = [[], [], [], []];
    synced = 0;
    onWatch = () => {};
    api = await TestApiServer.start((call, response) => {
      if (call.query.get("watch") === "true") {
        watches.push({ call, response });
        response.writeHead(200).flushHeaders();
        return onWatch(call, response);
      }
      const { items, resourceVersion, more } = pages.shift() ?? { items: [], resourceVersion: "99" };
      json(response, { metadata: { resourceVersion, ...(more && { continue: more }) }, items });
    });
    client = api.client();
  });
  afterEach(async () => {
    await reflector?.stop();
    client.close();
    await api.stop();
  });

  /** Starts it, and waits for its first list if it makes one. */
  async function start(
    options: Pick<
      ReflectorOptions,
      "metadataOnly" | "namespace" | "from" | "pause" | "now" | "answersOthers"
    > = {},
  ): Promise<void> {
    const name = ({ metadata }: KubernetesObject) => `${metadata.name}@${metadata.resourceVersion}`;
    reflector = new Reflector({
      client,
      resource: CONFIG_MAPS,
      sink: {
        listing: (isReset) => void told.push(isReset ? "listing again from the start" : "listing"),
        set: (object) => void told.push(`set ${name(object)}`),
        listed: () => void told.push("listed"),
        remove: (object) => void told.push(`remove ${name(object)}`),
      },
      onInterruption: (error) => interruptions.push(error),
      onSynced: () => void synced++,
      ...options,
    });
    reflector.start();
    if (options.from === undefined) await reflector.whenListed();
  }

  /** The watch that was opened as the `count`th. */
  async function watch(count = 1): Promise<{ call: ApiCall; response: ServerResponse }> {
    await eventually(() => assert.ok(watches.length >= count, `watch ${count} is opened`));
    const opened = watches[count - 1];
    assert.ok(opened);
    return opened;
  }

  function lists(): ApiCall[] {
    return api.calls.filter(({ query }) => !query.has("watch"));
  }

  it("lists all pages, then watches from there, with bookmarks", async () => {
    pages = [
      { items: [item("a", "1")], resourceVersion: "5", more: "next" },
      { items: [item("b", "2")], resourceVersion: "5" },
    ];
    await start();
    assert.deepStrictEqual(told, ["listing", "set a@1", "set b@2", "listed"]);
    assert.deepStrictEqual(
      lists().map(({ query }) => query.get("continue")),
      [null, "next"],
    );
    const { call, response } = await watch();
    assert.equal(call.path, "/api/v1/configmaps");
    assert.equal(call.query.get("resourceVersion"), "5");
    assert.equal(call.query.get("allowWatchBookmarks"), "true");
    assert.ok(Number(call.query.get("timeoutSeconds")) >= 240);
    sendEvent(response, "ADDED", item("c", "6"));
    sendEvent(response, "MODIFIED", item("a", "7"));
    sendEvent(response, "BOOKMARK", item("", "8"));
    sendEvent(response, "DELETED", item("b", "9"));
    await eventually(() => assert.ok(told.length === 7, "every event has come"));
    assert.deepStrictEqual(told.slice(4), ["set c@6", "set a@7", "remove b@9"]);
  });

  it("watches from a version that it is given, without a list", async () => {
    // It never lists, which a start waits for.
    void start({ from: "7" });
    const { call, response } = await watch();
    assert.equal(call.query.get("resourceVersion"), "7");
    sendEvent(response, "ADDED", item("c", "8"));
    await eventually(() => assert.ok(told.length === 1, "the event has come"));
    assert.deepStrictEqual([told, lists().length], [["set c@8"], 0]);
  });

  it("gives the items of a list the kind that they do not carry themselves", async () => {
    const { apiVersion: _, kind: __, ...bare } = item("a", "1");
    pages = [{ items: [bare as KubernetesObject], resourceVersion: "1" }];
    const seen: KubernetesObject[] = [];
    const sink = {
      listing() {},
      listed() {},
      remove() {},
      set: (object: KubernetesObject) => seen.push(object),
    };
    reflector = new Reflector({ client, resource: CONFIG_MAPS, sink });
    reflector.start();
    await reflector.whenListed();
    assert.deepStrictEqual([seen[0]?.apiVersion, seen[0]?.kind], ["v1", "ConfigMap"]);
  });

  it("gives metadata alone, also where an API server gives objects whole", async () => {
    pages = [{ items: [item("a", "1", "data")], resourceVersion: "1" }];
    const seen: KubernetesObject[] = [];
    const take = (object: KubernetesObject) => void seen.push(object);
    const sink = { listing() {}, listed() {}, set: take, remove: take };
    reflector = new Reflector({ client, resource: CONFIG_MAPS, sink, metadataOnly: true });
    reflector.start();
    await reflector.whenListed();
    const { response } = await watch();
    sendEvent(response, "MODIFIED", item("a", "2", "data"));
    sendEvent(response, "DELETED", item("a", "3", "data"));
    await eventually(() => assert.ok(seen.length === 3, "every event has come"));
    const bare = (version: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: item("a", version).metadata,
    });
    assert.deepStrictEqual(seen, ["1", "2", "3"].map(bare));
  });

  it("asks for the metadata alone, and for one namespace, where it should", async () => {
    await start({ metadataOnly: true, namespace: "shop" });
    const { call } = await watch();
    assert.equal(call.path, "/api/v1/namespaces/shop/configmaps");
    assert.match(call.headers.accept ?? "", /as=PartialObjectMetadata;/);
    assert.match(lists()[0]?.headers.accept ?? "", /as=PartialObjectMetadataList;/);
  });

  it("reads an event that is cut in the middle of a character", async () => {
    await start();
    const { response } = await watch();
    const bytes = Buffer.from(`${JSON.stringify({ type: "ADDED", object: item("größe-🚢", "100") })}\n`);
    for (const byte of bytes) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => assert.ok(told.includes("set größe-🚢@100"), "the event has come"));
    assert.deepStrictEqual(interruptions, []);
  });

  it("goes on from the last event when the server ends the watch", async () => {
    await start();
    const first = await watch();
    sendEvent(first.response, "ADDED", item("a", "101"));
    await pause(250);
    first.response.end();
    const second = await watch(2);
    assert.equal(second.call.query.get("resourceVersion"), "101");
    assert.equal(lists().length, 1);
    assert.deepStrictEqual(interruptions, []);
  });

  it("goes on from the last bookmark when the connection is cut", async () => {
    await start();
    const first = await watch();
    sendEvent(first.response, "BOOKMARK", item("", "150"));
    first.response.write('{"type":"ADDED","obj');
    await pause(50);
    // A process that was not given a core meanwhile looks at its timers before it reads.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    api.cut();
    pages = [{ items: [item("a", "140")], resourceVersion: "160" }];
    const second = await watch(2);
    assert.equal(second.call.query.get("resourceVersion"), "150");
    // The second one asked for the version alone.
    assert.deepStrictEqual([lists().length, lists()[1]?.query.get("limit")], [2, "1"]);
    assert.deepStrictEqual(told, ["listing", "listed"]);
    assert.deepStrictEqual(
      interruptions.map(({ message }) => message),
      ["the connection was interrupted. The watch resumes where it was"],
    );
    sendEvent(second.response, "ADDED", item("a", "151"));
    await eventually(() => assert.ok(told.includes("set a@151"), "the event has come"));
  });

  const forgotten: [string, (response: ServerResponse) => void][] = [
    ["the status of a watch", (response) => refuse(response, 410, { reason: "Expired" })],
    [
      "an ERROR event",
      (response) => {
        sendEvent(response, "ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
        response.end();
      },
    ],
  ];
  it("lists again when the server knows no version as new as ours, as after a restore of etcd", async () => {
    pages = [
      { items: [item("a", "70")], resourceVersion: "70" },
      { items: [item("a", "7")], resourceVersion: "9" },
    ];
    const refused = (response: ServerResponse) => refuse(response, 504, { reason: "Timeout" });
    api.answer = replacingFirstWatch(api.answer, refused);
    await start();
    assert.equal((await watch(1)).call.query.get("resourceVersion"), "9");
  });

  it("does not list again because a gateway answers in the place of a server that is busy", async () => {
    pages = [{ items: [item("a", "70")], resourceVersion: "70" }];
    const refused = (response: ServerResponse) =>
      void response.writeHead(504).end("upstream request timeout");
    api.answer = replacingFirstWatch(api.answer, refused);
    await start();
    assert.equal((await watch(1)).call.query.get("resourceVersion"), "70");
    // The second one asks for the version alone, and so for one object.
    assert.deepEqual(
      lists().map(({ query }) => query.get("limit") === "1"),
      [false, true],
    );
  });

  for (const [where, answer] of forgotten) {
    it(`lists again when the server has forgotten the version: 410 as ${where}`, async () => {
      pages = [
        { items: [item("a", "1"), item("b", "2")], resourceVersion: "2" },
        { items: [item("b", "7")], resourceVersion: "9" },
      ];
      api.answer = replacingFirstWatch(api.answer, answer);
      await start();
      const next = await watch(1);
      assert.equal(next.call.query.get("resourceVersion"), "9");
      // What was listed before and is not listed now is gone: that is what "listing" and "listed" tell the sink.
      assert.deepStrictEqual(told, [
        "listing",
        "set a@1",
        "set b@2",
        "listed",
        "listing",
        "set b@7",
        "listed",
      ]);
      const [error] = interruptions;
      assert.ok(error instanceof ApiError);
      assert.deepStrictEqual([error.code, error.reason], [410, "Expired"]);
    });
  }

  it("begins a list again whose next page has expired", async () => {
    pages = [{ items: [item("a", "1")], resourceVersion: "5", more: "expired" }];
    const { answer } = api;
    api.answer = (call, response) =>
      call.query.get("continue") === "expired" ? refuse(response, 410) : answer(call, response);
    await start();
    assert.deepStrictEqual(told, ["listing", "set a@1", "listing", "listed"]);
  });

  it("goes on from where it was after an ERROR event of another kind", async () => {
    onWatch = (_, response) => {
      if (watches.length > 1) return;
      sendEvent(response, "ADDED", item("a", "120"));
      sendEvent(response, "ERROR", { kind: "Status", code: 500, message: "etcd is away" });
    };
    await start();
    pages = [{ items: [item("a", "120")], resourceVersion: "120" }];
    const second = await watch(2);
    assert.equal(second.call.query.get("resourceVersion"), "120");
    assert.equal(interruptions[0]?.message, "etcd is away");
    assert.deepEqual(told, ["listing", "listed", "set a@120"]);
  });

  it("does not become a busy loop where every watch ends at once", async () => {
    onWatch = (_, response) => void response.end();
    await start();
    await pause(700);
    assert.ok(watches.length <= 6, `${watches.length} watches`);
    assert.match(interruptions[0]?.message ?? "", /ended as soon as it began/);
  });

  for (const code of [403, 405]) {
    it(`lists ever less often what cannot be watched (${code}), and reports only what has changed`, async () => {
      const { answer } = api;
      api.answer = (call, response) =>
        call.query.has("watch") ? refuse(response, code) : answer(call, response);
      pages = [item("a", "1"), item("a", "2"), item("a", "3")].map((each) => ({
        items: [each],
        resourceVersion: each.metadata.resourceVersion,
      }));
      await start();
      const from = performance.now();
      await eventually(() => assert.ok(told.includes("set a@3"), "it lists again"));
      // All objects would be queued each time that it is in step again.
      assert.deepStrictEqual([synced, reflector?.isSynced, reflector?.problem], [1, true, undefined]);
      assert.ok(interruptions.length >= 2, "nobody is told");
      await pause(2_500 - (performance.now() - from));
      // 8 and more without a growing pause between them, on a machine with nothing else to do.
      assert.ok(performance.now() - from > 4_000 || lists().length <= 6, `${lists().length} lists`);
      api.answer = answer;
      await watch();
    });
  }

  const caps: [string, number, (call: ApiCall) => boolean][] = [
    ["lists what cannot be watched every 30 seconds in the end", 30_000, ({ query }) => query.has("watch")],
    ["tries what may not be listed every 4 seconds in the end", 4_000, () => true],
  ];
  for (const [what, longestMs, isRefused] of caps) {
    it(`${what}, give or take a half, and not before each wait is over`, async () => {
      const { answer } = api;
      api.answer = (call, response) => (isRefused(call) ? refuse(response, 403) : answer(call, response));
      const waits: number[] = [];
      let end = () => {};
      const pause = (ms: number) =>
        new Promise<void>((resolve) => {
          waits.push(ms);
          end = resolve;
        });
      await start({ pause });
      let expectedMs = 200;
      for (let count = 1; count <= 14; count++) {
        await eventually(() => assert.equal(waits.length, count), { pollMs: 5 });
        const ms = waits.at(-1) ?? 0;
        assert.ok(ms >= expectedMs / 2 && ms <= expectedMs * 1.5, `wait ${count}: ${ms} ms`);
        assert.equal(lists().length, count);
        end();
        expectedMs = Math.min(expectedMs * 2, longestMs);
      }
      assert.equal(expectedMs, longestMs);
      await eventually(() => assert.equal(waits.length, 15));
      // A wait is left that nothing but the test would end.
      const stopped = reflector?.stop();
      end();
      await stopped;
    });
  }

  it("tries until there is a list", async () => {
    const { answer } = api;
    api.answer = (call, response) =>
      api.calls.length === 1 ? refuse(response, 500, { message: "not yet" }) : answer(call, response);
    await start();
    assert.deepStrictEqual(told, ["listing", "listed"]);
    assert.equal(interruptions[0]?.message, "not yet");
  });

  it("survives a line that is not JSON", async () => {
    onWatch = (_, response) => {
      if (watches.length === 1) response.write("<html>\n");
    };
    await start();
    const second = await watch(2);
    sendEvent(second.response, "ADDED", item("a", "101"));
    await eventually(() => assert.ok(told.includes("set a@101"), "the event has come"));
  });

  it("tells the sink nothing after it was stopped, and closes its connection", async () => {
    await start();
    const { response } = await watch();
    await reflector?.stop();
    const before = told.length;
    sendEvent(response, "ADDED", item("a", "101"));
    await eventually(() => assert.ok(response.destroyed || response.closed, "the watch is closed"));
    assert.equal(told.length, before);
    assert.deepStrictEqual(interruptions, []);
  });

  it("ends the wait for a list when it is stopped", async () => {
    api.answer = () => {};
    const starting = start();
    await eventually(() => assert.ok(api.calls.length === 1, "the list is asked for"));
    await reflector?.stop();
    await starting;
    assert.equal(reflector?.isSynced, false);
    await reflector?.relist();
    assert.deepStrictEqual(told, []);
  });

  it("lists again when it is asked to, and goes on watching from there", async () => {
    pages = [
      { items: [item("a", "1")], resourceVersion: "5" },
      { items: [item("a", "7")], resourceVersion: "8" },
    ];
    await start();
    await watch();
    await reflector?.relist();
    assert.deepStrictEqual([told.slice(3), synced], [["listing", "set a@7", "listed"], 1]);
    assert.equal((await watch(2)).call.query.get("resourceVersion"), "8");
    assert.deepStrictEqual(interruptions, []);
  });

  it("lists once more when it is asked to in the middle of a list: that list may be older than the question", async () => {
    pages = [
      { items: [], resourceVersion: "5" },
      { items: [item("a", "7")], resourceVersion: "8" },
    ];
    const held: (() => void)[] = [];
    const { answer } = api;
    api.answer = (call, response) =>
      call.query.has("watch")
        ? answer(call, response)
        : new Promise((resolve) => held.push(() => resolve(answer(call, response))));
    const started = start();
    await eventually(() => assert.ok(held.length === 1, "the first list is asked for"));
    const relisted = reflector?.relist().then(() => told.push("listed again"));
    held[0]?.();
    await eventually(() => assert.ok(held.length === 2, "a second list is asked for"));
    held[1]?.();
    await Promise.all([started, relisted]);
    assert.deepStrictEqual(told, ["listing", "listed", "listing", "set a@7", "listed", "listed again"]);
    assert.equal((await watch()).call.query.get("resourceVersion"), "8");
  });

  it("says that a list may not be made, tries again, and says when it may", async () => {
    const { answer } = api;
    api.answer = (_, response) => refuse(response, 403, { message: "not allowed" });
    const listed = start();
    await eventually(() => assert.ok(reflector?.problem !== undefined, "it is refused"));
    assert.equal(reflector?.isSynced, false);
    assert.equal(reflector?.problem?.message, "not allowed");
    await listed;
    assert.deepStrictEqual([told, synced], [[], 0]);
    api.answer = answer;
    assert.equal(await reflector?.whenListed(), true);
    assert.deepStrictEqual([told, synced], [["listing", "listed"], 1]);
    assert.deepStrictEqual([reflector?.isSynced, reflector?.problem], [true, undefined]);
  });

  describe("of a list that fails otherwise than by a refusal", () => {
    let nowMs: number;
    let asked: number;
    let answersOthers: boolean;
    const timed = {
      now: () => nowMs,
      pause: async () => {
        nowMs += 3_000;
        await pause(5);
      },
      answersOthers: async () => {
        asked++;
        return answersOthers;
      },
    };
    beforeEach(() => {
      [nowMs, asked, answersOthers] = [0, 0, true];
    });

    for (const code of [405, 500, 503])
      it(`says that it is the kind's own fault after ten seconds, if the API server lists others (${code})`, async () => {
        const { answer } = api;
        api.answer = (_, response) => refuse(response, code, { message: "conversion webhook failed" });
        await start(timed);
        assert.deepEqual(
          [reflector?.isSynced, reflector?.problem?.message],
          [false, "conversion webhook failed"],
        );
        assert.ok(nowMs >= 9_000 && lists().length >= 3, `${nowMs} ms, ${lists().length} lists`);
        api.answer = answer;
        assert.equal(await reflector?.whenListed(), true);
        assert.deepEqual([reflector?.isSynced, reflector?.problem, synced], [true, undefined, 1]);
      });

    it("blames no kind while the API server lists no other, or is asked too much, or is not reached", async () => {
      for (const [fail, listsOthers] of [
        [(response: ServerResponse) => refuse(response, 500), false],
        [(response: ServerResponse) => refuse(response, 429), true],
        [(response: ServerResponse) => void response.destroy(), true],
      ] as const) {
        [nowMs, asked, answersOthers] = [0, 0, listsOthers];
        const { answer } = api;
        api.answer = (_, response) => fail(response);
        void start(timed);
        await eventually(() => assert.ok(nowMs > 60_000));
        assert.deepEqual([reflector?.problem, asked > 0], [undefined, !listsOthers]);
        api.answer = answer;
        assert.equal(await reflector?.whenListed(), true);
        await reflector?.stop();
      }
    });

    it("does the same of one that it has listed before after two minutes, and first lists what it cannot watch", async () => {
      onWatch = (_, response) => void response.destroy();
      const { answer } = api;
      api.answer = (call, response) =>
        call.query.has("watch") ? refuse(response, 500, { message: "no watch" }) : answer(call, response);
      await start(timed);
      await eventually(() => assert.equal(told.filter((each) => each === "listed").length, 2));
      assert.ok(nowMs >= 120_000);
      assert.deepEqual([reflector?.isSynced, synced], [true, 1]);
      const before = nowMs;
      api.answer = (_, response) => refuse(response, 500, { message: "no list" });
      await eventually(() => assert.equal(reflector?.problem?.message, "no list"));
      assert.ok(nowMs >= before + 120_000);
      assert.equal(reflector?.isSynced, false);
    });
  });

  it("lists from the start if the API server is behind what was seen when it is there again: etcd was restored", async () => {
    const restored = { items: [item("a", "10")], resourceVersion: "20" };
    pages = [{ items: [item("a", "50")], resourceVersion: "50" }, restored, restored];
    await start();
    await watch();
    api.cut();
    // No watch from version 50: it would be silent.
    assert.equal((await watch(2)).call.query.get("resourceVersion"), "20");
    assert.deepStrictEqual(told.slice(3), ["listing again from the start", "set a@10", "listed"]);
  });

  it("lists from the start if an event comes of an older version than was seen: etcd was restored", async () => {
    pages = [
      { items: [item("a", "50")], resourceVersion: "50" },
      { items: [item("a", "10")], resourceVersion: "20" },
    ];
    await start();
    const { response } = await watch();
    sendEvent(response, "BOOKMARK", item("", "15"));
    await eventually(() => assert.ok(told.includes("listing again from the start"), "it has listed"));
    assert.equal((await watch(2)).call.query.get("resourceVersion"), "20");
    assert.equal(told.at(-1), "listed");
  });

  it("leaves out an object that its sink cannot take, says so, and takes in the others", async () => {
    const sink = {
      listing() {},
      listed: () => void told.push("listed"),
      remove() {},
      set: ({ metadata }: KubernetesObject) => {
        if (metadata.name === "bad") throw new Error("too deep");
        told.push(metadata.name);
      },
    };
    pages = [{ items: [item("bad", "1"), item("good", "2")], resourceVersion: "5" }];
    const onInterruption = (error: Error) => void interruptions.push(error);
    reflector = new Reflector({ client, resource: CONFIG_MAPS, sink, onInterruption });
    reflector.start();
    await reflector.whenListed();
    assert.deepStrictEqual(told, ["good", "listed"]);
    assert.equal(interruptions[0]?.message, "shop/bad was left out: too deep");
  });
});

/** Answers the first watch in another way, and all the rest as before. */
function replacingFirstWatch(
  rest: TestApiServer["answer"],
  first: (response: ServerResponse) => void,
): TestApiServer["answer"] {
  let replaced = false;
  return (call, response) => {
    if (replaced || !call.query.has("watch")) return rest(call, response);
    replaced = true;
    first(response);
  };
}
