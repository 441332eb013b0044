import assert from "node:assert/strict";
import fc from "fast-check";
import {
  applyEntry,
  canReference,
  conflictWith,
  ownedManifest,
  ownerOf,
} from "../../runtime/children/ownership";
import type {
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
  OwnerReference,
} from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { ADOPT_ANNOTATION, CHILD_OF_LABEL, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../runtime/names";
import {
  applied,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  configMap,
  GLOBAL_WIDGETS,
  globalWidget,
  IDENTITY,
  MANAGER,
  observed,
  WIDGETS,
  widget,
} from "./support/objects";

/** An owner, the kind of it, and the kind of a child. */
interface Pairing {
  readonly owner: KubernetesObject;
  readonly kind: Resource;
  readonly child: Resource;
}

const words = fc.dictionary(fc.stringMatching(/^[a-z./-]{1,12}$/), fc.string());
const content = fc.dictionary(fc.stringMatching(/^(spec|data|type|rules)$/), fc.jsonValue());
const serverFields = {
  uid: fc.uuid(),
  resourceVersion: fc.constant("12"),
  generation: fc.nat(),
  creationTimestamp: fc.constant("2026-01-01T00:00:00Z"),
  deletionTimestamp: fc.constant("2026-01-01T00:00:00Z"),
  deletionGracePeriodSeconds: fc.nat(),
  managedFields: fc.constant<ManagedFieldsEntry[]>([{ manager: "kubectl" }]),
  selfLink: fc.constant("/api"),
  ownerReferences: fc.constant<OwnerReference[]>([{ apiVersion: "v1", kind: "Pod", name: "x", uid: "y" }]),
};
/** A child as a handler may answer it: some of it copied from an object of the server, marks of ours included. */
const answered = fc
  .record({
    metadata: fc.record(
      {
        name: fc.constant("settings"),
        namespace: fc.constantFrom("shop", "elsewhere"),
        labels: words,
        annotations: words,
        ...serverFields,
      },
      { requiredKeys: ["name"] },
    ),
    marks: fc.boolean(),
    status: fc.option(fc.jsonValue(), { nil: undefined }),
    content,
  })
  .map(({ metadata, marks, status, content: rest }): Manifest => {
    const marked = {
      labels: { ...metadata.labels, [OWNER_UID_LABEL]: "another" },
      annotations: { ...metadata.annotations, [OWNER_ANNOTATION]: "shop/another" },
    };
    return {
      ...rest,
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { ...metadata, ...(marks && marked) },
      ...(status !== undefined && { status }),
    };
  });
const pairing = fc.constantFrom<Pairing>(
  { owner: widget(), kind: WIDGETS, child: CONFIG_MAPS },
  { owner: widget(), kind: WIDGETS, child: CLUSTER_ROLES },
  { owner: globalWidget(), kind: GLOBAL_WIDGETS, child: CONFIG_MAPS },
  { owner: globalWidget(), kind: GLOBAL_WIDGETS, child: CLUSTER_ROLES },
);

describe("ownedManifest", () => {
  it("never carries a field of the server's, and keeps all that is the handler's", () => {
    fc.assert(
      fc.property(answered, pairing, (child, { owner, child: resource }) => {
        const manifest = ownedManifest(child, owner, resource, IDENTITY);
        const known = ["name", "namespace", "labels", "annotations", "ownerReferences"];
        assert.deepStrictEqual(
          Object.keys(manifest.metadata).filter((field) => !known.includes(field)),
          [],
        );
        const { metadata, status: _, ...rest } = child;
        const { metadata: ours, ...kept } = manifest;
        assert.deepStrictEqual(kept, rest);
        for (const field of ["labels", "annotations"] as const) {
          const { [OWNER_UID_LABEL]: __, [OWNER_ANNOTATION]: ___, ...theirs } = metadata[field] ?? {};
          assert.deepStrictEqual({ ...ours[field], ...theirs }, { ...ours[field] });
        }
        assert.equal(ours.labels?.[CHILD_OF_LABEL], "argosy.shop");
      }),
    );
  });

  it("carries exactly one proof of its owner, by which that owner is found again", () => {
    fc.assert(
      fc.property(answered, pairing, (child, { owner, kind, child: resource }) => {
        const manifest = ownedManifest(child, owner, resource, IDENTITY);
        const { ownerReferences, labels, annotations } = manifest.metadata;
        const byReference = ownerReferences !== undefined;
        assert.equal(byReference, canReference(owner, manifest.metadata.namespace));
        assert.equal(labels?.[OWNER_UID_LABEL], byReference ? undefined : "widget-uid");
        assert.equal(annotations?.[OWNER_ANNOTATION], byReference ? undefined : "shop/widget");
        const { name, namespace } = owner.metadata;
        const found = ownerOf(applied(manifest, MANAGER), kind, MANAGER);
        assert.deepStrictEqual(found, { uid: "widget-uid", ...(namespace && { namespace }), name });
      }),
    );
  });

  it("leaves the handler's answer as it is", () => {
    fc.assert(
      fc.property(answered, pairing, (child, { owner, child: resource }) => {
        const before = structuredClone(child);
        ownedManifest(child, owner, resource, IDENTITY);
        assert.equal(JSON.stringify(child), JSON.stringify(before));
      }),
    );
  });

  it("has the object's namespace where the handler names none, and none in a kind without", () => {
    const namespaceOf = (child: Manifest, resource: Resource) =>
      ownedManifest(child, widget(), resource, IDENTITY).metadata.namespace;
    assert.equal(namespaceOf(configMap(), CONFIG_MAPS), "shop");
    assert.equal(namespaceOf(configMap({ namespace: "elsewhere" }), CONFIG_MAPS), "elsewhere");
    assert.equal(namespaceOf(configMap({ namespace: "elsewhere" }), CLUSTER_ROLES), undefined);
  });

  it("names the object as the one controller", () => {
    const { metadata } = ownedManifest(configMap(), widget(), CONFIG_MAPS, IDENTITY);
    assert.deepStrictEqual(metadata.ownerReferences, [
      {
        apiVersion: "shop.example.com/v1",
        kind: "Widget",
        name: "widget",
        uid: "widget-uid",
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });
});

describe("ownerOf", () => {
  const reference: OwnerReference = {
    apiVersion: "shop.example.com/v1",
    kind: "Widget",
    name: "widget",
    uid: "widget-uid",
    controller: true,
  };
  const byReference = (change: Partial<OwnerReference>) =>
    ownerOf(observed("ConfigMap", {}, { ownerReferences: [{ ...reference, ...change }] }), WIDGETS, MANAGER);
  const marks = { labels: { [OWNER_UID_LABEL]: "uid" }, annotations: { [OWNER_ANNOTATION]: "shop/widget" } };

  it("takes a controller of our kind, in any version", () => {
    const owner = { uid: "widget-uid", namespace: "shop", name: "widget" };
    assert.deepStrictEqual(byReference({}), owner);
    assert.deepStrictEqual(byReference({ apiVersion: "shop.example.com/v1beta1" }), owner);
  });

  it("takes no other reference", () => {
    assert.equal(byReference({ controller: false }), undefined);
    assert.equal(byReference({ kind: "Gadget" }), undefined);
    assert.equal(byReference({ apiVersion: "other.example.com/v1" }), undefined);
  });

  it("takes the label only together with our own field manager's entry", () => {
    const labelled = observed("ClusterRole", {}, marks);
    assert.equal(ownerOf(labelled, WIDGETS, MANAGER), undefined);
    assert.equal(ownerOf(applied(labelled, "argosy/other"), WIDGETS, MANAGER), undefined);
    const owner = { uid: "uid", namespace: "shop", name: "widget" };
    assert.deepStrictEqual(ownerOf(applied(labelled, MANAGER), WIDGETS, MANAGER), owner);
  });
});

describe("applyEntry", () => {
  const find = (entry: ManagedFieldsEntry) =>
    applyEntry(observed("ConfigMap", {}, { managedFields: [{ manager: "kubectl" }, entry] }), MANAGER);

  it("finds what we have applied, and nothing else of ours", () => {
    const entry: ManagedFieldsEntry = { manager: MANAGER, operation: "Apply" };
    assert.equal(find(entry), entry);
    assert.equal(find({ ...entry, operation: "Update" }), undefined);
    assert.equal(find({ ...entry, subresource: "status" }), undefined);
    assert.equal(find({ ...entry, manager: "argosy/other" }), undefined);
  });
});

describe("conflictWith", () => {
  const controller = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", controller: true };
  type Reference = "ours" | "other" | "none";
  type Label = "ours" | "other" | "none";
  /** Owner reference, our manager's entry, owner label, adopt annotation: the conflict, or none. */
  const table: [Reference, boolean, Label, boolean, RegExp | undefined][] = [
    ["ours", true, "none", false, undefined],
    ["ours", false, "none", false, undefined],
    ["ours", true, "other", false, undefined],
    ["ours", false, "other", true, undefined],
    ["other", true, "none", false, /belongs to ReplicaSet web/],
    ["other", true, "ours", false, /belongs to ReplicaSet web/],
    ["other", false, "ours", true, /belongs to ReplicaSet web/],
    ["other", true, "ours", true, /belongs to ReplicaSet web/],
    ["none", true, "ours", false, undefined],
    ["none", true, "none", false, undefined],
    ["none", true, "other", false, /belongs to shop\/another/],
    ["none", true, "other", true, /belongs to shop\/another/],
    ["none", false, "ours", false, /made by kubectl/],
    ["none", false, "other", false, /made by kubectl/],
    ["none", false, "none", false, /made by kubectl/],
    ["none", false, "none", true, undefined],
    ["none", false, "ours", true, undefined],
    ["none", false, "other", true, undefined],
  ];
  for (const [reference, entry, label, adopt, conflict] of table) {
    const facts = `reference ${reference}, our entry ${entry}, label ${label}, adopt ${adopt}`;
    it(`${conflict ? "refuses" : "may touch"} an object with ${facts}`, () => {
      const uids = { ours: "widget-uid", other: "another-uid", none: undefined };
      const found = observed(
        "ConfigMap",
        {},
        {
          ...(uids[reference] && { ownerReferences: [{ ...controller, uid: uids[reference] }] }),
          managedFields: [
            { manager: "kubectl", operation: "Update" },
            ...(entry ? [{ manager: MANAGER, operation: "Apply" } as const] : []),
          ],
          ...(uids[label] && { labels: { [OWNER_UID_LABEL]: uids[label] } }),
          annotations: {
            ...(label === "other" && { [OWNER_ANNOTATION]: "shop/another" }),
            ...(adopt && { [ADOPT_ANNOTATION]: "true" }),
          },
        },
      );
      const said = conflictWith(found, "widget-uid", MANAGER);
      if (conflict) assert.match(said ?? "", conflict);
      else assert.equal(said, undefined);
    });
  }

  it("takes an adopt annotation that says false for none", () => {
    const annotations = { [ADOPT_ANNOTATION]: "false" };
    assert.match(
      conflictWith(observed("ConfigMap", {}, { annotations }), "widget-uid", MANAGER) ?? "",
      /somebody else/,
    );
  });
});
