import assert from "node:assert/strict";
import { referencesOf } from "../../runtime/definition/references";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject, ObjectMeta, ObjectName } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { ListedUse } from "../../runtime/pod/resync/listedUse";
import { Patience } from "../../runtime/pod/withoutWatches/patience";
import { observed, operator, widget } from "./support/objects";

const LABELS = { "argosy.dev/used-by": "argosy.shop" };
const SECRET = { apiVersion: "v1", kind: "Secret", plural: "secrets" };
const OPERATOR = operator({
  uses: {
    config: { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", labels: { team: "metadata.name" } },
    credentials: { ...SECRET, name: "spec.secret" },
  },
});

describe("ListedUse", () => {
  let server: KubernetesObject[];
  const client = {
    list: async ({ kind }: Resource, _: unknown, onPage: (items: KubernetesObject[]) => void) =>
      onPage(server.filter((object) => object.kind === kind)),
    get: async ({ kind }: Resource, { name }: ObjectName) =>
      server.find((object) => object.kind === kind && object.metadata.name === name),
  } as unknown as KubernetesClient;
  const fail = (what: string) => assert.fail(what);
  const listed = () => ListedUse.of({ operator: OPERATOR, client, onError: fail });

  function put(kind: string, metadata: Partial<ObjectMeta>, content: object = {}): void {
    const { namespace = "shop" } = metadata;
    server.push(observed(kind, content, { ...metadata, namespace }));
  }

  beforeEach(() => {
    server = [];
    const managedFields = [{ manager: "kubectl" }];
    put("ConfigMap", {
      name: "c",
      labels: { team: "widget", other: "1" },
      annotations: { a: "1" },
      managedFields,
    });
    put("Secret", { name: "s", labels: LABELS }, { type: "x".repeat(100), data: { key: "dmFsdWU=" } });
    put("Secret", { name: "not-given" }, { data: { key: "dmFsdWU=" } });
  });

  it("keeps no more of an object than tells it from others, and from other versions of it", async () => {
    const used = await listed();
    const found: KubernetesObject[] = [];
    await used.list("config", { namespace: "shop", labels: { team: ["widget"] } }, (object) =>
      found.push(object),
    );
    const [kept] = found;
    const { uid, resourceVersion } = server[0]?.metadata ?? {};
    assert.deepEqual(kept, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "shop", name: "c", uid, resourceVersion, labels: { team: "widget" } },
    });
    const secret = await used.get("credentials", { namespace: "shop", name: "s" });
    assert.deepEqual(Object.keys(secret ?? {}).sort(), ["apiVersion", "kind", "metadata"]);
    assert.equal(await used.get("credentials", { namespace: "shop", name: "not-given" }), undefined);
  });

  it("gives a fingerprint that differs if what is used was written to, came or went", async () => {
    const user = widget({}, { spec: { secret: "s" } });
    const now = async () => (await listed()).fingerprintOf(user.metadata, referencesOf(OPERATOR.uses, user));
    const seen = [await now()];
    assert.equal(await now(), seen[0]);
    const change = async (what: () => void) => {
      what();
      seen.push(await now());
    };
    await change(() => put("ConfigMap", { name: "d", uid: "d", labels: { team: "widget" } }));
    await change(() => Object.assign(server[1]?.metadata ?? {}, { resourceVersion: "99" }));
    await change(() => Object.assign(server[1]?.metadata ?? {}, { labels: {} }));
    assert.equal(new Set(seen).size, 4, String(seen));
    put("ConfigMap", { name: "e", uid: "e", labels: { team: "other" } });
    assert.equal(await now(), seen[3]);
  });

  it("knows what is used in all namespaces but one that it may not read", async () => {
    const uses = {
      config: { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", name: "metadata.name" },
    };
    const given = operator({ uses, namespaces: ["gone", "shop"] });
    const told: string[] = [];
    const limited = {
      ...client,
      list: async (...args: Parameters<typeof client.list>) => {
        if (args[1].namespace === "gone") throw new ApiError(403, { reason: "Forbidden" }, "GET");
        return client.list(...args);
      },
    } as unknown as KubernetesClient;
    const used = await ListedUse.of({
      operator: given,
      client: limited,
      onError: (what) => void told.push(what),
    });
    const fingerprintIn = async (namespace: string) => {
      const user = widget({ namespace });
      return used.fingerprintOf(user.metadata, referencesOf(given.uses, user));
    };
    assert.notEqual(await fingerprintIn("shop"), undefined);
    assert.equal(await fingerprintIn("gone"), undefined);
    assert.deepEqual(told, ["what uses.config names in namespace gone"]);
  });

  it("knows what is used although the API server is busy for a moment", async () => {
    let refusals = 1;
    const busy = {
      ...client,
      list: async (...args: Parameters<typeof client.list>) => {
        if (refusals-- > 0) throw new ApiError(504, { message: "the API server is starting" }, "GET");
        return client.list(...args);
      },
    } as unknown as KubernetesClient;
    const used = await ListedUse.of({ operator: OPERATOR, client: busy, onError: fail });
    const user = widget({}, { spec: { secret: "s" } });
    const now = await used.fingerprintOf(user.metadata, referencesOf(OPERATOR.uses, user));
    assert.notEqual(now, undefined);
  });

  it("knows what an object uses though a kind cannot be listed of which the object names nothing", async () => {
    const gadget = { apiVersion: "gadgets.example.com/v1", kind: "Gadget", plural: "gadgets" };
    const uses = {
      config: { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", name: "spec.config" },
      gadget: { ...gadget, name: "spec.gadget" },
      team: { ...gadget, labels: { team: "spec.team" } },
    };
    const away = new ApiError(503, { message: "service unavailable" }, "GET");
    const used = await ListedUse.of({
      operator: operator({ uses }),
      client: { ...client, read: () => Promise.reject(away) } as unknown as KubernetesClient,
      onError: () => {},
      patience: new Patience(0),
    });
    const isKnown = async (spec: object) => {
      const user = widget({}, { spec });
      return (await used.fingerprintOf(user.metadata, referencesOf(uses, user))) !== undefined;
    };
    assert.equal(await isKnown({ config: "c" }), true);
    assert.equal(await isKnown({ config: "c", gadget: "g" }), false);
    assert.equal(await isKnown({ config: "c", team: "t" }), false);
  });
});
