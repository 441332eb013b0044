import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { applyManifest } from "../../runtime/kubernetes/applyManifest";
import type { JsonPatchOperation } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { errorOf } from "./support/failures";
import { MANAGER, WIDGETS } from "./support/objects";

function refused(message: string): ApiError {
  return new ApiError(422, { reason: "Invalid", message }, "PATCH");
}

describe("applyManifest", () => {
  /** How each apply is answered, in order. Undefined: it is accepted. */
  let answers: (ApiError | undefined)[];
  /** How the dry run is answered. */
  let tried: ApiError | undefined;
  let applied: Manifest[];
  let patched: (readonly JsonPatchOperation[])[];

  beforeEach(() => {
    [answers, tried, applied, patched] = [[], undefined, [], []];
  });

  const client: Parameters<typeof applyManifest>[0] = {
    apply: async (_, manifest) => {
      applied.push(manifest);
      const error = answers.shift();
      if (error) throw error;
      return { object: stored(manifest), created: false };
    },
    jsonPatch: async (_, __, operations, options) => {
      assert.equal(options?.dryRun, true);
      patched.push(operations);
      if (tried) throw tried;
      return stored(manifestOf({}));
    },
  };
  const stored = ({ metadata, ...manifest }: Manifest): KubernetesObject => ({
    ...manifest,
    apiVersion: WIDGETS.apiVersion,
    kind: WIDGETS.kind,
    metadata: { ...metadata, uid: "widget-uid", resourceVersion: `${40 + applied.length}` },
  });
  const manifestOf = (content: object, resourceVersion?: string): Manifest => ({
    apiVersion: WIDGETS.apiVersion,
    kind: WIDGETS.kind,
    metadata: { name: "demo", namespace: "shop", ...(resourceVersion !== undefined && { resourceVersion }) },
    ...content,
  });
  /** Applies it to an object with this content, of which we own these fields. */
  const apply = (manifest: Manifest, content: object, fieldsV1: JsonObject) => {
    const entry = { manager: MANAGER, operation: "Apply", fieldsV1 } as const;
    const object = stored(manifestOf(content));
    const before = { ...object, metadata: { ...object.metadata, managedFields: [entry] } };
    return applyManifest(client, WIDGETS, manifest, { fieldManager: MANAGER, force: true }, before);
  };
  const M = { "f:spec": { "f:m": { "f:a": {} }, "f:size": {} } };

  it("applies once what empties no map of ours", async () => {
    for (const [wanted, there] of [
      [{ m: { a: "2" } }, { m: { a: "1" } }],
      [{ size: 1 }, { m: { a: "1" } }],
      [{ m: {} }, { m: { a: "1", theirs: "1" } }],
      [{ m: {} }, { m: {} }],
      [{ m: {} }, {}],
    ]) {
      applied = [];
      await apply(manifestOf({ spec: wanted }), { spec: there }, M);
      assert.deepEqual([applied, patched], [[manifestOf({ spec: wanted })], []]);
    }
    await applyManifest(client, WIDGETS, manifestOf({ spec: { m: {} } }), { fieldManager: MANAGER });
    assert.deepEqual(patched, []);
  });

  it("takes away the very map that becomes empty, and gives it back, in the version that it wrote", async () => {
    const manifest = manifestOf({ spec: { m: {}, kept: {}, size: 3 } }, "7");
    await apply(manifest, { spec: { m: { a: "1" }, kept: {} } }, M);
    assert.deepEqual(applied, [
      manifestOf({ spec: { kept: {}, size: 3 } }, "7"),
      { ...manifest, metadata: { ...manifest.metadata, resourceVersion: "41" } },
    ]);
    assert.deepEqual(patched, [[{ op: "replace", path: "/spec/m", value: {} }]]);
  });

  const own = { "f:x": {} };
  for (const [what, spec, there, fields, without, paths] of [
    [
      "several maps",
      { a: {}, b: {}, c: 1 },
      { a: { x: 1 }, b: { x: 1 } },
      { "f:a": own, "f:b": own },
      { c: 1 },
      ["/spec/a", "/spec/b"],
    ],
    [
      "what holds nothing else",
      { a: { b: { m: {} } } },
      { a: { b: { m: { x: 1 } } } },
      { "f:a": { "f:b": { "f:m": own } } },
      undefined,
      ["/spec/a/b/m"],
    ],
    [
      "a map whose name has dots, slashes and brackets",
      { m: { "a.b/c~[d]": {}, a: 1 } },
      { m: { "a.b/c~[d]": { x: 1 }, a: 1 } },
      { "f:m": { "f:a.b/c~[d]": own, "f:a": {} } },
      { m: { a: 1 } },
      ["/spec/m/a.b~1c~0[d]"],
    ],
    [
      "a map in a list, in which others have entries too",
      {
        list: [
          { name: "a", m: { b: "1" } },
          { name: "b", m: {} },
        ],
      },
      { list: [{ name: "theirs" }, { name: "a", m: { b: "1" } }, { name: "b", m: { x: 1 } }] },
      { "f:list": { 'k:{"name":"b"}': { ".": {}, "f:name": {}, "f:m": own } } },
      { list: [{ name: "a", m: { b: "1" } }, { name: "b" }] },
      ["/spec/list/2/m"],
    ],
  ] as const) {
    it(`takes away ${what}`, async () => {
      const manifest = manifestOf({ spec });
      await apply(manifest, { spec: there }, { "f:spec": fields as unknown as JsonObject });
      assert.deepEqual(applied, [manifestOf({ ...(without && { spec: without }) }), manifest]);
      assert.deepEqual(
        patched[0]?.map(({ path }) => path),
        paths,
      );
    });
  }

  it("applies nothing if the map must not be empty, and says so, unless the object has another version", async () => {
    tried = refused("spec.m in body should have at least 1 properties");
    const emptying = () => apply(manifestOf({ spec: { m: {} } }), { spec: { m: { a: "1" } } }, M);
    assert.equal(await errorOf(ApiError, emptying), tried);
    const race = new ApiError(409, {}, "PATCH");
    answers = [race];
    assert.equal(await errorOf(ApiError, emptying), race);
    assert.equal(applied.length, 2, "more than dry runs");
  });
});
