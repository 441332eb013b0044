import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { within } from "../../runtime/base/clock";
import { ApiError } from "../../runtime/kubernetes/errors";
import { eventually } from "../support/eventually";
import { item, ReflectorBench, replacingFirstWatch } from "./support/reflectorBench";
import { refuse, sendEvent } from "./support/testApiServer";

describe("Reflector, when it must list again", () => {
  let bench: ReflectorBench;
  beforeEach(async () => {
    bench = await ReflectorBench.begin();
  });
  afterEach(() => bench.end());

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
    bench.pages = [
      { items: [item("a", "70")], resourceVersion: "70" },
      { items: [item("a", "7")], resourceVersion: "9" },
    ];
    const refused = (response: ServerResponse) => refuse(response, 504, { reason: "Timeout" });
    bench.api.answer = replacingFirstWatch(bench.api.answer, refused);
    await bench.start();
    assert.equal((await bench.watch(1)).call.query.get("resourceVersion"), "9");
  });

  it("lists again after a restore of etcd even if a list fails and the server passes our version before the next", async () => {
    bench.pages = [
      { items: [item("a", "70")], resourceVersion: "70" },
      // The second one and the fourth ask for the version alone, if there is a fourth.
      { items: [], resourceVersion: "9" },
      { items: [item("a", "7")], resourceVersion: "71" },
    ];
    let lists = 0;
    const failing: typeof bench.answer = (call, response) =>
      !call.query.has("watch") && ++lists === 3 ? refuse(response, 500) : bench.answer(call, response);
    bench.api.answer = replacingFirstWatch(failing, (response) => refuse(response, 503));
    await bench.start();
    assert.equal((await bench.watch(1)).call.query.get("resourceVersion"), "71");
    assert.deepStrictEqual(bench.told.slice(3), ["listing", "set a@7", "listed"]);
  });

  it("does not list again because a gateway answers in the place of a server that is busy", async () => {
    bench.pages = [{ items: [item("a", "70")], resourceVersion: "70" }];
    const refused = (response: ServerResponse) =>
      void response.writeHead(504).end("upstream request timeout");
    bench.api.answer = replacingFirstWatch(bench.api.answer, refused);
    await bench.start();
    assert.equal((await bench.watch(1)).call.query.get("resourceVersion"), "70");
    // The second one asks for the version alone, and so for one object.
    assert.deepEqual(
      bench.lists().map(({ query }) => query.get("limit") === "1"),
      [false, true],
    );
  });

  for (const [where, answer] of forgotten) {
    it(`lists again when the server has forgotten the version: 410 as ${where}`, async () => {
      bench.pages = [
        { items: [item("a", "1"), item("b", "2")], resourceVersion: "2" },
        { items: [item("b", "7")], resourceVersion: "9" },
      ];
      bench.api.answer = replacingFirstWatch(bench.api.answer, answer);
      await bench.start();
      const next = await bench.watch(1);
      assert.equal(next.call.query.get("resourceVersion"), "9");
      // What was listed before and is not listed now is gone: that is what "listing" and "listed" tell the sink.
      assert.deepStrictEqual(bench.told, [
        "listing",
        "set a@1",
        "set b@2",
        "listed",
        "listing",
        "set b@7",
        "listed",
      ]);
      const [error] = bench.interruptions;
      assert.ok(error instanceof ApiError);
      assert.deepStrictEqual([error.code, error.reason], [410, "Expired"]);
    });
  }

  it("begins a list again whose next page has expired", async () => {
    bench.pages = [{ items: [item("a", "1")], resourceVersion: "5", more: "expired" }];
    bench.api.answer = (call, response) =>
      call.query.get("continue") === "expired" ? refuse(response, 410) : bench.answer(call, response);
    await bench.start();
    assert.deepStrictEqual(bench.told, ["listing", "set a@1", "listing", "listed"]);
  });

  it("lists from the start if etcd was restored between two pages, also in the first list", async () => {
    const restored = { items: [item("a", "10")], resourceVersion: "20" };
    bench.pages = [{ items: [item("a", "50")], resourceVersion: "50", more: "second" }, restored];
    bench.api.answer = (call, response) =>
      call.query.get("continue") === "second" ? refuse(response, 500) : bench.answer(call, response);
    await bench.start();
    assert.deepStrictEqual(bench.told, [
      "listing",
      "set a@50",
      "listing again from the start",
      "set a@10",
      "listed",
    ]);
  });

  it("lists again when it is asked to, and goes on watching from there", async () => {
    bench.pages = [
      { items: [item("a", "1")], resourceVersion: "5" },
      { items: [item("a", "7")], resourceVersion: "8" },
    ];
    await bench.start();
    await bench.watch();
    await bench.reflector?.relist();
    assert.deepStrictEqual([bench.told.slice(3), bench.synced], [["listing", "set a@7", "listed"], 1]);
    assert.equal((await bench.watch(2)).call.query.get("resourceVersion"), "8");
    assert.deepStrictEqual(bench.interruptions, []);
  });

  const failing: [string, () => void][] = [
    ["its first page", () => {}],
    [
      "a later page",
      () => bench.pages.push({ items: [item("a", "8")], resourceVersion: "9", more: "second" }),
    ],
  ];
  for (const [which, prepare] of failing)
    it(`goes on watching where it was if a list fails that it was asked for: ${which}`, async () => {
      bench.pages = [{ items: [item("a", "1")], resourceVersion: "5" }];
      await bench.start();
      sendEvent((await bench.watch()).response, "MODIFIED", item("a", "6"));
      await eventually(() => assert.equal(bench.told.at(-1), "set a@6"));
      prepare();
      bench.api.answer = (call, response) =>
        call.query.has("watch") || bench.pages.length > 0
          ? bench.answer(call, response)
          : refuse(response, 500);
      const relisted = bench.reflector?.relist();
      assert.equal(bench.reflector?.isFollowing, false);
      assert.equal(await relisted, false);
      const { call, response } = await bench.watch(2);
      assert.equal(call.query.get("resourceVersion"), "6");
      assert.equal(bench.reflector?.isFollowing, true);
      // The list may have shown a later version.
      sendEvent(response, "MODIFIED", item("a", "7"));
      await eventually(() => assert.equal(bench.told.at(-1), "set a@7"));
      assert.equal(bench.interruptions.length, 1);
    });

  it("lists until a list succeeds if a list fails that it was asked for, and no watch can be opened either", async () => {
    bench.pages = [{ items: [item("a", "1")], resourceVersion: "5" }];
    await bench.start();
    await bench.watch();
    assert.equal(bench.reflector?.isFollowing, true);
    bench.api.answer = (_, response) => refuse(response, 500);
    const relisted = bench.reflector?.relist();
    await eventually(() => assert.ok(bench.interruptions.length >= 4, "it tries again"));
    assert.equal(bench.reflector?.isFollowing, false);
    bench.pages = [{ items: [item("a", "7")], resourceVersion: "8" }];
    bench.api.answer = bench.answer;
    assert.equal(await relisted, true);
    assert.equal(bench.reflector?.isFollowing, true);
    assert.equal((await bench.watch(2)).call.query.get("resourceVersion"), "8");
  });

  it("lists until a list succeeds if a list fails that has shown that etcd was restored", async () => {
    bench.pages = [{ items: [item("a", "50")], resourceVersion: "50" }];
    await bench.start();
    await bench.watch();
    bench.pages = [{ items: [item("a", "10")], resourceVersion: "20", more: "second" }];
    let isRefused = false;
    bench.api.answer = (call, response) => {
      if (isRefused || !call.query.has("continue")) return bench.answer(call, response);
      isRefused = true;
      bench.pages = [{ items: [item("a", "10")], resourceVersion: "20" }];
      refuse(response, 500);
    };
    assert.equal(await bench.reflector?.relist(), true);
    assert.equal((await bench.watch(2)).call.query.get("resourceVersion"), "20");
  });

  it("lists once more when it is asked to in the middle of a list: that list may be older than the question", async () => {
    bench.pages = [
      { items: [], resourceVersion: "5" },
      { items: [item("a", "7")], resourceVersion: "8" },
    ];
    const held: (() => void)[] = [];
    bench.api.answer = (call, response) =>
      call.query.has("watch")
        ? bench.answer(call, response)
        : new Promise((resolve) => held.push(() => resolve(bench.answer(call, response))));
    const started = bench.start();
    await eventually(() => assert.ok(held.length === 1, "the first list is asked for"));
    const relisted = bench.reflector?.relist().then(() => bench.told.push("listed again"));
    held[0]?.();
    await eventually(() => assert.ok(held.length === 2, "a second list is asked for"));
    held[1]?.();
    await Promise.all([started, relisted]);
    assert.deepStrictEqual(bench.told, ["listing", "listed", "listing", "set a@7", "listed", "listed again"]);
    assert.equal((await bench.watch()).call.query.get("resourceVersion"), "8");
  });

  it("lists again at once when it is asked to while it waits before another try", async () => {
    bench.pages = [
      { items: [item("a", "1")], resourceVersion: "5" },
      { items: [item("a", "7")], resourceVersion: "8" },
    ];
    bench.api.answer = replacingFirstWatch(bench.api.answer, (response) => refuse(response, 503));
    const untilEnded = (_: number, signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    await bench.start({ pause: untilEnded });
    await eventually(() => assert.equal(bench.interruptions.length, 1));
    assert.equal(await within(2_000, bench.reflector?.relist() ?? Promise.resolve(false)), true);
    assert.deepStrictEqual(bench.told.slice(3), ["listing", "set a@7", "listed"]);
  });

  it("lists from the start if the API server is behind what was seen when it answers again: etcd was restored", async () => {
    const restored = { items: [item("a", "10")], resourceVersion: "20" };
    bench.pages = [{ items: [item("a", "50")], resourceVersion: "50" }, restored, restored];
    await bench.start();
    await bench.watch();
    bench.api.cut();
    // No watch from version 50: it would be silent.
    assert.equal((await bench.watch(2)).call.query.get("resourceVersion"), "20");
    assert.deepStrictEqual(bench.told.slice(3), ["listing again from the start", "set a@10", "listed"]);
  });

  it("lists from the start if an event comes of an older version than was seen: etcd was restored", async () => {
    bench.pages = [
      { items: [item("a", "50")], resourceVersion: "50" },
      { items: [item("a", "10")], resourceVersion: "20" },
    ];
    await bench.start();
    const { response } = await bench.watch();
    sendEvent(response, "BOOKMARK", item("", "15"));
    await eventually(() => assert.ok(bench.told.includes("listing again from the start"), "it has listed"));
    assert.equal((await bench.watch(2)).call.query.get("resourceVersion"), "20");
    assert.equal(bench.told.at(-1), "listed");
  });
});
