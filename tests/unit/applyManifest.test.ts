import assert from "node:assert/strict";
import { applyManifest } from "../../runtime/kubernetes/applyManifest";
import type { JsonPatchOperation } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject, Manifest } from "../../runtime/kubernetes/objects";
import { errorOf } from "./support/failures";
import { WIDGETS } from "./support/objects";

/** What the API server answers if these fields have become null, each with what else it says of it. */
function nulls(...fields: string[]): ApiError {
  const causes = fields.map((field) => ({
    reason: "FieldValueTypeInvalid",
    field,
    message: `Invalid value: "null": ${field} in body must be of type object: "null"`,
  }));
  // So it is where the schema has rules.
  const unchecked = { reason: "FieldValueInvalid", field: "<nil>", message: "rules were not checked" };
  return refused({ details: { causes: [...causes, unchecked] } });
}

function refused(status: ApiError["status"]): ApiError {
  return new ApiError(422, { reason: "Invalid", message: "refused", ...status }, "PATCH");
}

describe("applyManifest", () => {
  /** How each apply is answered, in order. Undefined: it is accepted. */
  let answers: (ApiError | undefined)[];
  /** How the dry run is answered. */
  let tried: ApiError | undefined;
  let applied: Manifest[];
  let patched: { operations: readonly JsonPatchOperation[]; options: object | undefined }[];

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
      patched.push({ operations, options });
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
  const apply = (manifest: Manifest) =>
    applyManifest(client, WIDGETS, manifest, { fieldManager: "argosy/argosy.shop", force: true });

  it("applies once what is accepted, and does nothing more after any other refusal", async () => {
    const manifest = manifestOf({ spec: { m: {} } });
    await apply(manifest);
    assert.deepEqual([applied, patched], [[manifest], []]);
    const field = "spec.m";
    const message = `Invalid value: 0: ${field} in body should have at least 1 properties`;
    const others = [
      refused({ details: { causes: [{ reason: "FieldValueInvalid", field, message }] } }),
      refused({}),
      nulls("spec.other"),
      nulls("spec.mm"),
      new ApiError(409, {}, "PATCH"),
    ];
    for (const other of others) {
      [answers, applied] = [[other], []];
      assert.equal(await errorOf(ApiError, () => apply(manifest)), other);
      assert.deepEqual([applied.length, patched], [1, []]);
    }
  });

  it("takes away the very map that became null, and gives it back, in the version that it wrote", async () => {
    answers = [nulls("spec.m")];
    const manifest = manifestOf({ spec: { m: {}, kept: {}, size: 3 } }, "7");
    await apply(manifest);
    assert.deepEqual(applied, [
      manifest,
      manifestOf({ spec: { kept: {}, size: 3 } }, "7"),
      { ...manifest, metadata: { ...manifest.metadata, resourceVersion: "42" } },
    ]);
    assert.deepEqual(patched, [
      {
        operations: [{ op: "replace", path: "/spec/m", value: {} }],
        options: { subresource: undefined, dryRun: true },
      },
    ]);
  });

  for (const [what, spec, fields, without, paths] of [
    ["several maps", { a: {}, b: {}, c: 1 }, ["spec.a", "spec.b"], { c: 1 }, ["/spec/a", "/spec/b"]],
    ["what holds nothing else", { a: { b: { m: {} } } }, ["spec.a.b.m"], undefined, ["/spec/a/b/m"]],
    [
      "a map whose name has dots, slashes and brackets",
      { m: { "a.b/c~[d]": {}, a: 1 } },
      ["spec.m.a.b/c~[d]"],
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
      ["spec.list[3].m"],
      { list: [{ name: "a", m: { b: "1" } }, { name: "b" }] },
      ["/spec/list/3/m"],
    ],
  ] as const) {
    it(`takes away ${what}`, async () => {
      answers = [nulls(...fields)];
      const manifest = manifestOf({ spec });
      await apply(manifest);
      assert.deepEqual(applied, [manifest, manifestOf({ ...(without && { spec: without }) }), manifest]);
      assert.deepEqual(
        patched[0]?.operations.map(({ path }) => path),
        paths,
      );
    });
  }

  it("takes nothing away if the map must not be empty, and says so", async () => {
    answers = [nulls("spec.m")];
    tried = refused({ message: "spec.m in body should have at least 1 properties" });
    assert.equal(await errorOf(ApiError, () => apply(manifestOf({ spec: { m: {} } }))), tried);
    assert.equal(applied.length, 1);
  });

  it("says what was refused of the whole manifest, not of a part; and that of a race", async () => {
    const manifest = manifestOf({ spec: { m: {} } });
    const first = nulls("spec.m");
    for (const [second, thrown] of [
      [refused({ message: "spec.m: Required value" }), first],
      [new ApiError(409, {}, "PATCH"), undefined],
    ] as const) {
      [answers, applied] = [[first, second], []];
      assert.equal(await errorOf(ApiError, () => apply(manifest)), thrown ?? second);
      assert.equal(applied.length, 2);
    }
  });
});
