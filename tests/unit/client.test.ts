import assert from "node:assert/strict";
import fc from "fast-check";
import type { KubernetesObject } from "../../runtime/base/objects";
import { resourcePath } from "../../runtime/base/resource";
import type { JsonPatchOperation, KubernetesClient } from "../../runtime/kubernetes/client";
import {
  discover,
  discoverObjects,
  findResource,
  UnknownKindError,
} from "../../runtime/kubernetes/discovery";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { errorOf } from "./support/failures";
import { CLUSTER_ROLES, CONFIG_MAPS, configMap, MANAGER, WIDGETS, widget } from "./support/objects";
import { type ApiCall, json, refuse, useApiServer } from "./support/testApiServer";

describe("KubernetesClient", () => {
  const api = useApiServer((_, response) => json(response, widget()));
  let client: KubernetesClient;
  before(() => {
    client = api.client();
  });
  after(() => client.close());

  /** The one request that was made, as "GET /path?query". */
  function request(): string {
    assert.equal(api.calls.length, 1);
    const [{ method, path, query }] = api.calls as [ApiCall];
    return `${method} ${path}${query.size > 0 ? `?${query}` : ""}`;
  }

  it("gets an object", async () => {
    assert.deepStrictEqual(await client.get(WIDGETS, { namespace: "shop", name: "widget" }), widget());
    assert.equal(request(), "GET /apis/shop.example.com/v1/namespaces/shop/widgets/widget");
  });

  it("gives nothing for an object that does not exist, and an error for any other refusal", async () => {
    api.answer = (_, response) => refuse(response, 404, { reason: "NotFound", details: { name: "a" } });
    assert.equal(await client.get(CONFIG_MAPS, { namespace: "shop", name: "a" }), undefined);
    api.answer = (_, response) => refuse(response, 403, { reason: "Forbidden" });
    const error = await errorOf(ApiError, () => client.get(CONFIG_MAPS, { namespace: "shop", name: "a" }));
    assert.equal(error.reason, "Forbidden");
  });

  it("takes no answer of something else for an object", async () => {
    api.answer = (_, response) => json(response, { error: "please log in" });
    const get = () => client.get(CONFIG_MAPS, { namespace: "shop", name: "a" });
    const { message } = await errorOf(ApiUnreachableError, get);
    assert.match(message, /something other than the API server answered/);
  });

  it("goes by the API server's clock from the first answer that tells its time, and by its own until then", async () => {
    const name = { namespace: "shop", name: "widget" };
    const date = "Thu, 01 Jan 2026 00:00:00 GMT";
    const assertNow = (expected: number) => assert.ok(Math.abs(client.now() - expected) < 20_000);
    api.answer = (_, response) => {
      response.sendDate = false;
      json(response, widget());
    };
    await client.get(WIDGETS, name);
    assertNow(Date.now());
    api.answer = (_, response) =>
      json(response, { reason: "NotFound", details: { name: "widget" } }, 404, { date });
    await client.with({ class: "work" }).get(WIDGETS, name);
    assertNow(Date.parse(date));
    const before = client.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(client.now() >= before + 15);
  });

  it("lists page by page, and gives the version from which a watch goes on", async () => {
    api.answer = ({ query }, response) =>
      query.has("continue")
        ? json(response, { metadata: { resourceVersion: "9" }, items: [widget({ name: "b" })] })
        : json(response, {
            metadata: { resourceVersion: "9", continue: "next" },
            items: [widget({ name: "a" })],
          });
    const pages: string[][] = [];
    const onPage = (items: KubernetesObject[]) => void pages.push(items.map(({ metadata }) => metadata.name));
    assert.equal(await client.list(WIDGETS, { labelSelector: "a=b" }, onPage), "9");
    assert.deepStrictEqual(pages, [["a"], ["b"]]);
    assert.deepStrictEqual(
      api.calls.map(({ query }) => query.get("labelSelector")),
      ["a=b", "a=b"],
    );
  });

  it("takes no page for a further one that leads to itself: something answers that knows one page", async () => {
    api.answer = (_, response) =>
      json(response, { metadata: { resourceVersion: "9", continue: "next" }, items: [widget()] });
    await errorOf(ApiUnreachableError, () => client.list(WIDGETS, {}, () => {}));
    assert.equal(api.calls.length, 2);
  });

  it("asks for pages of few objects where these are large, and of many where they are small", async () => {
    const limits = async (blob: string, selection: { metadataOnly?: boolean } = {}) => {
      const asked: number[] = [];
      api.answer = ({ query }, response) => {
        const limit = Number(query.get("limit"));
        asked.push(limit);
        const items = Array.from({ length: limit }, () => ({ ...widget(), blob }));
        const more = asked.length < 3 && { continue: `${asked.length}` };
        json(response, { metadata: { resourceVersion: "9", ...more }, items });
      };
      await client.list(WIDGETS, selection, () => {});
      return asked;
    };
    assert.deepStrictEqual(await limits("", { metadataOnly: true }), [500, 500, 500]);
    assert.deepStrictEqual(await limits(""), [20, 500, 500]);
    assert.deepStrictEqual(await limits("x".repeat(100_000)), [20, 20, 20]);
    assert.deepStrictEqual(await limits("x".repeat(1_000_000)), [20, 3, 2]);
  });

  describe("a list, however large its objects are,", () => {
    const [SMALL, LARGE] = [1_000, 1_400_000];
    /** Lists objects of these lengths. Gives how many each request asked for, and the lengths of the pages. */
    async function listed(lengths: readonly number[], selection: { metadataOnly?: boolean } = {}) {
      const [asked, pages, names]: [number[], number[], string[]] = [[], [], []];
      api.answer = ({ query }, response) => {
        const [from, limit] = [Number(query.get("continue") ?? 0), Number(query.get("limit"))];
        asked.push(limit);
        const items = lengths.slice(from, from + limit).map((length, index) => {
          const annotations = { text: "x".repeat(length) };
          return widget({ name: `w-${from + index}`, annotations });
        });
        const more = from + limit < lengths.length && { continue: String(from + limit) };
        json(response, { metadata: { resourceVersion: "9", ...more }, items });
      };
      await client.list(WIDGETS, selection, (items) => {
        pages.push(JSON.stringify(items).length);
        names.push(...items.map(({ metadata }) => metadata.name));
      });
      assert.deepStrictEqual(
        names,
        lengths.map((_, index) => `w-${index}`),
      );
      return { asked, pages };
    }
    const bound = 4 * 1024 * 1024;

    it("has no page of several that is longer than 4 MiB", async () => {
      const large = Array.from({ length: 20 }, () => LARGE);
      const { asked, pages } = await listed(large);
      assert.ok(Math.max(...pages) < bound, String(pages));
      assert.ok(asked.length < 25, String(asked));
    });

    it("has none though large ones come after small ones, also of metadata alone", async () => {
      const mixed = Array.from({ length: 560 }, (_, index) => (index < 530 ? SMALL : LARGE / 5));
      for (const selection of [{}, { metadataOnly: true }]) {
        const { asked, pages } = await listed(mixed, selection);
        assert.ok(Math.max(...pages) < bound, String(pages));
        assert.ok(asked.length <= 20, String(asked));
      }
    });

    it("reads few pages in vain where small and large objects take turns", async () => {
      const mixed = Array.from({ length: 100 }, (_, index) => (index % 25 < 20 ? SMALL : LARGE));
      const { asked, pages } = await listed(mixed);
      assert.ok(asked.length < 1.5 * pages.length, `${asked.length} requests, ${pages.length} pages`);
    });

    it("has one that is longer if that is one object", async () => {
      const { asked } = await listed([5_000_000, SMALL]);
      assert.deepStrictEqual(asked, [20, 3, 1, 1]);
    });

    it("takes few requests for thousands of small ones", async () => {
      const small = Array.from({ length: 5_000 }, () => SMALL);
      const { asked } = await listed(small);
      assert.ok(asked.length <= 11, String(asked));
      assert.deepStrictEqual((await listed(small, { metadataOnly: true })).asked, Array(10).fill(500));
    });
  });

  it("applies on the server as its field manager", async () => {
    api.answer = (_, response) => json(response, widget(), 201);
    const manifest = configMap({ namespace: "shop" });
    assert.equal(
      (await client.apply(CONFIG_MAPS, manifest, { fieldManager: MANAGER, force: true })).created,
      true,
    );
    const query = "fieldManager=argosy%2Fargosy.shop&force=true&fieldValidation=Ignore";
    assert.equal(request(), `PATCH /api/v1/namespaces/shop/configmaps/settings?${query}`);
    assert.equal(api.calls[0]?.headers["content-type"], "application/apply-patch+yaml");
    assert.deepStrictEqual(api.calls[0]?.body, manifest);
  });

  it("tells an object that existed from a new one, and does not force unless told to", async () => {
    const manifest = configMap({ namespace: "shop" });
    const { created } = await client.apply(CONFIG_MAPS, manifest, {
      fieldManager: "me",
      subresource: "status",
    });
    assert.equal(created, false);
    const path = "/api/v1/namespaces/shop/configmaps/settings/status";
    assert.equal(request(), `PATCH ${path}?fieldManager=me&force=false&fieldValidation=Ignore`);
  });

  it("creates, replaces, merges, and changes by the operations of a JSON patch", async () => {
    const name = { namespace: "shop", name: "settings" };
    const operations: JsonPatchOperation[] = [
      { op: "test", path: "/metadata/uid", value: "a-uid" },
      { op: "remove", path: "/metadata/finalizers/0" },
    ];
    await client.create(CLUSTER_ROLES, configMap(), { dryRun: true });
    await client.replace(CONFIG_MAPS, configMap({ namespace: "shop" }));
    await client.mergePatch(CONFIG_MAPS, name, { data: null });
    await client.jsonPatch(CONFIG_MAPS, name, operations);
    const path = "/api/v1/namespaces/shop/configmaps/settings";
    assert.deepStrictEqual(
      api.calls.map((call) => [call.method, call.path, call.headers["content-type"]]),
      [
        ["POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "application/json"],
        ["PUT", path, "application/json"],
        ["PATCH", path, "application/merge-patch+json"],
        ["PATCH", path, "application/json-patch+json"],
      ],
    );
    assert.equal(api.calls[0]?.query.get("dryRun"), "All");
    assert.deepStrictEqual(api.calls[3]?.body, operations);
  });

  it("lists metadata alone, also of an API server that gives objects whole", async () => {
    const { metadata } = widget();
    api.answer = (_, response) =>
      json(response, { metadata: { resourceVersion: "9" }, items: [widget({}, { spec: { size: 3 } })] });
    await client.list(WIDGETS, { metadataOnly: true }, (items) => {
      assert.deepStrictEqual(items, [{ apiVersion: WIDGETS.apiVersion, kind: "Widget", metadata }]);
    });
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    assert.equal(api.calls[0]?.headers.accept, accept);
  });

  describe("with", () => {
    const name = { namespace: "shop", name: "a" };
    const refuse = (message: string) => () => {
      throw new Error(message);
    };

    it("gives a client of the same connections that asks a fence", async () => {
      const fenced = client.with({ class: "work", fence: refuse("not leading"), flow: "a" });
      await assert.rejects(fenced.get(CONFIG_MAPS, name), { message: "not leading" });
      await assert.rejects(fenced.delete(CONFIG_MAPS, name), { message: "not leading" });
      await assert.rejects(
        fenced.list(CONFIG_MAPS, {}, () => {}),
        { message: "not leading" },
      );
      assert.equal(api.calls.length, 0);
      await client.get(CONFIG_MAPS, name);
      await client.with({ class: "later" }).get(CONFIG_MAPS, name);
      assert.equal(new Set(api.calls.map(({ connection }) => connection)).size, 1);
    });

    it("keeps what it does not name", async () => {
      const fenced = client.with({ fence: refuse("not leading") }).with({ class: "work" });
      await assert.rejects(fenced.get(CONFIG_MAPS, name), { message: "not leading" });
      const again = fenced.with({ fence: () => {} });
      await again.get(CONFIG_MAPS, name);
      const stopped = again.with({ signal: AbortSignal.abort(new Error("stopped")) });
      await assert.rejects(stopped.get(CONFIG_MAPS, name), { message: "stopped" });
      await assert.rejects(stopped.listAll(CONFIG_MAPS, {}), { message: "stopped" });
    });
  });

  it("deletes one very object", async () => {
    assert.equal(await client.delete(CONFIG_MAPS, { namespace: "shop", name: "a" }, { uid: "a-uid" }), true);
    assert.equal(request(), "DELETE /api/v1/namespaces/shop/configmaps/a");
    const preconditions = { uid: "a-uid" };
    assert.deepStrictEqual(api.calls[0]?.body, { propagationPolicy: "Background", preconditions });
  });

  for (const code of [404, 409]) {
    it(`tells that there was nothing to delete on ${code}`, async () => {
      api.answer = (_, response) => refuse(response, code, { details: { name: "a" } });
      assert.equal(await client.delete(CONFIG_MAPS, { name: "a" }, { uid: "a-uid" }), false);
    });
  }

  it("takes no object for gone if nothing is served at its path", async () => {
    const name = { namespace: "shop", name: "a" };
    const seen = { uid: "a-uid", resourceVersion: "1" };
    api.answer = (_, response) => {
      response.statusCode = 404;
      response.end("404 page not found\n");
    };
    for (const act of [
      () => client.get(CONFIG_MAPS, name),
      () => client.delete(CONFIG_MAPS, name),
      () => client.deleteVersion(CONFIG_MAPS, name, seen),
      () => client.evict(name, "a-uid"),
    ])
      assert.equal((await errorOf(ApiError, act)).code, 404);
  });

  describe("discover", () => {
    const resources = [
      { name: "deployments/scale", kind: "Deployment", namespaced: true },
      { name: "deployments", kind: "Deployment", namespaced: true },
    ];

    it("finds how the API server serves a kind", async () => {
      api.answer = (_, response) => json(response, { resources });
      const found = await discover(client, "apps/v1", "Deployment");
      assert.deepStrictEqual(found, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        plural: "deployments",
        namespaced: true,
      });
      assert.equal(request(), "GET /apis/apps/v1");
      await errorOf(UnknownKindError, () => discover(client, "v1", "Pod"));
      assert.equal(api.calls[1]?.path, "/api/v1");
    });

    it("knows Kubernetes' own kinds without asking, and asks of any other", async () => {
      api.answer = (_, response) =>
        json(response, { resources: [{ name: "geese", kind: "Goose", namespaced: false }] });
      assert.deepStrictEqual(await findResource(client, "networking.k8s.io/v1", "Ingress"), {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        plural: "ingresses",
        namespaced: true,
      });
      assert.deepStrictEqual(api.calls, []);
      assert.equal((await findResource(client, "a.example/v1", "Goose")).plural, "geese");
      assert.equal(request(), "GET /apis/a.example/v1");
    });

    it("finds the objects of a kind in any version of its group", async () => {
      const served: Record<string, object> = {
        "/apis/a.example": { versions: [{ groupVersion: "a.example/v2" }, { groupVersion: "a.example/v1" }] },
        "/apis/a.example/v1": { resources: [{ name: "geese", kind: "Goose", namespaced: false }] },
        "/apis/a.example/v2": { resources: [] },
      };
      api.answer = ({ path }, response) =>
        served[path] ? json(response, served[path]) : refuse(response, 404);
      const v1 = { apiVersion: "a.example/v1", kind: "Goose", plural: "geese", namespaced: false };
      for (const version of ["v1", "v2", "v1beta1"])
        assert.deepStrictEqual(await discoverObjects(client, `a.example/${version}`, "Goose"), v1);
      assert.equal(await discoverObjects(client, "a.example/v1", "Duck"), undefined);
      assert.equal(await discoverObjects(client, "b.example/v1", "Goose"), undefined);
      assert.equal(await discoverObjects(client, "v1", "Goose"), undefined);
      api.answer = (_, response) => refuse(response, 403);
      await errorOf(ApiError, () => discoverObjects(client, "a.example/v1", "Goose"));
    });

    it("tells a group that does not exist from an API server that refuses", async () => {
      api.answer = (_, response) => refuse(response, 404);
      const error = await errorOf(UnknownKindError, () => discover(client, "a.example/v1", "Thing"));
      assert.match(error.message, /serves no kind Thing in a\.example\/v1/);
      api.answer = (_, response) => refuse(response, 403);
      await errorOf(ApiError, () => discover(client, "a.example/v1", "Thing"));
    });
  });
});

describe("resourcePath", () => {
  it("reaches no other path, whatever the name is", () => {
    const word = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(word, word, (namespace, name) => {
        const parts = resourcePath(CONFIG_MAPS, { namespace, name }, "status").split("/");
        assert.equal(parts.length, 8);
        assert.deepStrictEqual(
          [parts[4], parts[6]].map((part) => decodeURIComponent(part ?? "")),
          [namespace, name],
        );
      }),
    );
  });

  it("has no namespace for a kind without", () => {
    const path = resourcePath(CLUSTER_ROLES, { namespace: "shop", name: "a" });
    assert.equal(path, "/apis/rbac.authorization.k8s.io/v1/clusterroles/a");
  });
});
