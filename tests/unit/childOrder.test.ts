import assert from "node:assert/strict";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { Manifest } from "../../runtime/base/objects";
import { childKey, contentOf, orderOf, shortName } from "../../runtime/write/desiredChildren";

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

function refusal(...answered: Manifest[]): string {
  try {
    order(...answered);
  } catch (error) {
    assert.ok(error instanceof ReconcileFailure, String(error));
    assert.equal(error.reason, "InvalidAnswer");
    return error.message;
  }
  assert.fail("it was not refused");
}

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
