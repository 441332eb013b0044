import assert from "node:assert/strict";
import { BUILT_IN_KINDS, hasDnsNames } from "../../runtime/base/kinds";
import {
  isNewer,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type ObjectMeta,
} from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { LineSplitter } from "../../runtime/base/text";
import type { JsonPatchOperation, KubernetesClient } from "../../runtime/kubernetes/client";
import { discover } from "../../runtime/kubernetes/discovery";
import { ApiError, isNamespaceMissing, isNamespaceTerminating } from "../../runtime/kubernetes/errors";
import { named } from "../../runtime/kubernetes/list";
import { eventually } from "../support/eventually";
import { errorOf } from "../unit/support/failures";
import type { Api } from "./support/api";
import { announceKind, sharedCluster } from "./support/cluster";
import { customResourceDefinition } from "./support/manifests";

const FINALIZER = "argosy.dev/facts";
const THEIRS = "example.com/theirs";
const FINALIZER_MANAGER = "argosy/facts/finalizer";
const NO_OBJECT = "1";
const CLUSTER_ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };

const CRD = customResourceDefinition("apiserver.example.com", "Fact", {
  data: { type: "object", additionalProperties: { type: "string" } },
});

/** What the engine relies on, of which the documentation of Kubernetes says little. */
describe("the API server", function () {
  this.timeout(60_000);
  announceKind(CRD);
  let api: Api;
  let client: KubernetesClient;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    ({ api } = await sharedCluster());
    client = api.client;
  });
  beforeEach(async () => {
    namespace = await api.newNamespace("facts");
  });

  for (const [what, schema, isRefused] of [
    ["a field", { properties: { it: { maxLength: 1 } } }, true],
    ["an entry of a list", { type: "object", properties: { it: { type: "array", items: {} } } }, true],
    ["a value of a map", { properties: { it: { type: "object", additionalProperties: {} } } }, true],
    ["a part of a choice", { properties: { it: { type: "object", anyOf: [{ required: ["a"] }] } } }, false],
    [
      "what has another keyword for that",
      {
        type: undefined,
        "x-kubernetes-preserve-unknown-fields": true,
        properties: {
          it: { "x-kubernetes-int-or-string": true },
          any: { "x-kubernetes-preserve-unknown-fields": true },
        },
      },
      false,
    ],
  ] as [string, JsonObject, boolean][])
    it(`${isRefused ? "refuses" : "accepts"} a CRD without a type for ${what}`, async () => {
      const crd = structuredClone(CRD) as Manifest & { spec: { versions: JsonObject[] } };
      Object.assign(crd.spec.versions[0] as JsonObject, {
        schema: { openAPIV3Schema: { type: "object", ...schema } },
      });
      const names = { plural: "facts2", singular: "fact2", kind: "Fact2" };
      Object.assign(crd.spec, { names });
      const named = { ...crd, metadata: { name: "facts2.apiserver.example.com" } };
      const { apiVersion, kind } = CRD;
      const resource = { apiVersion, kind, plural: "customresourcedefinitions", namespaced: false };
      const work = client.create(resource, named, { dryRun: true });
      if (!isRefused) return void (await work);
      const { message } = await errorOf(ApiError, () => work);
      assert.match(message, /type: Required value: must not be empty/);
    });

  it("lists exactly the object of a name that has a meaning in selectors", async () => {
    const kind = { ...CLUSTER_ROLE, plural: "clusterroles", namespaced: false };
    const names = ["facts", "facts,metadata.name=other", "facts\\=a"];
    const roles = names.map((name) => ({ ...CLUSTER_ROLE, metadata: { name }, rules: [] }));
    await Promise.all(roles.map((role) => api.apply(role)));
    for (const name of names) {
      const found = await client.listAll(kind, named(name));
      assert.deepEqual(
        found.map(({ metadata }) => metadata.name),
        [name],
      );
    }
    await Promise.all(roles.map((role) => api.delete(role)));
  });

  it("refuses a name with capitals for all kinds of which the engine says so", async () => {
    const { groups } = await client.read<{ groups: { name: string; preferredVersion: ApiVersion }[] }>(
      "/apis",
    );
    const versions = new Map([["", "v1"], ...groups.map((each) => versionOf(each))]);
    const accepted: string[] = [];
    let refused = 0;
    for (const [group, { namespaced = [] }] of Object.entries(BUILT_IN_KINDS)) {
      const apiVersion = versions.get(group);
      for (const kind of apiVersion === undefined ? [] : namespaced) {
        if (apiVersion === undefined || !hasDnsNames(apiVersion, kind)) continue;
        const resource = await discover(client, apiVersion, kind);
        const metadata = { name: "Capital", namespace };
        const work = client.create(resource, { apiVersion, kind, metadata }, { dryRun: true });
        const { status } = await errorOf(ApiError, () => work);
        const isNamed = status.details?.causes?.some(({ field }) => field === "metadata.name");
        if (isNamed) refused++;
        else accepted.push(kind);
      }
    }
    assert.deepEqual([accepted, refused > 20], [[], true]);
  });

  for (const [kind, apiVersion] of [
    ["ConfigMap", "v1"],
    ["Fact", "apiserver.example.com/v1"],
  ] as const) {
    describe(`for a ${kind}`, () => {
      let resource: Resource;
      before(async () => {
        resource = await discover(client, apiVersion, kind);
      });

      function manifest(metadata: Partial<ObjectMeta> = {}, content: JsonObject = {}): Manifest {
        return { apiVersion, kind, metadata: { name: "a", namespace, ...metadata }, ...content };
      }

      async function applyFinalizers(uid: string, finalizers: string[]) {
        const options = { fieldManager: FINALIZER_MANAGER };
        return client.apply(resource, manifest({ uid, finalizers }), options);
      }

      async function finalizers(): Promise<string[] | undefined> {
        return (await api.get(manifest())).metadata.finalizers;
      }

      /** Writes the object without a pause while `action` runs. */
      async function whileItIsWritten<T>(action: () => Promise<T>): Promise<T> {
        let running = true;
        let writes = 0;
        const writing = Promise.all(
          Array.from({ length: 4 }, async (_, writer) => {
            while (running) {
              await client.mergePatch(
                resource,
                { namespace, name: "a" },
                { data: { [`${writer}`]: `${writes++}` } },
              );
            }
          }),
        );
        try {
          await eventually(() => assert.ok(writes > 10));
          return await action();
        } finally {
          running = false;
          await writing;
        }
      }

      it("adds a finalizer by an apply with the uid and no version, and leaves others' alone", async () => {
        const { uid } = (await api.create(manifest({ finalizers: [THEIRS] }))).metadata;
        await applyFinalizers(uid, [FINALIZER]);
        assert.deepEqual((await finalizers())?.sort(), [FINALIZER, THEIRS]);
        await applyFinalizers(uid, []);
        assert.deepEqual(await finalizers(), [THEIRS]);
        await client.mergePatch(resource, { namespace, name: "a" }, { metadata: { finalizers: null } });
      });

      it("takes that apply also while the object is written all the time", async () => {
        const { uid } = (await api.create(manifest())).metadata;
        await whileItIsWritten(async () => {
          for (let turn = 0; turn < 20; turn++) {
            await applyFinalizers(uid, [FINALIZER]);
            assert.deepEqual(await finalizers(), [FINALIZER]);
            await applyFinalizers(uid, []);
            assert.equal(await finalizers(), undefined);
          }
        });
      });

      it("creates nothing by an apply with a uid, and changes no other object of the name", async () => {
        const { uid } = (await api.create(manifest())).metadata;
        await api.delete(manifest());
        await eventually(() => api.assertGone(manifest()));
        const gone = await errorOf(ApiError, () => applyFinalizers(uid, [FINALIZER]));
        assert.equal(gone.code, 409);
        await api.assertGone(manifest());
        await api.create(manifest());
        const another = await errorOf(ApiError, () => applyFinalizers(uid, [FINALIZER]));
        assert.ok([409, 422].includes(another.code), another.message);
        assert.equal(await finalizers(), undefined);
      });

      it("refuses to add a finalizer to an object that is being deleted", async () => {
        const { uid } = (await api.create(manifest({ finalizers: [THEIRS] }))).metadata;
        await api.delete(manifest());
        const error = await errorOf(ApiError, () => applyFinalizers(uid, [FINALIZER]));
        assert.deepEqual([error.code, error.reason], [422, "Invalid"], error.message);
        await client.mergePatch(resource, { namespace, name: "a" }, { metadata: { finalizers: null } });
      });

      it("takes the finalizer away by a JSON patch that tests uid and entry, while the object is written", async () => {
        const { uid } = (await api.create(manifest({ finalizers: [THEIRS] }))).metadata;
        await applyFinalizers(uid, [FINALIZER]);
        await whileItIsWritten(async () => {
          const at = (await finalizers())?.indexOf(FINALIZER);
          const path = `/metadata/finalizers/${at}`;
          const remove = (of: string, entry = FINALIZER): JsonPatchOperation[] => [
            { op: "test", path: "/metadata/uid", value: of },
            { op: "test", path, value: entry },
            { op: "remove", path },
          ];
          for (const operations of [remove("another"), remove(uid, "another")]) {
            const error = await errorOf(ApiError, () => patch(operations));
            assert.equal(error.code, 422, error.message);
          }
          await patch(remove(uid));
          assert.deepEqual(await finalizers(), [THEIRS]);
        });
        await client.mergePatch(resource, { namespace, name: "a" }, { metadata: { finalizers: null } });
      });

      function patch(operations: JsonPatchOperation[]) {
        return client.jsonPatch(resource, { namespace, name: "a" }, operations);
      }

      it(`creates by an apply with the version ${NO_OBJECT}, and touches no existing one`, async () => {
        const options = { fieldManager: "facts", force: true };
        const absent = manifest({ resourceVersion: NO_OBJECT }, { data: { by: "us" } });
        assert.equal((await client.apply(resource, absent, options)).created, true);
        const error = await errorOf(ApiError, () =>
          client.apply(resource, { ...absent, data: { by: "others" } }, options),
        );
        assert.deepEqual([error.code, error.reason], [409, "Conflict"]);
        assert.deepEqual((await api.get(manifest()))["data"], { by: "us" });
      });

      it("says that the namespace ends", async () => {
        const options = { fieldManager: "facts" };
        const held = await api.create(manifest({ name: "held", finalizers: [THEIRS] }));
        await api.delete({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
        const ends = await errorOf(ApiError, () => client.apply(resource, manifest(), options));
        assert.ok(isNamespaceTerminating(ends), ends.message);
        assert.ok(isNamespaceTerminating(await errorOf(ApiError, () => client.create(resource, manifest()))));
        await client.mergePatch(resource, held.metadata, { metadata: { finalizers: null } });
      });

      it("says that the namespace does not exist", async () => {
        const name = `${namespace}-missing`;
        const there = manifest({ namespace: name });
        const create = () => client.create(resource, there);
        const apply = () => client.apply(resource, there, { fieldManager: "facts" });
        for (const write of [create, apply]) {
          const error = await errorOf(ApiError, write);
          assert.ok(isNamespaceMissing(error, name), error.message);
        }
      });

      it("refuses an apply with a field that the schema does not know, at any depth, though we ask for no validation", async () => {
        for (const [at, unknown] of Object.entries({ ".datta": { datta: {} }, ".metadata.nname": {} })) {
          const metadata = at === ".metadata.nname" ? { nname: "a" } : {};
          const there = manifest(metadata as Partial<ObjectMeta>, unknown);
          const apply = () => client.apply(resource, there, { fieldManager: "facts" });
          const { message } = await errorOf(ApiError, apply);
          assert.ok(message.includes(`${at}: field not declared in schema`), message);
        }
        await api.assertGone(manifest());
      });

      it("reports an object that leaves a selection, or goes, with a version later than that of each write before", async () => {
        const { metadata } = await api.create(manifest({ labels: { selected: "" } }));
        const ending = new AbortController();
        const stream = await client.watch(
          resource,
          { namespace, labelSelector: "selected" },
          { resourceVersion: metadata.resourceVersion, timeoutSeconds: 60, signal: ending.signal },
        );
        const label = async (selected: string | null) =>
          (await client.mergePatch(resource, metadata, { metadata: { labels: { selected } } })).metadata;
        const written = [await label(null), await label("again"), await label("still")];
        await api.delete(manifest());
        const reported = await eventsIn(stream, 4).finally(() => ending.abort());
        assert.deepEqual(
          reported.map(({ type }) => type),
          ["DELETED", "ADDED", "MODIFIED", "DELETED"],
        );
        const versions = reported.map(({ object }) => object.metadata.resourceVersion);
        assert.deepEqual(
          versions.slice(0, 3),
          written.map(({ resourceVersion }) => resourceVersion),
        );
        assert.ok(isNewer(versions[3], versions[2]));
      });

      it("gives metadata alone", async () => {
        await api.create(manifest({}, { data: { a: "b" } }));
        await client.list(resource, { namespace, metadataOnly: true }, (items) => {
          const ours = items.filter(({ metadata }) => metadata.name === "a");
          assert.deepEqual(
            ours.map((item) => Object.keys(item).sort()),
            [["apiVersion", "kind", "metadata"]],
          );
        });
      });
    });
  }
});

interface WatchEvent {
  readonly type: string;
  readonly object: KubernetesObject;
}

/** The first events of a watch. */
async function eventsIn(stream: AsyncIterable<Buffer>, count: number): Promise<WatchEvent[]> {
  const lines = new LineSplitter();
  const events: WatchEvent[] = [];
  for await (const chunk of stream) {
    events.push(...lines.push(chunk).map((line) => JSON.parse(line) as WatchEvent));
    if (events.length >= count) break;
  }
  return events;
}

interface ApiVersion {
  readonly groupVersion: string;
}

function versionOf({ name, preferredVersion }: { name: string; preferredVersion: ApiVersion }) {
  return [name, preferredVersion.groupVersion] as const;
}
