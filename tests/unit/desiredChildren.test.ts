import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { finalizersOf, formerIdentitiesOf } from "../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import { desiredChildren } from "../../runtime/write/desiredChildren";
import { CLUSTER_ROLES, CONFIG_MAPS, configMap, globalWidget, operator, widget } from "./support/objects";

describe("desiredChildren", () => {
  const clusterRole: Manifest = { ...configMap(), apiVersion: CLUSTER_ROLES.apiVersion, kind: "ClusterRole" };

  function desire(answered: Manifest[], object: KubernetesObject = widget(), more: Partial<Operator> = {}) {
    return desiredChildren(answered, object, operator(more), [CONFIG_MAPS, CLUSTER_ROLES]);
  }

  /** Why children are refused, which must be told as the handler's mistake. */
  function refusal(...given: Parameters<typeof desire>): string {
    try {
      desire(...given);
    } catch (error) {
      assert.ok(error instanceof ReconcileFailure, String(error));
      assert.equal(error.reason, "InvalidAnswer");
      return error.message;
    }
    assert.fail("it was not refused");
  }

  it("gives each child its kind as the API serves it, its policy and its owner", () => {
    const [first, second] = desire([clusterRole, configMap()]);
    assert.deepStrictEqual([first?.resource, first?.update], [CLUSTER_ROLES, "never"]);
    assert.deepStrictEqual([second?.resource, second?.update], [CONFIG_MAPS, "apply"]);
    assert.deepStrictEqual([first?.ownerUid, second?.ownerUid], ["widget-uid", "widget-uid"]);
    assert.equal(second?.manifest.metadata.ownerReferences?.[0]?.uid, "widget-uid");
  });

  it("refuses children of the last of twelve objects in a row, of which each is a child of the one before", () => {
    let object = widget();
    const levels: (string | undefined)[] = [];
    for (let level = 1; level <= 12; level++) {
      const [child] = desire([configMap({ annotations: { "argosy.dev/level": "0" } })], object);
      assert.ok(child);
      const { labels = {}, annotations } = child.manifest.metadata;
      levels.push(annotations?.["argosy.dev/level"]);
      object = widget({ labels, ...(annotations && { annotations }) });
    }
    assert.deepEqual(levels, [undefined, "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"]);
    assert.throws(() => desire([configMap()], object), {
      reason: "ChildCycle",
      permanent: true,
      message:
        /^this object is the last in a chain of 12 objects, each of which is a child of the one before/,
    });
    assert.deepEqual(desire([], object), []);
  });

  it("counts no object as a child only because a user annotated it so", () => {
    const forged = widget({ annotations: { "argosy.dev/level": "12" } });
    const [child] = desire([configMap()], forged);
    assert.equal(child?.manifest.metadata.annotations, undefined);
  });

  it("takes null for no owners and no finalizers", () => {
    const child = configMap();
    const metadata = { ...child.metadata, ownerReferences: null, finalizers: null };
    assert.equal(desire([{ ...child, metadata } as unknown as Manifest]).length, 1);
  });

  it("refuses a name that no object of its kind has, before anything is applied", () => {
    for (const name of ["Settings", "settings_1", "-settings", "settings.", "a:b"])
      assert.match(
        refusal([configMap({ name })]),
        /children\[0\] has the name .*each ConfigMap has one of lower-case/,
      );
    const role = { ...clusterRole, metadata: { ...clusterRole.metadata, name: "system:Reader" } };
    assert.equal(desire([configMap({ name: "a-1.b" }), role]).length, 2);
  });

  it("refuses a kind that is not declared, and tells which are", () => {
    const secret = { ...configMap(), kind: "Secret" };
    assert.match(
      refusal([configMap(), secret]),
      /children\[1\] is of kind Secret \(v1\), .*does not declare.*ConfigMap .*: argosy add child shop v1\/Secret\.$/,
    );
  });

  it("puts into a command only what can be a kind: a handler may have it from its object", () => {
    for (const odd of [{ kind: "$(reboot)" }, { kind: "A;b" }, { apiVersion: "`id`/v1" }, { kind: "--x y" }])
      assert.doesNotMatch(refusal([{ ...configMap(), ...odd }]), /argosy add/);
  });

  it("refuses any kind, and says why, if none is declared", () => {
    assert.match(
      refusal([configMap()], widget(), { children: [] }),
      /under "children", which is empty\. To declare it: /,
    );
  });

  it("refuses a kind that is retired, and does not tell it among those that are declared", () => {
    const [first, second] = operator().children;
    assert.ok(first && second);
    const children = [{ ...first, retired: true }, second];
    assert.match(
      refusal([configMap()], widget(), { children }),
      /children\[0\] is of kind ConfigMap \(v1\), which operator\.yaml declares as retired/,
    );
    const known = refusal([{ ...configMap(), kind: "Secret" }], widget(), { children });
    assert.match(known, /"children": ClusterRole \(rbac\.authorization\.k8s\.io\/v1\)\./);
  });

  it("takes the same kind of another version for another kind", () => {
    assert.match(refusal([{ ...configMap(), apiVersion: "v2" }]), /ConfigMap \(v2\)/);
  });

  it("says what brings a kind that the cluster does not serve, if the answer itself has its CRD", () => {
    const gadget = { ...configMap(), apiVersion: "g.example.com/v1", kind: "Gadget" };
    const crd = (group: string): Manifest => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `gadgets.${group}` },
      spec: { group, names: { kind: "Gadget" } },
    });
    const children = [gadget, crd("g.example.com")].map(({ apiVersion, kind }) => {
      return { apiVersion, kind, plural: `${kind.toLowerCase()}s`, update: "apply" as const, retired: false };
    });
    const missing = (answered: Manifest[]) => {
      try {
        desiredChildren(answered, widget(), operator({ children }), [CONFIG_MAPS]);
      } catch (error) {
        assert.ok(error instanceof ReconcileFailure && error.reason === "KindMissing", String(error));
        return error.message;
      }
      assert.fail("it was not missed");
    };
    assert.match(
      missing([gadget, crd("g.example.com")]),
      /Return Gadget only if gadgets\.g\.example\.com is among the observed children and has the condition Established\.$/,
    );
    assert.match(missing([gadget, crd("other.example.com")]), /Install the software that provides the kind/);
    assert.match(missing([gadget]), /Install the software that provides the kind/);
  });

  it("refuses a child without a namespace where the object itself has none", () => {
    assert.match(refusal([configMap()], globalWidget()), /needs a metadata\.namespace/);
    assert.equal(desire([configMap({ namespace: "shop" }), clusterRole], globalWidget()).length, 2);
  });

  it("refuses a namespace that is not the operator's", () => {
    const namespaces = ["shop", "warehouse"];
    const elsewhere = configMap({ namespace: "elsewhere" });
    assert.match(
      refusal([elsewhere], widget(), { namespaces }),
      /is in namespace elsewhere, .*does not list/,
    );
    const inside = [configMap({ namespace: "warehouse" }), configMap(), clusterRole];
    assert.equal(desire(inside, widget(), { namespaces }).length, 3);
  });

  it("refuses a child that is answered twice, however its namespace is written", () => {
    assert.match(refusal([configMap(), configMap()]), /children\[1\] is ConfigMap .*shop\/settings.* twice/);
    assert.match(refusal([configMap(), configMap({ namespace: "shop" })]), /twice/);
    assert.match(
      refusal([clusterRole, { ...clusterRole, metadata: { name: "settings", namespace: "x" } }]),
      /twice/,
    );
    const different = [
      configMap(),
      configMap({ namespace: "elsewhere" }),
      configMap({ name: "b" }),
      clusterRole,
    ];
    assert.equal(desire(different).length, 4);
  });

  it("refuses a child with its own operator's finalizer, which would never be removed, and accepts any other", () => {
    const former = { formerNames: ["old"] };
    const [before] = formerIdentitiesOf(operator(former));
    assert.ok(before);
    for (const finalizer of [...finalizersOf(operator()), ...finalizersOf(before)])
      assert.match(
        refusal([configMap(), configMap({ name: "b", finalizers: [finalizer] })], widget(), former),
        /children\[1\] has the finalizer ((elsewhere|order)\.)?argosy\.dev\/.*, which is for objects of the operator itself/,
      );
    assert.equal(desire([configMap({ finalizers: ["shop.example.com/stock"] })]).length, 1);
  });

  it("refuses a child that names another owner, and takes one that names its own", () => {
    const reference = {
      apiVersion: "shop.example.com/v1",
      kind: "Widget",
      name: "widget",
      uid: "widget-uid",
    };
    assert.equal(desire([configMap({ ownerReferences: [reference] })]).length, 1);
    const foreign = { ...reference, name: "another", uid: "another-uid" };
    assert.match(
      refusal([configMap({ ownerReferences: [reference, foreign] })]),
      /names Widget another as its owner/,
    );
  });
});
