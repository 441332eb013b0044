import assert from "node:assert/strict";
import fc from "fast-check";
import { readJson, writeJson } from "../../runtime/base/json";
import {
  ADOPT_ANNOTATION,
  CHILD_OF_LABEL,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
} from "../../runtime/base/names";
import type {
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
  OwnerReference,
} from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { ownedManifest } from "../../runtime/observe/marks";
import { canReference, conflictWith, provenOwner } from "../../runtime/observe/ownership";
import {
  applied,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  configMap,
  GLOBAL_WIDGETS,
  globalWidget,
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

const SECRETS = builtIn("v1", "Secret");

describe("ownedManifest", () => {
  it("never carries a field of the server's, keeps all that is the handler's, and leaves the answer itself as it is", () => {
    fc.assert(
      fc.property(answered, pairing, (child, { owner, child: resource }) => {
        const before = structuredClone(child);
        const manifest = ownedManifest(child, owner, resource, "argosy.shop");
        assert.equal(JSON.stringify(child), JSON.stringify(before));
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

  it("carries the label with its owner, and a reference where Kubernetes allows one, by which that owner is found", () => {
    fc.assert(
      fc.property(answered, pairing, (child, { owner, kind, child: resource }) => {
        const manifest = ownedManifest(child, owner, resource, "argosy.shop");
        const { ownerReferences, labels, annotations } = manifest.metadata;
        const byReference = ownerReferences !== undefined;
        assert.equal(byReference, canReference(owner, manifest.metadata.namespace));
        assert.equal(labels?.[OWNER_UID_LABEL], "widget-uid");
        assert.equal(
          annotations?.[OWNER_ANNOTATION],
          byReference ? undefined : "Widget.shop.example.com/shop/widget",
        );
        const { name, namespace } = owner.metadata;
        const found = provenOwner(applied(manifest, MANAGER), kind, [MANAGER]);
        assert.deepStrictEqual(found, { uid: "widget-uid", ...(namespace && { namespace }), name });
      }),
    );
  });

  it("leaves an integer in a Secret's stringData to the API server, which refuses it, however large it is", () => {
    for (const integer of ["7", "20241126101602123"]) {
      const secret = readJson(
        `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"pin"},"stringData":{"pin":${integer}}}`,
      ) as Manifest;
      const { data, stringData } = ownedManifest(secret, widget(), SECRETS, "argosy.shop");
      assert.equal(writeJson({ data, stringData }), `{"data":{},"stringData":{"pin":${integer}}}`);
    }
  });

  it("has the object's namespace where the handler names none, and none in a kind without", () => {
    const namespaceOf = (child: Manifest, resource: Resource) =>
      ownedManifest(child, widget(), resource, "argosy.shop").metadata.namespace;
    assert.equal(namespaceOf(configMap(), CONFIG_MAPS), "shop");
    assert.equal(namespaceOf(configMap({ namespace: "elsewhere" }), CONFIG_MAPS), "elsewhere");
    assert.equal(namespaceOf(configMap({ namespace: "elsewhere" }), CLUSTER_ROLES), undefined);
  });

  it("names the object as the one controller", () => {
    const { metadata } = ownedManifest(configMap(), widget(), CONFIG_MAPS, "argosy.shop");
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

describe("provenOwner", () => {
  const OWNER = { uid: "widget-uid", namespace: "shop", name: "widget" };
  /** A child within the owner's namespace, and one elsewhere, as we applied them. */
  const near = applied(ownedManifest(configMap(), widget(), CONFIG_MAPS, "argosy.shop"), MANAGER);
  const elsewhere = applied(
    ownedManifest(configMap({ namespace: "elsewhere" }), widget(), CONFIG_MAPS, "argosy.shop"),
    MANAGER,
  );
  const ownerOf = (object: KubernetesObject, managers = [MANAGER]) => provenOwner(object, WIDGETS, managers);

  function changed(
    object: KubernetesObject,
    metadata: Partial<KubernetesObject["metadata"]>,
  ): KubernetesObject {
    return { ...object, metadata: { ...object.metadata, ...metadata } };
  }

  it("is the one that we named by a reference, or by a label elsewhere", () => {
    assert.deepStrictEqual(ownerOf(near), OWNER);
    assert.deepStrictEqual(ownerOf(elsewhere), OWNER);
  });

  it("is known by any of our field managers, former ones too", () => {
    const before = applied(near, "argosy/argosy.former");
    assert.equal(ownerOf(before), undefined);
    assert.deepStrictEqual(ownerOf(before, [MANAGER, "argosy/argosy.former"]), OWNER);
  });

  it("is named in any version of the kind, and in no other kind", () => {
    const naming = (change: Partial<OwnerReference>) => {
      const references = near.metadata.ownerReferences?.map((reference) => ({ ...reference, ...change }));
      return ownerOf(changed(near, { ...(references && { ownerReferences: references }) }));
    };
    assert.deepStrictEqual(naming({ apiVersion: "shop.example.com/v1beta1" }), OWNER);
    assert.equal(naming({ kind: "Gadget" }), undefined);
    assert.equal(naming({ apiVersion: "other.example.com/v1" }), undefined);
  });

  const forged: readonly (readonly [string, KubernetesObject])[] = [
    ["all our marks by another manager", applied(near, "kubectl")],
    ["our manager's name in an update", withEntry(near, { operation: "Update" })],
    ["our manager's name in a status", withEntry(near, { subresource: "status" })],
    ["an entry of ours that owns no mark", withEntry(near, { fieldsV1: { "f:data": {} } })],
    ["an entry of ours that owns no mark, elsewhere", withEntry(elsewhere, { fieldsV1: { "f:data": {} } })],
    [
      "an entry of ours without fields",
      changed(near, { managedFields: [{ manager: MANAGER, operation: "Apply" }] }),
    ],
    [
      "another owner's reference next to our entry",
      changed(near, {
        ownerReferences: [{ ...referenceTo("forged-uid"), controller: true }],
        labels: {},
      }),
    ],
    ["a label elsewhere without the owner's name", changed(elsewhere, { annotations: {} })],
  ];
  for (const [what, object] of forged) {
    it(`is unproven with ${what}`, () => assert.equal(ownerOf(object), undefined));
  }

  it("stays the one that we named if a user adds a reference of their own", () => {
    const more = [referenceTo("forged-uid"), ...(near.metadata.ownerReferences ?? [])];
    assert.deepStrictEqual(ownerOf(changed(near, { ownerReferences: more })), OWNER);
  });
});

function referenceTo(uid: string): OwnerReference {
  return { apiVersion: WIDGETS.apiVersion, kind: WIDGETS.kind, name: "widget", uid };
}

function withEntry(object: KubernetesObject, change: Partial<ManagedFieldsEntry>): KubernetesObject {
  const [entry] = object.metadata.managedFields ?? [];
  return { ...object, metadata: { ...object.metadata, managedFields: [{ ...entry, ...change }] } };
}

describe("conflictWith", () => {
  const ours = applied(ownedManifest(configMap(), widget(), CONFIG_MAPS, "argosy.shop"), MANAGER);
  const conflict = (found: KubernetesObject, uid = "widget-uid") =>
    conflictWith(found, uid, WIDGETS, [MANAGER])?.why;
  const having = (metadata: Partial<KubernetesObject["metadata"]>, base = ours): KubernetesObject => ({
    ...base,
    metadata: { ...base.metadata, ...metadata },
  });
  const adopt = { annotations: { [ADOPT_ANNOTATION]: "true" } };
  const keep = { annotations: { [ADOPT_ANNOTATION]: "false" } };
  const theirs = observed("ConfigMap", {}, { managedFields: [{ manager: "kubectl", operation: "Update" }] });
  const controller = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "rs", controller: true };
  const ofWeb = { ownerReferences: [controller] };
  const ofOwner = { ownerReferences: [{ ...referenceTo("widget-uid"), controller: true }] };
  const [BY_WEB, BY_KUBECTL] = [/belongs to ReplicaSet.apps web/, /created by kubectl/];
  const reporter = { manager: "argosy/argosy.web", operation: "Apply" as const, subresource: "status" };

  const table: readonly (readonly [what: string, found: KubernetesObject, conflict: RegExp | undefined])[] = [
    ["what we applied for this owner", ours, undefined],
    ["what we applied and a user took the references from", having({ ownerReferences: [] }), undefined],
    ["what another controller owns, offered or not", having({ ...adopt, ...ofWeb }, theirs), BY_WEB],
    ["what we applied and another controller has taken", having(ofWeb), BY_WEB],
    ["what another client made", theirs, BY_KUBECTL],
    [
      "what another client made with our labels",
      having({ labels: ours.metadata.labels ?? {} }, theirs),
      BY_KUBECTL,
    ],
    ["what another client made with a reference to this owner", having(ofOwner, theirs), BY_KUBECTL],
    [
      "what bears our manager's name alone",
      withEntry(ours, { fieldsV1: { "f:data": {} } }),
      new RegExp(`created by ${MANAGER}`),
    ],
    ["what another client offers", having(adopt, theirs), undefined],
    ["what another client does not offer", having(keep, theirs), BY_KUBECTL],
    ["what no known client made", observed("ConfigMap"), /managedFields do not say who created it/],
    [
      "what another client made and others report on",
      having({ managedFields: [...(theirs.metadata.managedFields ?? []), reporter] }, theirs),
      /created by kubectl$/,
    ],
  ];
  for (const [what, found, expected] of table) {
    it(`${expected ? "refuses" : "takes"} ${what}`, () => {
      if (expected) assert.match(conflict(found) ?? "", expected);
      else assert.equal(conflict(found), undefined);
    });
  }

  it("refuses a child of another owner, and names that one", () => {
    assert.equal(conflict(ours, "another-uid"), "it belongs to Widget shop/widget");
  });
});
