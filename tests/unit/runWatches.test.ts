import assert from "node:assert/strict";
import type { KubernetesObject, ObjectMeta } from "../../runtime/base/objects";
import { kindKey, type Resource } from "../../runtime/base/resource";
import type { HandlerEvent } from "../../runtime/handler/contract";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { UnknownKindError } from "../../runtime/kubernetes/discovery";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { Selection } from "../../runtime/kubernetes/list";
import { ownedManifest } from "../../runtime/observe/marks";
import type { RememberedPlaces } from "../../runtime/observe/ownership";
import type { Operator } from "../../runtime/operator/definition";
import { RunWatches } from "../../runtime/programs/run/runWatches";
import { ServedKinds } from "../../runtime/programs/run/servedKinds";
import { FakeCluster } from "./support/fakeCluster";
import { applied, CONFIG_MAPS, configMap, MANAGER, operator, WIDGETS, widget } from "./support/objects";

const GAUGES: Resource = {
  apiVersion: "gauges.example.com/v1",
  kind: "Gauge",
  plural: "gauges",
  namespaced: true,
};
const FORBIDDEN = new ApiError(403, { kind: "Status", message: "no right" }, "GET");
const BROKEN = new ApiError(500, { kind: "Status", message: "conversion webhook failed" }, "GET");

function childOf(resource: Resource, uid: string): KubernetesObject {
  const { apiVersion, kind } = resource;
  const owned = ownedManifest({ ...configMap(), apiVersion, kind }, widget(), resource, MANAGER);
  return applied(owned, MANAGER, { uid });
}

function watching(client: KubernetesClient, childResources: readonly Resource[], definition = operator()) {
  const name = { namespace: "shop", name: "widget" };
  return new RunWatches({
    operator: definition,
    client,
    resource: WIDGETS,
    name,
    namespace: "argosy",
    childResources,
  });
}

describe("what a run learns of an object's children, if all kinds can be listed", () => {
  /** @returns the uids of the children that are known */
  async function learnOf(
    generation: number,
    observedGeneration: number,
    kinds: readonly string[] = [],
    ageSeconds = 10,
  ): Promise<string[]> {
    const creationTimestamp = "2026-01-01T12:00:00Z";
    const client = {
      now: () => Date.parse(creationTimestamp) + ageSeconds * 1000,
      list: async (resource: Resource, _: object, onPage: (items: KubernetesObject[]) => void) => {
        onPage([childOf(resource, "settings")]);
        return "5";
      },
    } as unknown as KubernetesClient;
    const watches = watching(client, [CONFIG_MAPS]);
    const object = widget({ generation, creationTimestamp }, { status: { observedGeneration } });
    await watches.learnChildren(object, { kinds }, false, false);
    return watches.children.of("widget-uid").map(({ uid }) => uid);
  }

  it("is nothing if the object is new", async () => {
    assert.deepEqual(await learnOf(1, 0), []);
  });

  it("are all children if a run has reported before: a client may have emptied what was remembered", async () => {
    assert.deepEqual(await learnOf(3, 2), ["settings"]);
    assert.deepEqual(await learnOf(1, 1), ["settings"]);
  });

  it("are all children if a client may have emptied the whole status: something is remembered, or the object is not young", async () => {
    assert.deepEqual(await learnOf(1, 0, ["v1/ConfigMap"]), ["settings"]);
    assert.deepEqual(await learnOf(1, 0, [], 61), ["settings"]);
  });
});

/** What is special about the object. */
interface Circumstances {
  readonly operator?: Operator;
  readonly memory?: RememberedPlaces;
  readonly isElsewhere?: boolean;
  readonly metadata?: Partial<ObjectMeta>;
  /** The only namespace in which the kind cannot be listed. */
  readonly where?: string;
}

describe("what a run learns of an object's children, if one kind cannot be listed", () => {
  /** Learns the children of an object whose newest generation a run has handled before. @returns the uids of those that are known */
  async function learn(
    problem: Error,
    kinds: readonly string[] = [],
    known: KubernetesObject[] = [],
    {
      metadata = {},
      where,
      memory = { kinds },
      isElsewhere = false,
      operator: definition,
    }: Circumstances = {},
  ) {
    const client = {
      list: async (
        { kind }: Resource,
        { namespace }: Selection,
        onPage: (items: KubernetesObject[]) => void,
      ) => {
        const isRefused = kind === "Gauge" && (where === undefined || namespace === where);
        if (isRefused) throw problem;
        if (kind === "Gauge") return "5";
        onPage([childOf(CONFIG_MAPS, "settings")]);
        return "5";
      },
    } as unknown as KubernetesClient;
    const watches = watching(client, [GAUGES, CONFIG_MAPS], definition);
    watches.children.learn(GAUGES, known);
    const object = widget(metadata, { status: { observedGeneration: 3 } });
    await watches.learnChildren(object, memory, isElsewhere, false);
    return watches.children.of("widget-uid").map(({ uid }) => uid);
  }

  for (const problem of [FORBIDDEN, BROKEN, new ApiError(404, {}, "GET")]) {
    it(`are those of the other kinds: ${problem.code}`, async () => {
      assert.deepEqual(await learn(problem), ["settings"]);
    });
  }

  it("are also those of that kind which the run itself has applied", async () => {
    assert.deepEqual((await learn(FORBIDDEN, [], [childOf(GAUGES, "gauge")])).sort(), ["gauge", "settings"]);
  });

  it("are not known if the object has had children of that kind", async () => {
    const kinds = ["gauges.example.com/v1/Gauge"];
    await assert.rejects(learn(FORBIDDEN, kinds), FORBIDDEN);
    await assert.rejects(learn(new ApiError(404, {}, "GET"), kinds), UnknownKindError);
  });

  it("are those of the other kinds if it may not be listed in a namespace in which the object has had none", async () => {
    const kinds = ["gauges.example.com/v1/Gauge"];
    const elsewhere = { isElsewhere: true, operator: operator({ namespaces: ["shop", "gone", "far"] }) };
    const learnIn = (namespaces: readonly string[]) =>
      learn(FORBIDDEN, kinds, [], { ...elsewhere, memory: { kinds, namespaces }, where: "gone" });
    assert.deepEqual(await learnIn(["far"]), ["settings"]);
    await assert.rejects(learnIn(["far", "gone"]), FORBIDDEN);
    await assert.rejects(learnIn([]), FORBIDDEN);
  });

  it("are those of the other kinds if the object is being deleted, although it has had children of that kind", async () => {
    const [kinds, metadata] = [
      ["gauges.example.com/v1/Gauge"],
      { deletionTimestamp: "2026-11-21T10:00:00Z" },
    ];
    assert.deepEqual(await learn(FORBIDDEN, kinds, [], { metadata }), ["settings"]);
    await assert.rejects(learn(BROKEN, kinds, [], { metadata }), BROKEN);
  });

  it("are not known while the API server is busy or away", async () => {
    for (const problem of [
      new ApiError(429, { kind: "Status" }, "GET"),
      new ApiUnreachableError("GET", new Error("refused")),
    ])
      await assert.rejects(learn(problem), problem);
  });
});

describe("the object of a run", () => {
  let cluster: FakeCluster;
  let watches: RunWatches;
  beforeEach(() => {
    cluster = new FakeCluster();
    watches = watching(cluster.client(), []);
  });

  it("is known from answers until it is forgotten, and is then listed again", async () => {
    cluster.put(widget());
    await watches.read();
    cluster.remove("Widget", { namespace: "shop", name: "widget" });
    assert.ok(await watches.read());
    watches.forget();
    assert.equal(await watches.read(), undefined);
  });

  it("ends a wait if no child is unready, if the object changes, and if the signal aborts", async () => {
    const object = cluster.put(widget());
    await watches.read();
    const begin = performance.now();
    assert.equal(await watches.awaitNews(60_000, 0, AbortSignal.timeout(50)), true);
    assert.equal(await watches.awaitNews(60_000, undefined, AbortSignal.timeout(50)), false);
    const waiting = watches.awaitNews(60_000, undefined, undefined);
    watches.objects.learn(cluster.change(object, { generation: 4 }));
    assert.equal(await waiting, true);
    assert.ok(performance.now() - begin < 30_000);
  });
});

const AWAY = { apiVersion: "away.example.com/v1", kind: "Away", plural: "aways", namespaced: true };
const UNAVAILABLE = new ApiError(503, { message: "service unavailable" }, "GET");

describe("the kinds that the API server serves, at the beginning of a run", () => {
  /** @param refusals how often the server of the kind is away, or answers otherwise */
  async function asked(refusals: number, answer = UNAVAILABLE, retired = false): Promise<ServedKinds> {
    let left = refusals;
    const read = async () => {
      if (left-- > 0) throw answer;
      return { resources: [{ name: AWAY.plural, kind: AWAY.kind, namespaced: true }] };
    };
    const client = { read } as unknown as KubernetesClient;
    return ServedKinds.of(operator({ children: [{ ...AWAY, update: "apply", retired }] }), client);
  }

  it("are known although the server of one is away for a moment", async () => {
    assert.deepEqual((await asked(2)).all, [AWAY]);
  });

  it("are unknown, each for itself, if the server of one is away for longer", async function () {
    this.timeout(10_000);
    const kinds = await asked(Number.POSITIVE_INFINITY);
    assert.deepEqual(kinds.found, []);
    assert.equal(kinds.whyUnknown([kindKey(AWAY)])?.reason, "KindNotListed");
    assert.equal(kinds.whyUnknown(["v1/ConfigMap"]), undefined);
  });

  it("hold up an object that has children of one that is missing, as with a resident runner: no handler is asked without them", async () => {
    const missing = new ApiError(404, { message: "page not found" }, "GET");
    const kinds = await asked(1, missing);
    const why = (event: HandlerEvent, kind: string) => kinds.whyNot(event, [kind])?.reason;
    assert.equal(why("reconcile", kindKey(AWAY)), "KindMissing");
    assert.deepEqual(
      [why("finalize", kindKey(AWAY)), why("reconcile", "v1/ConfigMap"), kinds.whyUnknown([kindKey(AWAY)])],
      [undefined, undefined, undefined],
    );
    assert.equal((await asked(1, missing, true)).whyNot("reconcile", [kindKey(AWAY)]), undefined);
    const away = await asked(Number.POSITIVE_INFINITY);
    assert.equal(away.whyNot("finalize", [kindKey(AWAY)])?.reason, "KindNotListed");
  }).timeout(10_000);
});
