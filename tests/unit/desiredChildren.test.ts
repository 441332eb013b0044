import assert from "node:assert/strict";
import fc from "fast-check";
import { type FailureReason, ReconcileFailure } from "../../runtime/base/failure";
import { finalizersOf, formerIdentitiesOf, ownerRangeOf } from "../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { appliedMarks, checkMarks } from "../../runtime/observe/marks";
import type { Operator } from "../../runtime/operator/definition";
import {
  childKey,
  contentOf,
  desiredChildren,
  inApplyOrder,
  orderOf,
  shortName,
} from "../../runtime/write/desiredChildren";
import { CLUSTER_ROLES, CONFIG_MAPS, configMap, operator, widget } from "./support/objects";

/** Why an answer is refused, which must be told as the handler's mistake, or as a lack of the cluster. */
function whyRefused(read: () => unknown, reason: FailureReason = "InvalidAnswer"): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ReconcileFailure, String(error));
    assert.equal(error.reason, reason);
    return error.message;
  }
  assert.fail("it was not refused");
}

describe("desiredChildren", () => {
  const clusterRole: Manifest = { ...configMap(), apiVersion: CLUSTER_ROLES.apiVersion, kind: "ClusterRole" };

  function desire(answered: Manifest[], object: KubernetesObject = widget(), more: Partial<Operator> = {}) {
    return desiredChildren(answered, object, operator(more), [CONFIG_MAPS, CLUSTER_ROLES]);
  }

  const refusal = (...given: Parameters<typeof desire>) => whyRefused(() => desire(...given));

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
    const missing = (answered: Manifest[]) =>
      whyRefused(
        () => desiredChildren(answered, widget(), operator({ children }), [CONFIG_MAPS]),
        "KindMissing",
      );
    assert.match(
      missing([gadget, crd("g.example.com")]),
      /Return Gadget only if gadgets\.g\.example\.com is among the observed children and has the condition Established\.$/,
    );
    assert.match(missing([gadget, crd("other.example.com")]), /Install the software that provides the kind/);
    assert.match(missing([gadget]), /Install the software that provides the kind/);
  });

  it("refuses a namespace that is not the operator's", () => {
    const namespaces = ["shop", "warehouse"];
    const elsewhere = configMap({ namespace: "elsewhere" });
    assert.match(
      refusal([elsewhere], widget(), { namespaces }),
      /is in namespace elsewhere, .*does not list/,
    );
    assert.equal(
      desire([configMap({ namespace: "warehouse" }), clusterRole], widget(), { namespaces }).length,
      2,
    );
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
});

const CHILDREN = { children: [{ ...CONFIG_MAPS, update: "apply" as const }] };

describe("Argosy's labels and annotations in an answer", () => {
  const refusal = (metadata: Parameters<typeof configMap>[0]) => {
    const answered = [configMap(), configMap({ name: "other", ...metadata })];
    return whyRefused(() => desiredChildren(answered, widget(), operator(CHILDREN), [CONFIG_MAPS]));
  };

  it("are refused if they are unknown, with what a handler may mean", () => {
    assert.match(
      refusal({ annotations: { "argosy.dev/aftr": "ConfigMap/b" } }),
      /children\[1\]\.metadata\.annotations has "argosy\.dev\/aftr", which Argosy does not know: .* argosy\.dev\/after and argosy\.dev\/once\.$/,
    );
    assert.match(
      refusal({ labels: { a: "b", "argosy.dev/use-by": "argosy.shop" } }),
      /children\[1\]\.metadata\.labels has "argosy\.dev\/use-by", which Argosy does not know: .* argosy\.dev\/used-by\.$/,
    );
    // A label is no annotation.
    assert.match(refusal({ labels: { "argosy.dev/paused": "true" } }), /labels has "argosy\.dev\/paused"/);
  });

  it("are refused if one is argosy.dev/keep, and nothing keeps a child", () => {
    assert.match(
      refusal({ annotations: { "argosy.dev/keep": "true" } }),
      /annotations has "argosy\.dev\/keep", which Argosy does not know: argosy\.dev\/once lets a child be created only once, and no annotation keeps a child when its object goes\.$/,
    );
  });

  it("are refused if one says that the child was truncated in the request, since it would lose its fields", () => {
    assert.match(
      refusal({ annotations: { "argosy.dev/truncated": "true" } }),
      /annotations has "argosy\.dev\/truncated", so it is the part of a child .*: return the whole child\.$/,
    );
  });

  it("are those of others all the same", () => {
    const foreign = {
      "argosy.example.com/keep": "a",
      "example.com/argosy.dev": "b",
      "argosy.devious/x": "c",
    };
    checkMarks({ name: "a", labels: foreign, annotations: foreign }, "children[0]");
    assert.deepEqual(appliedMarks({ name: "a", labels: foreign, annotations: foreign }), {
      labels: foreign,
      annotations: foreign,
    });
  });

  it("make no child look like its object, that was made of an event, if a handler copies them all", () => {
    const copied = {
      labels: { app: "a", "argosy.dev/event": "deploy", "argosy.dev/child-of": "argosy.other" },
      annotations: { note: "a", "argosy.dev/event-id": "7", "argosy.dev/event-content": "x" },
    };
    const object = widget({ name: "deploy-1", ...copied });
    const [child] = desiredChildren([configMap(copied)], object, operator(CHILDREN), [CONFIG_MAPS]);
    assert.deepEqual(child?.manifest.metadata.labels, {
      app: "a",
      "argosy.dev/child-of": "argosy.shop",
      "argosy.dev/owner-range": ownerRangeOf("widget-uid"),
      "argosy.dev/owner-uid": "widget-uid",
    });
    assert.deepEqual(child?.manifest.metadata.annotations, { note: "a", "argosy.dev/level": "2" });
  });
});

/** A child of an answer, by "Kind.group/namespace/name", and what it comes after. */
function child(path: string, after?: string, more: Record<string, string> = {}): Manifest {
  const [kind = "", namespace = "", name = ""] = path.split("/");
  const [bare = "", ...group] = kind.split(".");
  const annotations = { ...(after !== undefined && { "argosy.dev/after": after }), ...more };
  const apiVersion = group.length === 0 ? "v1" : `${group.join(".")}/v1`;
  return { apiVersion, kind: bare, metadata: { name, ...(namespace && { namespace }), annotations } };
}

function order(...answered: Manifest[]) {
  return orderOf(
    answered,
    answered.map((manifest) => ({ resource: manifest, manifest })),
  );
}

const refusal = (...answered: Manifest[]) => whyRefused(() => order(...answered));

describe("the order of children", () => {
  it("is none where no child asks for one", () => {
    const none = { after: [], isOnce: false, isAwaited: false };
    assert.deepEqual(order(child("ConfigMap/shop/a"), child("Job.batch/shop/b", " , ")), [none, none]);
  });

  it("is none where annotations are null, as an empty field of YAML is", () => {
    const { metadata, ...rest } = child("ConfigMap/shop/a");
    const empty = { ...rest, metadata: { ...metadata, annotations: null } } as unknown as Manifest;
    assert.deepEqual(order(empty), [{ after: [], isOnce: false, isAwaited: false }]);
  });

  it("is read from references by kind and name, no matter who comes first in the answer", () => {
    const [set, job, settings] = order(
      child("StatefulSet.apps/shop/db", "Job/migrate, ConfigMap/shop/settings,Job.batch/migrate"),
      child("Job.batch/shop/migrate", undefined, { "argosy.dev/once": "true" }),
      child("ConfigMap/shop/settings", "", { "argosy.dev/once": "false" }),
    );
    assert.deepEqual(set, {
      after: ["batch/Job/shop/migrate", "ConfigMap/shop/settings"],
      isOnce: false,
      isAwaited: false,
    });
    assert.deepEqual(job, { after: [], isOnce: true, isAwaited: true });
    assert.deepEqual(settings, { after: [], isOnce: false, isAwaited: true });
  });

  it("tells children of one kind and name apart by group and namespace", () => {
    const twins = [
      child("Service/shop/web"),
      child("Service.serving.knative.dev/shop/web"),
      child("Service/depot/web"),
      child("ClusterRole.rbac.authorization.k8s.io//web"),
    ];
    const waitsFor = (reference: string) => order(child("ConfigMap/shop/a", reference), ...twins)[0]?.after;
    assert.deepEqual(waitsFor("Service.serving.knative.dev/web"), ["serving.knative.dev/Service/shop/web"]);
    assert.deepEqual(waitsFor("Service/depot/web"), ["Service/depot/web"]);
    assert.deepEqual(waitsFor("Service.core/shop/web"), ["Service/shop/web"]);
    assert.deepEqual(waitsFor("ClusterRole/web"), ["rbac.authorization.k8s.io/ClusterRole/web"]);
    for (const reference of ["Service/web", "Service/shop/web", "Service.core/web"])
      assert.match(
        refusal(child("ConfigMap/shop/a", reference), ...twins),
        /several such children: write Kind\.group\/name/,
      );
  });

  const refused: [string, string, RegExp][] = [
    [
      "a child that is not in the answer",
      "Job/other",
      /names "Job\/other", which is not a child in this answer/,
    ],
    ["a child in another namespace", "ConfigMap/depot/a", /not a child in this answer/],
    ["a name alone", "migrate", /has "migrate", which is not like "Job\/migrate"/],
    ["a kind in lower case", "configmap/a", /not like "Job\/migrate"/],
    ["a path that is too long", "ConfigMap/a/b/c", /not like "Job\/migrate"/],
    ["itself", "ConfigMap/b", /wait for each other by argosy\.dev\/after: ConfigMap b after ConfigMap b/],
  ];
  for (const [what, after, problem] of refused) {
    it(`refuses to wait for ${what}`, () => {
      assert.match(refusal(child("ConfigMap/shop/a"), child("ConfigMap/shop/b", after)), problem);
    });
  }

  it("refuses children that wait for each other, and names the round without those that only wait for it", () => {
    const message = refusal(
      child("ConfigMap/shop/outside", "ConfigMap/a"),
      child("ConfigMap/shop/a", "ConfigMap/free, ConfigMap/b"),
      child("ConfigMap/shop/b", "ConfigMap/c"),
      child("ConfigMap/shop/c", "ConfigMap/a"),
      child("ConfigMap/shop/free"),
    );
    assert.match(message, /: ConfigMap a after ConfigMap b after ConfigMap c after ConfigMap a\.$/);
  });

  it("refuses a round however long it is, in few words", () => {
    const names = Array.from({ length: 3_000 }, (_, at) => `c${at}`);
    const round = names.map((name, at) => child(`ConfigMap/shop/${name}`, `ConfigMap/${names.at(at - 1)}`));
    assert.ok(refusal(...round).length < 300);
    assert.equal(order(child("ConfigMap/shop/c0"), ...round.slice(1)).length, 3_000);
  });

  it("refuses what is neither true nor false", () => {
    const unclear = child("ConfigMap/shop/a", undefined, { "argosy.dev/once": "yes" });
    assert.match(refusal(unclear), /\["argosy\.dev\/once"\] is "yes", and must be "true" or "false"/);
  });

  it("is refused exactly if there is a round", () => {
    const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 14 });
    fc.assert(
      fc.property(edges, (pairs) => {
        const next = (at: number) => pairs.filter(([from]) => from === at).map(([, to]) => to);
        const children = Array.from({ length: 8 }, (_, at) =>
          child(
            `ConfigMap/shop/c${at}`,
            next(at)
              .map((to) => `ConfigMap/c${to}`)
              .join(","),
          ),
        );
        const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
          next(from).some((step) => step === to || (!seen.has(step) && reaches(step, to, seen.add(step))));
        const isRound = Array.from({ length: 8 }, (_, at) => reaches(at, at)).some(Boolean);
        if (isRound) assert.match(refusal(...children), /wait for each other/);
        else assert.equal(order(...children).length, 8);
      }),
    );
  });

  it("knows a child by its kind and name, and what it is by all but its metadata", () => {
    const job = { ...child("Job.batch/shop/migrate"), spec: { template: {} } };
    const named = (manifest: Manifest) => ({ resource: manifest, manifest });
    assert.equal(shortName(childKey(named(job))), "Job migrate");
    assert.equal(shortName(childKey(named(child("ConfigMap//a")))), "ConfigMap a");
    assert.equal(shortName(childKey(named(child("ConfigMap/v1/a")))), "ConfigMap a");
    const later = { ...job, apiVersion: "batch/v2" };
    assert.equal(childKey(named(later)), childKey(named(job)));
    assert.equal(contentOf(named(later)), contentOf(named(job)));
    const labelled = { ...job, metadata: { ...job.metadata, labels: { a: "b" } } };
    assert.equal(contentOf(named(job)), contentOf(named(labelled)));
    assert.notEqual(contentOf(named(job)), contentOf(named({ ...job, spec: {} })));
  });
});

describe("inApplyOrder", () => {
  const kindsIn = (...kinds: string[]) =>
    inApplyOrder(kinds.map((kind) => ({ resource: { kind } }))).map((group) =>
      group.map(({ resource }) => resource.kind),
    );

  it("puts first what others need to exist", () => {
    assert.deepStrictEqual(
      kindsIn("Deployment", "RoleBinding", "ConfigMap", "Namespace", "Service", "ServiceAccount", "Role"),
      [["Namespace"], ["ConfigMap", "ServiceAccount", "Role"], ["RoleBinding"], ["Deployment", "Service"]],
    );
  });

  it("makes no group of nothing", () => {
    assert.deepStrictEqual(kindsIn(), []);
    assert.deepStrictEqual(kindsIn("Widget"), [["Widget"]]);
  });

  it("loses no child, and keeps the order within a kind", () => {
    const child = fc.record({
      resource: fc.record({ kind: fc.constantFrom("Namespace", "Secret", "RoleBinding", "Job", "Widget") }),
      id: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(child), (children) => {
        const flat = inApplyOrder(children).flat();
        assert.equal(flat.length, children.length);
        for (const { resource } of children) {
          const sameKind = (other: (typeof children)[number]) => other.resource.kind === resource.kind;
          assert.deepStrictEqual(flat.filter(sameKind), children.filter(sameKind));
        }
      }),
    );
  });
});
