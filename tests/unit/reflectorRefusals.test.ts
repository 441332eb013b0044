import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { Reflector } from "../../runtime/observe/reflector";
import { Store } from "../../runtime/observe/store";
import { eventually } from "../support/eventually";
import { CONFIG_MAPS } from "./support/objects";
import { item, ReflectorBench } from "./support/reflectorBench";
import { type ApiCall, json, refuse, sendEvent } from "./support/testApiServer";

describe("Reflector, when lists or watches fail", () => {
  let bench: ReflectorBench;
  beforeEach(async () => {
    bench = await ReflectorBench.begin();
  });
  afterEach(() => bench.end());

  const isWatch = ({ query }: ApiCall) => query.has("watch");

  it("does not become a busy loop where every watch ends at once", async () => {
    bench.onWatch = (_, response) => void response.end();
    await bench.start();
    await pause(700);
    assert.ok(bench.watches.length <= 6, `${bench.watches.length} watches`);
    assert.match(bench.interruptions[0]?.message ?? "", /ended as soon as it began/);
  });

  it("lists what cannot be watched, reports only what has changed, and watches it as soon as it may", async () => {
    bench.api.answer = (call, response) =>
      isWatch(call) ? refuse(response, 403) : bench.answer(call, response);
    bench.pages = ["1", "2", "3"].map((version) => ({
      items: [item("a", version)],
      resourceVersion: version,
    }));
    await bench.start({ pause: () => pause(5) });
    await eventually(() => assert.ok(bench.told.includes("set a@3"), "it lists again"));
    // All objects would be queued each time that it is in step again.
    assert.deepStrictEqual(
      [bench.synced, bench.reflector?.isSynced, bench.reflector?.problem],
      [1, true, undefined],
    );
    assert.ok(bench.interruptions.length >= 2, "no interruption is told");
    bench.api.answer = bench.answer;
    await bench.watch();
  });

  const caps: [string, number, (call: ApiCall) => boolean, (response: ServerResponse) => void][] = [
    ["lists what cannot be watched every 30 s in the end", 30_000, isWatch, (to) => refuse(to, 403)],
    ["lists what is always outdated every 30 s in the end", 30_000, isWatch, (to) => refuse(to, 410)],
    [
      "lists what is outdated after each event every 30 s in the end",
      30_000,
      isWatch,
      (to) => {
        sendEvent(to, "MODIFIED", item("a", "100"));
        sendEvent(to, "ERROR", { kind: "Status", code: 410, reason: "Expired" });
        to.end();
      },
    ],
    ["tries what may not be listed every 4 s in the end", 4_000, () => true, (to) => refuse(to, 403)],
  ];
  for (const [what, longestMs, isRefused, fail] of caps) {
    it(`${what}, give or take a half, and not before each wait is over`, async () => {
      bench.api.answer = (call, response) =>
        isRefused(call) ? fail(response) : bench.answer(call, response);
      const waits: number[] = [];
      let end = () => {};
      const pause = (ms: number) =>
        new Promise<void>((resolve) => {
          waits.push(ms);
          end = resolve;
        });
      await bench.start({ pause });
      let expectedMs = 200;
      for (let count = 1; count <= 14; count++) {
        await eventually(() => assert.equal(waits.length, count), { pollMs: 5 });
        const ms = waits.at(-1) ?? 0;
        assert.ok(ms >= expectedMs / 2 && ms <= expectedMs * 1.5, `wait ${count}: ${ms} ms`);
        assert.equal(bench.lists().length, count);
        end();
        expectedMs = Math.min(expectedMs * 2, longestMs);
      }
      assert.equal(expectedMs, longestMs);
      await eventually(() => assert.equal(waits.length, 15));
      // A wait is left that nothing but the test would end.
      const stopped = bench.reflector?.stopWatching();
      end();
      await stopped;
    });
  }

  it("tries soon again if a watch of which nothing came is cut after a while, as a proxy does that sees nothing pass", async () => {
    let nowMs = 0;
    const waits: number[] = [];
    bench.onWatch = (_, response) =>
      void setTimeout(() => {
        nowMs += 30_000;
        response.destroy();
      }, 30);
    await bench.start({ now: () => nowMs, pause: async (ms) => void waits.push(ms) });
    await eventually(() => assert.ok(waits.length >= 6));
    assert.deepEqual(
      waits.filter((ms) => ms > 300),
      [],
    );
  });

  it("waits for as long as an API server asks that is asked too much, and a little longer", async () => {
    const waits: number[] = [];
    bench.api.answer = (call, response) =>
      call.query.has("watch")
        ? json(response, { kind: "Status", message: "too many requests" }, 429, { "retry-after": "7" })
        : bench.answer(call, response);
    const untilStopped = (ms: number, signal: AbortSignal) => {
      waits.push(ms);
      return pause(60_000, undefined, { signal });
    };
    await bench.start({ pause: untilStopped });
    await eventually(() => assert.equal(waits.length, 1));
    const [ms = 0] = waits;
    assert.ok(ms > 7_000 && ms <= 7_300, `${ms} ms`);
  });

  it("tries until there is a list", async () => {
    bench.api.answer = (call, response) =>
      bench.api.calls.length === 1
        ? refuse(response, 500, { message: "not yet" })
        : bench.answer(call, response);
    await bench.start();
    assert.deepStrictEqual(bench.told, ["listing", "listed"]);
    assert.equal(bench.interruptions[0]?.message, "not yet");
  });

  it("says that a list may not be made, tries again, and says when it may", async () => {
    bench.api.answer = (_, response) => refuse(response, 403, { message: "not allowed" });
    const listed = bench.start();
    await eventually(() => assert.ok(bench.reflector?.problem !== undefined, "it is refused"));
    assert.equal(bench.reflector?.isSynced, false);
    assert.equal(bench.reflector?.problem?.message, "not allowed");
    await listed;
    assert.deepStrictEqual([bench.told, bench.synced], [[], 0]);
    bench.api.answer = bench.answer;
    assert.equal(await bench.reflector?.whenListed(), true);
    assert.deepStrictEqual([bench.told, bench.synced], [["listing", "listed"], 1]);
    assert.deepStrictEqual([bench.reflector?.isSynced, bench.reflector?.problem], [true, undefined]);
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

    it("says that it is the kind's own fault after ten seconds, if the API server lists others", async () => {
      const message = "conversion webhook failed";
      bench.api.answer = (_, response) => refuse(response, 500, { message });
      await bench.start(timed);
      assert.deepEqual([bench.reflector?.isSynced, bench.reflector?.problem?.message], [false, message]);
      assert.ok(nowMs >= 9_000 && bench.lists().length >= 3, `${nowMs} ms, ${bench.lists().length} lists`);
      bench.api.answer = bench.answer;
      assert.equal(await bench.reflector?.whenListed(), true);
      assert.deepEqual(
        [bench.reflector?.isSynced, bench.reflector?.problem, bench.synced],
        [true, undefined, 1],
      );
    });

    it("says the same if the connection of each list is cut, and finds out when the API server refuses the list", async () => {
      bench.api.answer = (_, response) => void response.destroy();
      const refused: Error[] = [];
      await bench.start({ ...timed, onRefused: (error) => void refused.push(error) });
      assert.match(bench.reflector?.problem?.message ?? "", /socket hang up/);
      assert.ok(nowMs >= 9_000, `${nowMs} ms`);
      bench.api.answer = (_, response) => refuse(response, 404, { message: "gone" });
      await eventually(() => assert.equal(refused.at(-1)?.message, "gone"));
      assert.equal(refused.length, 2);
      bench.api.answer = bench.answer;
      await eventually(() => assert.equal(bench.reflector?.isSynced, true));
      assert.equal(bench.reflector?.problem, undefined);
    });

    it("blames no kind while the API server lists no other, or is asked too much", async () => {
      for (const [fail, listsOthers] of [
        [(response: ServerResponse) => refuse(response, 500), false],
        [(response: ServerResponse) => void response.destroy(), false],
        [(response: ServerResponse) => refuse(response, 429), true],
      ] as const) {
        [nowMs, asked, answersOthers] = [0, 0, listsOthers];
        bench.api.answer = (_, response) => fail(response);
        void bench.start(timed);
        await eventually(() => assert.ok(nowMs > 60_000));
        assert.deepEqual([bench.reflector?.problem, asked > 0], [undefined, !listsOthers]);
        bench.api.answer = bench.answer;
        assert.equal(await bench.reflector?.whenListed(), true);
        await bench.reflector?.stopWatching();
      }
    });

    it("does the same of one that it has listed before after two minutes, and first lists what it cannot watch", async () => {
      bench.onWatch = (_, response) => void response.destroy();
      bench.api.answer = (call, response) =>
        call.query.has("watch")
          ? refuse(response, 500, { message: "no watch" })
          : bench.answer(call, response);
      await bench.start(timed);
      await eventually(() => assert.equal(bench.told.filter((each) => each === "listed").length, 2));
      assert.ok(nowMs >= 120_000);
      assert.deepEqual([bench.reflector?.isSynced, bench.synced], [true, 1]);
      const before = nowMs;
      bench.api.answer = (_, response) => refuse(response, 500, { message: "no list" });
      await eventually(() => assert.equal(bench.reflector?.problem?.message, "no list"));
      assert.ok(nowMs >= before + 120_000);
      assert.equal(bench.reflector?.isSynced, false);
    });
  });

  for (const isMetadataOnly of [false, true]) {
    const what = isMetadataOnly ? ", by its metadata alone" : "";
    it(`keeps a store in step with a kind that has no versions and cannot be watched, as PodMetrics${what}`, async () => {
      const { api, client } = bench;
      let usages: Record<string, string> = {};
      const metricsOf = (name: string) => ({ metadata: { name, namespace: "shop" }, usage: usages[name] });
      api.answer = ({ path, query }, response) => {
        const [, name] = /\/configmaps\/(.+)$/.exec(path) ?? [];
        if (query.has("watch")) return refuse(response, 405);
        if (name !== undefined) return json(response, metricsOf(name));
        return json(response, { metadata: {}, items: Object.keys(usages).map(metricsOf) });
      };
      const store = new Store<null>({ client, isMetadataOnly, factsOf: () => null, onChange: () => {} });
      const reflector = new Reflector({
        client,
        resource: CONFIG_MAPS,
        metadataOnly: isMetadataOnly,
        sink: store.sink(CONFIG_MAPS, undefined),
        pause: () => pause(20),
      });
      bench.reflector = reflector;
      reflector.startWatching();
      for (const now of [{ a: "1" }, { a: "2" }, { a: "2", b: "1" }, { b: "1" }, {}]) {
        usages = now;
        await eventually(async () => {
          const read = await Promise.all([...store.values()].map((stored) => store.read(stored)));
          const known = read.map((object) => [object?.metadata.name, object?.["usage"]]);
          assert.deepStrictEqual(Object.fromEntries(known), now);
        });
      }
      assert.ok(reflector.isSynced);
    });
  }
});
