import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { type HttpListener, listen } from "../../runtime/base/http/listen";
import type { ObjectName } from "../../runtime/base/objects";
import type { Engine } from "../../runtime/engine/engine";
import type { HintResult } from "../../runtime/engine/metrics";
import {
  FORWARDED_HEADER,
  forwardHint,
  type Hint,
  HintError,
  type HintParts,
  PathSilence,
  parseHint,
  startHintServer,
  takeHint,
} from "../../runtime/programs/resident/hints";

const widgets = {
  customResource: {
    group: "shop.example.com",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
  },
  namespaces: "all",
} as const;
const zones = { ...widgets, customResource: { ...widgets.customResource, kind: "Zone", namespaced: false } };

describe("parseHint", () => {
  const parse = (hint: unknown, operator: Parameters<typeof parseHint>[1] = widgets) =>
    parseHint(JSON.stringify(hint), operator);

  it("gives the names, whatever else the hint has", () => {
    const hint = { namespace: "shop", name: "one.two-3", kind: "x" };
    assert.deepEqual(parse(hint), { namespace: "shop", name: "one.two-3" });
  });

  it("gives the object's uid, where it is one", () => {
    const hint = { namespace: "shop", name: "one" };
    const uid = randomUUID();
    assert.deepEqual(parse({ ...hint, uid }), { ...hint, uid });
    for (const other of ["", "x", uid.toUpperCase(), `${uid}0`, 7, {}, null])
      assert.deepEqual(parse({ ...hint, uid: other }), hint, JSON.stringify(other));
  });

  it("gives the version that the event is about, where it is one", () => {
    const hint = { namespace: "shop", name: "one" };
    assert.deepEqual(parse({ ...hint, resourceVersion: "4711" }), { ...hint, resourceVersion: "4711" });
    for (const resourceVersion of ["", "0", "-1", "1e3", 7, "9".repeat(21), null]) {
      assert.deepEqual(parse({ ...hint, resourceVersion }), hint, JSON.stringify(resourceVersion));
    }
  });

  it("gives no namespace where the kind has none", () => {
    for (const hint of [{ name: "north" }, { name: "north", namespace: "" }]) {
      assert.deepEqual(parse(hint, zones), { name: "north" });
    }
    assert.throws(() => parse({ name: "north", namespace: "shop" }, zones), HintError);
  });

  it("refuses a namespace that is not this operator's: it could not even read there", () => {
    const operator = { ...widgets, namespaces: ["shop"] };
    assert.deepEqual(parse({ namespace: "shop", name: "one" }, operator), { namespace: "shop", name: "one" });
    assert.throws(() => parse({ namespace: "other", name: "one" }, operator), HintError);
  });

  const wrong: readonly unknown[] = [
    null,
    [],
    { name: "one" },
    { namespace: "shop" },
    { namespace: "", name: "one" },
    { namespace: "shop", name: "" },
    { namespace: "shop", name: 1 },
    { namespace: ["shop"], name: "one" },
    { namespace: "shop", name: "One" },
    { namespace: "shop", name: "one/two" },
    { namespace: "shop", name: "a".repeat(254) },
    { namespace: "../shop", name: "one" },
  ];
  for (const hint of wrong) {
    it(`refuses ${JSON.stringify(hint).slice(0, 60)}`, () => assert.throws(() => parse(hint), HintError));
  }
});

describe("the hint server", () => {
  let server: HttpListener;
  let result: HintResult;
  let taken: { name: ObjectName; forwarded: boolean }[];
  let results: HintResult[];
  beforeEach(async () => {
    [result, taken, results] = ["queued", [], []];
    server = await startHintServer({
      host: "127.0.0.1",
      port: 0,
      operator: widgets,
      take: (name, forwarded) => {
        taken.push({ name, forwarded });
        return result;
      },
      onResult: (each) => results.push(each),
    });
  });
  afterEach(() => server.close());

  const one = { namespace: "shop", name: "one" };

  function post(body: string, init: RequestInit = {}, path = "/hints"): Promise<Response> {
    return fetch(`http://127.0.0.1:${server.port}${path}`, { method: "POST", body, ...init });
  }

  for (const good of ["queued", "known", "forwarded"] as const) {
    it(`answers 204 without a body to what is ${good}`, async () => {
      result = good;
      const response = await post(JSON.stringify(one));
      assert.equal(response.status, 204);
      assert.equal(await response.text(), "");
      assert.equal(response.headers.get("content-length"), null);
      assert.deepEqual(taken, [{ name: one, forwarded: false }]);
      assert.deepEqual(results, [good]);
    });
  }

  for (const bad of ["full", "leaderless"] as const) {
    it(`answers 503, so that the Sensor tries again, where it is ${bad}`, async () => {
      result = bad;
      assert.equal((await post(JSON.stringify(one))).status, 503);
      assert.deepEqual(results, [bad]);
    });
  }

  it("accepts what an event from outside wakes at a path of its own, and answers 410 if that does not exist", async () => {
    assert.equal((await post(JSON.stringify(one), {}, "/wake")).status, 204);
    result = "absent";
    assert.equal((await post(JSON.stringify(one), {}, "/wake")).status, 410);
    assert.equal((await post('{"name":"one"}', {}, "/wake")).status, 400);
    const woken = { name: { ...one, isWake: true }, forwarded: false };
    assert.deepEqual(
      [taken, results],
      [
        [woken, woken],
        ["queued", "absent", "invalid"],
      ],
    );
  });

  it("tells that another replica has passed the hint on", async () => {
    await post(JSON.stringify(one), { headers: { [FORWARDED_HEADER]: "other" } });
    assert.deepEqual(taken, [{ name: one, forwarded: true }]);
  });

  it("answers 400 to what is no hint, and says why", async () => {
    const response = await post('{"name":"one"}');
    assert.equal(response.status, 400);
    assert.match(await response.text(), /namespace/);
    assert.deepEqual([taken, results], [[], ["invalid"]]);
  });

  it("answers 404 elsewhere and 405 to other methods", async () => {
    assert.equal((await post(JSON.stringify(one), {}, "/")).status, 404);
    const response = await fetch(`http://127.0.0.1:${server.port}/hints`);
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
    assert.deepEqual(taken, []);
  });

  it("takes a body of 64 KiB, and answers 413 to a longer one", async () => {
    const ofBytes = (bytes: number) => JSON.stringify(one).padEnd(bytes);
    assert.equal((await post(ofBytes(64 * 1024))).status, 204);
    const response = await post(ofBytes(64 * 1024 + 1));
    assert.equal(response.status, 413);
    assert.deepEqual(results, ["queued", "invalid"]);
  });

  it("answers 413 without waiting for the end of a body that does not tell its length", async () => {
    const code = await new Promise((resolve, reject) => {
      const outgoing = request(
        { host: "127.0.0.1", port: server.port, path: "/hints", method: "POST", agent: false },
        (response) => resolve(response.resume().statusCode),
      );
      outgoing.on("error", reject);
      // It is never ended.
      outgoing.write(" ".repeat(64 * 1024 + 1));
    });
    assert.equal(code, 413);
    assert.deepEqual(results, ["invalid"]);
  });

  it("survives a sender that goes in the middle", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write("POST /hints HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{");
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.resetAndDestroy();
    assert.equal((await post(JSON.stringify(one))).status, 204);
    assert.deepEqual(results, ["queued"]);
  });

  it("ends although a client sends its hint slowly", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("POST /hints HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{");
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.close();
    assert.deepEqual(taken, []);
  });

  it("ends with kept-alive connections open, when what it works on is answered", async () => {
    await post(JSON.stringify(one), { keepalive: true });
    await server.close();
    await assert.rejects(post(JSON.stringify(one)));
  });
});

describe("a hint passed on", () => {
  const one = { namespace: "shop", name: "one" };
  let leader: HttpListener | undefined;
  afterEach(async () => {
    await leader?.close();
    leader = undefined;
  });

  const target = () => ({ host: "127.0.0.1", port: leader?.port ?? 1, from: "standby-0" });

  it("comes to the leader as it is, with who passed it on", async () => {
    const hint = { ...one, uid: randomUUID(), resourceVersion: "7" };
    const taken: unknown[] = [];
    leader = await startHintServer({
      host: "127.0.0.1",
      port: 0,
      operator: widgets,
      take: (name, forwarded) => {
        taken.push(name, forwarded);
        return "queued";
      },
      onResult: () => {},
    });
    assert.equal(await forwardHint(hint, target()), "forwarded");
    assert.deepEqual(taken.splice(0), [hint, true]);
    assert.equal(await forwardHint({ ...one, isWake: true }, target()), "forwarded");
    assert.deepEqual(taken, [{ ...one, isWake: true }, true]);
  });

  for (const [status, result] of [
    [503, "leaderless"],
    // The leader may have another definition than the standby, and one of them is about to go.
    [400, "leaderless"],
    [404, "leaderless"],
    [410, "absent"],
  ] as const) {
    it(`is ${result} where the leader answers ${status}`, async () => {
      leader = await listen(
        { host: "127.0.0.1", port: 0 },
        (_, response) => void response.writeHead(status).end(),
      );
      assert.equal(await forwardHint(one, target()), result);
    });
  }

  it("has failed where the leader does not listen", async () => {
    assert.equal(await forwardHint(one, target()), "leaderless");
  });

  it("has failed where the leader says nothing", async () => {
    const silent = await listen({ host: "127.0.0.1", port: 0 }, () => {});
    assert.equal(
      await forwardHint(one, { host: "127.0.0.1", port: silent.port, from: "standby-0" }),
      "leaderless",
    );
    await silent.close();
  });
});

describe("takeHint", () => {
  const one = { namespace: "shop", name: "one" };
  const hinted: ObjectName[] = [];
  const forwarded: string[] = [];
  const woken: ObjectName[] = [];
  /** The versions of the hints that came. */
  const compared: unknown[] = [];
  beforeEach(() => {
    hinted.length = 0;
    forwarded.length = 0;
    woken.length = 0;
    compared.length = 0;
  });

  function desk(state: {
    leading?: boolean;
    leader?: string;
    known?: boolean;
    full?: boolean;
    absent?: boolean;
    refused?: boolean;
  }) {
    const parts: HintParts = {
      engine: {
        isLeading: state.leading ?? false,
        leader: state.leader,
        hint: (name) => {
          hinted.push(name);
          return !state.full;
        },
        wake: (name) => {
          woken.push(name);
          return state.absent ? "absent" : "queued";
        },
        knows: (_, resourceVersion) => resourceVersion !== undefined && (state.known ?? false),
      } as Engine,
      silence: { hinted: (version) => void compared.push(version) } as PathSilence,
      forward: async (_, address) => {
        forwarded.push(address);
        return state.refused ? "leaderless" : state.absent ? "absent" : "forwarded";
      },
    };
    return { take: (hint: Hint, isForwarded: boolean) => takeHint(parts, hint, isForwarded) };
  }

  it("of the leader takes a hint, also one of a version that the watch has not told of", async () => {
    const ahead = { ...one, resourceVersion: "7" };
    assert.equal(await desk({ leading: true }).take(one, false), "queued");
    assert.equal(await desk({ leading: true }).take(one, true), "queued");
    assert.equal(await desk({ leading: true }).take(ahead, false), "queued");
    assert.deepEqual(hinted, [one, one, ahead]);
  });

  it("of the leader does nothing more for a version that the watch has told of, however late its hint", async () => {
    const late = { ...one, resourceVersion: "7" };
    assert.equal(await desk({ leading: true, known: true }).take(late, false), "known");
    assert.deepEqual([hinted, compared], [[], ["7"]]);
    assert.equal(await desk({ leading: true, known: true }).take(one, false), "queued");
  });

  it("of the leader says that too many wait", async () => {
    assert.equal(await desk({ leading: true, full: true }).take(one, false), "full");
  });

  it("of a standby passes a hint on to the address in the lease, and says what became of it", async () => {
    assert.equal(await desk({ leader: "pod-a_10.0.0.7_u" }).take(one, false), "forwarded");
    assert.equal(await desk({ leader: "pod-a_10.0.0.7_u", refused: true }).take(one, false), "leaderless");
    assert.deepEqual(forwarded, ["10.0.0.7", "10.0.0.7"]);
    assert.deepEqual(hinted, []);
  });

  it("wakes what an event from outside names, whatever the watch has told, and says if that does not exist", async () => {
    const event = { ...one, isWake: true };
    assert.equal(await desk({ leading: true, known: true }).take(event, false), "queued");
    assert.equal(await desk({ leading: true, absent: true }).take(event, true), "absent");
    assert.equal(await desk({ leader: "pod-a_10.0.0.7_u", absent: true }).take(event, false), "absent");
    // Events from outside say nothing about whether hints come.
    assert.deepEqual([hinted, woken, forwarded, compared], [[], [event, event], ["10.0.0.7"], []]);
  });

  it("of a standby never passes on what was passed on", async () => {
    assert.equal(await desk({ leader: "pod-a_10.0.0.7_u" }).take(one, true), "leaderless");
    assert.deepEqual(forwarded, []);
  });

  it("of a standby knows no leader where none holds the lease, or one without an address", async () => {
    assert.equal(await desk({}).take(one, false), "leaderless");
    assert.equal(await desk({ leader: "laptop-1a2b" }).take(one, false), "leaderless");
    assert.deepEqual(forwarded, []);
  });
});

describe("PathSilence", () => {
  let now: number;
  let path: PathSilence;
  beforeEach(() => {
    now = 1_000;
    path = new PathSilence(() => now);
  });

  /** A change that the watch reports, this many seconds after the one before. */
  function changed(version: number, afterSeconds = 0): number {
    now += afterSeconds * 1_000;
    path.changed(String(version));
    return path.seconds;
  }

  it("is as long as changes have come without a hint, and grows with each change", () => {
    assert.deepEqual([changed(7), changed(8, 40), changed(9, 50)], [0, 40, 90]);
  });

  it("ends with a hint of any object, which need not name a version", () => {
    for (const version of ["9", undefined]) {
      changed(10);
      assert.equal(changed(11, 40), 40);
      path.hinted(version);
      assert.equal(path.seconds, 0);
    }
    assert.equal(changed(12, 60), 0);
  });

  it("does not begin with a change that its hint has told before the watch", () => {
    for (const version of [7, 8, 9]) {
      path.hinted(String(version));
      assert.equal(changed(version, 60), 0);
    }
    assert.equal(changed(100, 60), 0);
  });

  it("is none while hints come, however late", () => {
    for (let at = 0; at < 100; at++) {
      changed(100 + at, 60);
      path.hinted(String(50 + at));
      assert.equal(path.seconds, 0);
    }
  });

  it("does not grow while nothing changes, as if a single event was lost", () => {
    changed(7);
    now += 3_600_000;
    assert.equal(path.seconds, 0);
  });
});
