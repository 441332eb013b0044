import assert from "node:assert/strict";
import type { Resource } from "../../runtime/base/resource";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { awaitKind, UnknownKindError } from "../../runtime/kubernetes/discovery";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { ChildWatches } from "../../runtime/observe/childWatches";
import { FollowedKind } from "../../runtime/observe/kindWatch";
import { eventually } from "../support/eventually";
import { operator, WIDGETS } from "./support/objects";
import { json, refuse, sendEvent, TestApiServer } from "./support/testApiServer";

const THING = { apiVersion: "example.com/v1", kind: "Thing" };
const THINGS: Resource = { ...THING, plural: "things", namespaced: true };
const OTHERS: Resource = { ...THINGS, plural: "others" };
const BROKEN = new ApiError(503, { message: "service unavailable" }, "GET");
const CUT = new ApiUnreachableError("GET", new Error("cut"));
const AWAY = new ApiUnreachableError("GET", new Error("refused"), false);

describe("FollowedKind", () => {
  let now: number;
  /** How the API server serves the kind, or why it does not say so. Undefined: it serves no such kind. */
  let served: Resource | Error | undefined;
  /** How often the API server was asked. */
  let asked: number;
  /** How often it was asked for a list of another kind, and whether it gives one. */
  let askedOthers: number;
  let answersOthers: boolean;
  let found: { readonly now: Resource; readonly before: Resource | undefined }[];
  let waits: Error[];
  let kind: FollowedKind;

  beforeEach(() => {
    [now, served, asked, found, waits] = [0, undefined, 0, [], []];
    [askedOthers, answersOthers] = [0, true];
    kind = follow(false);
  });
  afterEach(() => kind.stopWatching());

  function follow(retired: boolean): FollowedKind {
    const read = async () => {
      asked++;
      if (served instanceof Error) throw served;
      return { resources: served ? [{ ...served, name: served.plural }] : [] };
    };
    return new FollowedKind({
      client: { read } as unknown as KubernetesClient,
      declared: { ...THING, retired },
      onFound: (now, before) => {
        found.push({ now, before });
        return [];
      },
      onInterruption: () => {},
      onWait: (reason) => void waits.push(reason),
      now: () => now,
      answersOthers: async () => {
        askedOthers++;
        return answersOthers;
      },
    });
  }

  it("is looked for until the cluster serves it, while the start does not wait", async () => {
    assert.deepEqual(kind.notFound()?.problem, undefined);
    await kind.startWatching();
    assert.deepEqual(found, []);
    assert.ok(waits[0] instanceof UnknownKindError);
    assert.equal(kind.notFound()?.problem, waits[0]);
    served = THINGS;
    await eventually(() => assert.deepEqual(found, [{ now: THINGS, before: undefined }]));
    assert.equal(kind.notFound(), undefined);
  });

  for (const [what, failure] of [
    ["fails to say how it serves the kind", BROKEN],
    ["gives no answer about the kind", CUT],
  ] as const)
    it(`is at fault if the API server ${what} for ten seconds and answers others`, async () => {
      served = failure;
      kind.startWatching().catch(() => {});
      await eventually(() => assert.ok(asked >= 3));
      assert.ok(kind.notFound() && kind.notFound()?.problem === undefined);
      now = 10_000;
      await eventually(() => assert.equal(kind.notFound()?.problem, failure));
      assert.deepEqual(waits, [failure]);
    });

  it("is not at fault if the API server answers no others, or is not reached", async () => {
    [served, answersOthers] = [CUT, false];
    kind.startWatching().catch(() => {});
    await eventually(() => assert.ok(asked >= 2));
    now = 10_000;
    await eventually(() => assert.ok(askedOthers > 0));
    [served, answersOthers] = [AWAY, true];
    await eventually(() => assert.deepEqual(waits, [CUT, AWAY]));
    assert.ok(kind.notFound() && kind.notFound()?.problem === undefined);
  });

  it("has no objects if it is retired and the cluster does not serve it", async () => {
    kind = follow(true);
    assert.ok(kind.notFound());
    await kind.startWatching();
    assert.equal(kind.notFound(), undefined);
  });

  it("is looked for by one search if its path is gone, until the cluster serves it at another one", async () => {
    served = THINGS;
    await kind.startWatching();
    const [{ now: first } = { now: OTHERS }] = found;
    served = undefined;
    asked = 0;
    for (let report = 0; report < 3; report++) kind.lost(first);
    assert.equal(asked, 1);
    served = OTHERS;
    await eventually(() => assert.deepEqual(found.at(-1), { now: OTHERS, before: THINGS }));
    asked = 0;
    // The watch at the old path may end late.
    kind.lost(first);
    assert.equal(asked, 0);
  });

  it("is followed to a third path if a look finds the second one during a search, and the second one goes too", async () => {
    served = THINGS;
    await kind.startWatching();
    served = undefined;
    kind.lost(found[0]?.now ?? OTHERS);
    await eventually(() => assert.equal(asked, 2));
    served = OTHERS;
    await kind.resync();
    kind.lost(found[1]?.now ?? THINGS);
    const third = { ...THINGS, plural: "thirds" };
    served = third;
    await eventually(() => assert.deepEqual(found.at(-1), { now: third, before: OTHERS }));
  });

  it("is not followed after the stop, which ends a wait for it with an error", async () => {
    served = THINGS;
    const started = kind.startWatching();
    kind.stopWatching();
    await assert.rejects(started, /stopped/);
    const other = follow(false);
    served = BROKEN;
    const waiting = other.startWatching();
    await eventually(() => assert.deepEqual(waits, [BROKEN]));
    other.stopWatching();
    await assert.rejects(waiting);
    assert.deepEqual(found, []);
  });
});

describe("awaitKind", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let stopping: AbortController;
  let reasons: string[];
  beforeEach(async () => {
    api = await TestApiServer.start();
    [client, stopping, reasons] = [api.client(), new AbortController(), []];
  });
  afterEach(async () => {
    stopping.abort();
    await api.stop();
  });

  const widgets = { resources: [{ name: "widgets", kind: "Widget", namespaced: true }] };

  function find() {
    const onWait = ({ message }: Error) => void reasons.push(message);
    return awaitKind(client, "shop.example.com/v1", "Widget", { signal: stopping.signal, onWait });
  }

  it("gives a kind that exists, and tells nothing", async () => {
    api.answer = (_, response) => json(response, widgets);
    assert.equal((await find()).plural, "widgets");
    assert.deepEqual(reasons, []);
  });

  it("asks again until the kind has come, and tells each reason once", async () => {
    api.answer = (_, response) => {
      if (api.calls.length <= 2) return refuse(response, 404);
      if (api.calls.length === 3) return refuse(response, 500, { message: "a bad moment" });
      return json(response, widgets);
    };
    assert.equal((await find()).plural, "widgets");
    assert.equal(api.calls.length, 4);
    assert.equal(reasons.length, 2);
    assert.match(reasons[0] ?? "", /no kind Widget in shop\.example\.com\/v1/);
    assert.equal(reasons[1], "a bad moment");
  }).timeout(15_000);

  it("waits for an API server that is out of reach", async () => {
    api.answer = (_, response) =>
      api.calls.length === 1 ? void response.destroy() : json(response, widgets);
    assert.equal((await find()).plural, "widgets");
    assert.equal(reasons.length, 1);
  });

  it("ends on its signal", async () => {
    api.answer = (_, response) => refuse(response, 404);
    const found = find();
    await eventually(() => assert.ok(reasons.length === 1, "asked"));
    stopping.abort();
    await assert.rejects(found, { name: "AbortError" });
  });
});

const API_VERSION = "demo.example.com/v1";

describe("ChildWatches", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let watches: ChildWatches;
  /** The plurals of the kinds that the cluster serves. */
  let plurals: Record<string, string>;
  let isNamespaced: boolean;
  /** Whether nothing is at the paths of the kinds. */
  let isAway: boolean;

  beforeEach(async () => {
    plurals = { First: "firsts", Second: "seconds" };
    [isNamespaced, isAway] = [true, false];
    api = await TestApiServer.start((call, response) => {
      if (call.path === `/apis/${API_VERSION}`) {
        const kinds = Object.entries(plurals).map(([kind, name]) => ({
          name,
          kind,
          namespaced: isNamespaced,
        }));
        return json(response, { resources: kinds });
      }
      if (isAway || isNamespaced !== call.path.includes("/namespaces/")) return refuse(response, 404);
      const version = { metadata: { resourceVersion: "5" } };
      if (call.query.has("watch")) sendEvent(response, "BOOKMARK", version);
      else json(response, { ...version, items: [] });
    });
    client = api.client();
    watches = new ChildWatches({
      client,
      operator: operator({
        namespaces: ["shop", "office"],
        children: Object.entries(plurals).map(([kind, plural]) => ({
          apiVersion: API_VERSION,
          kind,
          plural,
          update: "apply",
        })),
      }),
      ownerKind: WIDGETS,
      answersOthers: async () => true,
      emit: () => {},
      onInterruption: () => {},
    });
    await watches.startWatching();
  });
  afterEach(async () => {
    await watches.stopWatching();
    await api.stop();
  });

  const known = () => watches.resources.map(({ plural }) => plural).sort();

  it("follows a kind to another path once, even if two looks that were held up find it there together", async () => {
    assert.deepEqual(known(), ["firsts", "seconds"]);
    plurals["First"] = "others";
    await Promise.all([watches.resync(), watches.resync()]);
    assert.deepEqual(known(), ["others", "seconds"]);
  });

  it("follows a kind that is no longer in its namespaces, and later is again, before the next full list", async () => {
    for (const now of [false, true]) {
      isNamespaced = now;
      api.cut();
      await eventually(() => {
        assert.deepEqual(
          watches.resources.map(({ namespaced }) => namespaced),
          [now, now],
        );
        assert.deepEqual(watches.notSynced(undefined), []);
      });
    }
  });

  it("follows a kind that was gone for a while before, and was at the same place then", async () => {
    isAway = true;
    api.cut();
    await eventually(() => assert.equal(watches.notSynced(undefined).length, 4));
    isAway = false;
    await eventually(() => assert.deepEqual(watches.notSynced(undefined), []));
    isNamespaced = false;
    api.cut();
    await eventually(() => assert.ok(watches.resources.every(({ namespaced }) => !namespaced)));
  });
});
