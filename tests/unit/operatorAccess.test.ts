import assert from "node:assert/strict";
import type { ManifestSet } from "../../components/manifests/metadata";
import { buildAccess } from "../../components/manifests/operator/rbac";
import type { Operator, PolicyRule } from "../../runtime/operator/definition";
import { operatorOptions, rights } from "./operatorManifests";
import { assertNone } from "./support/lists";
import { operator } from "./support/objects";

const RULES = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }];

const build = (more: Partial<Operator> = {}) => buildAccess(operator(more), operatorOptions());
const rulesOf = (set: ManifestSet, key: string) => set[key]?.rules as PolicyRule[] | undefined;

const OWN_KIND = [
  "all: shop.example.com/widgets get,list,watch,patch",
  "all: shop.example.com/widgets/status patch",
  "all: shop.example.com/widgets/finalizers update",
];
const WIDGETS = [
  ...OWN_KIND,
  "all: /configmaps get,list,watch,create,patch,delete",
  "all: rbac.authorization.k8s.io/clusterroles get,list,watch,create,patch,delete",
  "all: events.k8s.io/events create,patch",
];

describe("buildAccess", () => {
  it("lets a resident runner reconcile, lead, record, and answer what is submitted", () => {
    assert.deepStrictEqual(rights(build(), "shop-runner"), [
      ...WIDGETS,
      "argosy: coordination.k8s.io/leases create",
      "argosy: coordination.k8s.io/leases get,update,patch [argosy-argosy.shop]",
      "argosy: argoproj.io/workflows get,create",
      "argosy: argoproj.io/workflowtasksets list,watch",
      "argosy: argoproj.io/workflowtasksets/status patch",
    ]);
  });

  const watch = { labels: {}, on: ["spec"] } as const;

  it("lets a runner only read what it watches, where it watches, and remember it in its own namespace", () => {
    const given = rights(build({ watch, namespaces: ["a"], children: [] }), "shop-runner");
    assert.deepStrictEqual(given.slice(0, 3), [
      "all: /namespaces get [a]",
      "a: shop.example.com/widgets get,list,watch",
      "a: events.k8s.io/events create,patch",
    ]);
    assert.ok(given.includes("argosy: argosy.dev/memories get,list,watch,create,patch,delete"), given.join());
    assert.ok(given.slice(3).every((right) => right.startsWith("argosy: ")));
  });

  it("lets a run only read what its operator watches, and remember its own object", () => {
    const given = rights(build({ watch, execution: "pod" }), "shop-run");
    assert.deepStrictEqual(
      given.filter((right) => /widgets|memories/.test(right)),
      ["all: shop.example.com/widgets get,list,watch", "argosy: argosy.dev/memories get,create,patch,delete"],
    );
  });

  it("lets it drop a finalizer everywhere, see that a listed namespace is gone, and touch children in these alone", () => {
    const children = [
      { apiVersion: "v1", kind: "ConfigMap", update: "apply", plural: "configmaps" },
    ] as const;
    const given = rights(build({ namespaces: ["a", "b"], children }), "shop-runner");
    const here = (where: string) => [
      `${where}: /configmaps get,list,watch,create,patch,delete`,
      `${where}: events.k8s.io/events create,patch`,
    ];
    const namespaces = "all: /namespaces get [a,b]";
    assert.deepStrictEqual(given.slice(0, 8), [...OWN_KIND, namespaces, ...here("a"), ...here("b")]);
    assert.ok(
      given.slice(8).every((right) => right.startsWith("argosy: ")),
      given.join("\n"),
    );
  });

  it("lets it find and delete what is left of a retired kind, and no more", () => {
    const [maps, roles] = operator().children;
    assert.ok(maps && roles);
    const children = [maps, { ...roles, retired: true }];
    assert.deepStrictEqual(
      rights(build({ children }), "shop-runner").filter((right) => /configmaps|clusterroles/.test(right)),
      [
        "all: /configmaps get,list,watch,create,patch,delete",
        "all: rbac.authorization.k8s.io/clusterroles get,list,watch,delete",
      ],
    );
  });

  for (const execution of ["resident", "pod"] as const) {
    const [who, other] = execution === "pod" ? ["shop-run", "shop-runner"] : ["shop-runner", "shop-run"];

    it(`lets only ${who} hold what its children may grant`, () => {
      const rbac = "rbac.authorization.k8s.io";
      const grants = [
        ...RULES,
        { apiGroups: [rbac], resources: ["clusterroles"], verbs: ["bind"], resourceNames: ["view"] },
      ];
      const held = (where: string) => [
        `${where}: batch/jobs get`,
        `${where}: ${rbac}/clusterroles bind [view]`,
      ];
      const set = build({ execution, grants });
      const added = rights(set, who).filter((right) => !rights(build({ execution }), who).includes(right));
      assert.deepStrictEqual(added, held("all"));
      assert.deepStrictEqual(rulesOf(set, `${who.replace("shop-", "")}-grants-role`), grants);
      assert.deepStrictEqual(rights(set, other), rights(build({ execution }), other), other);
      const scoped = rights(build({ execution, grants, namespaces: ["a", "b"] }), who);
      for (const right of [...held("a"), ...held("b")]) assert.ok(scoped.includes(right), right);
      for (const right of held("all")) assert.ok(!scoped.includes(right), right);
    });
  }

  it("names roles by the installation too, since another may have an operator of this name", () => {
    const named = Object.values(build({ installation: "till", rules: RULES })).filter(({ kind }) =>
      /Role/.test(kind),
    );
    assert.ok(named.length > 5);
    for (const { metadata } of named) assert.match(metadata.name, /^till\.shop-/);
  });

  it("lets a run in a pod of its own reconcile, read what it was submitted with, and report", () => {
    assert.deepStrictEqual(rights(build({ execution: "pod" }), "shop-run"), [
      ...WIDGETS,
      "argosy: argoproj.io/workflows get",
      "argosy: argoproj.io/workflowtaskresults create,patch",
    ]);
  });

  it("lets a runner that begins runs see the objects, make and delete Workflows, report, and delete what is left", () => {
    const sees = (namespaces: Operator["namespaces"]) =>
      rights(build({ execution: "pod", namespaces }), "shop-runner");
    const objects = [
      "all: shop.example.com/widgets get,list,watch",
      "all: shop.example.com/widgets/status patch",
    ];
    const others = (where: string) => [
      `${where}: /configmaps get,list,watch,delete`,
      `${where}: rbac.authorization.k8s.io/clusterroles get,list,watch,delete`,
      `${where}: events.k8s.io/events create,patch`,
    ];
    const home = [
      "argosy: coordination.k8s.io/leases create",
      "argosy: coordination.k8s.io/leases get,update,patch [argosy-argosy.shop]",
      "argosy: argoproj.io/workflows get,list,watch,create,delete",
      "argosy: argoproj.io/workflowtemplates get,list,watch [shop]",
    ];
    assert.deepStrictEqual(sees("all"), [...objects, ...others("all"), ...home]);
    const listed = "all: /namespaces get [a,b]";
    assert.deepStrictEqual(sees(["a", "b"]), [...objects, listed, ...others("a"), ...others("b"), ...home]);
  });

  for (const execution of ["resident", "pod"] as const) {
    it(`gives a handler with rules exactly these, and its engine its token alone: ${execution}`, () => {
      const set = build({ execution, rules: RULES });
      const engine = execution === "pod" ? "shop-run" : "shop-runner";
      assert.deepStrictEqual(rights(set, "shop-handler"), ["all: batch/jobs get"]);
      assert.deepStrictEqual(rulesOf(set, "handler-role"), RULES);
      assert.ok(
        rights(set, engine).includes("argosy: /serviceaccounts/token create [shop-handler]"),
        rights(set, engine).join("\n"),
      );
      assert.ok(!rights(set, engine).some((right) => right.includes("batch/")));
      const scoped = build({ execution, rules: RULES, namespaces: ["a"] });
      assert.deepStrictEqual(rights(scoped, "shop-handler"), ["a: batch/jobs get"]);
    });

    it(`makes no account for a handler without rules: ${execution}`, () => {
      const keys = Object.keys(build({ execution }));
      assertNone(keys, (key) => /handler|token/.test(key));
    });
  }

  it("names accounts and roles by what they are for", () => {
    assert.deepStrictEqual(Object.keys(build({ rules: RULES, namespaces: ["a"] })), [
      "runner-account",
      "runner-role",
      "runner-role-binding",
      "runner-role.a",
      "runner-role-binding.a",
      "runner-lease-role.argosy",
      "runner-lease-role-binding.argosy",
      "runner-workflows-role.argosy",
      "runner-workflows-role-binding.argosy",
      "runner-token-role.argosy",
      "runner-token-role-binding.argosy",
      "handler-account",
      "handler-role.a",
      "handler-role-binding.a",
    ]);
  });

  it("gives no two objects of a kind one name", () => {
    for (const execution of ["resident", "pod"] as const) {
      for (const namespaces of ["all", ["argosy", "b"]] as const) {
        const manifests = Object.values(build({ execution, namespaces, rules: RULES }));
        const names = manifests.map(
          ({ kind, metadata: { namespace, name } }) => `${kind} ${namespace ?? "-"} ${name}`,
        );
        assert.equal(new Set(names).size, names.length, names.join("\n"));
      }
    }
  });

  describe("for what objects use", () => {
    const secret = { apiVersion: "v1", kind: "Secret", plural: "secrets" };
    const map = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" };
    const uses = {
      named: { ...secret, name: "spec.secret" },
      listed: { ...secret, name: "'a'" },
      restricted: { ...secret, name: "spec.other", names: ["b", "a"] },
      shared: { ...map, name: "'settings'", namespace: "shared" },
      peers: {
        apiVersion: "shop.example.com/v1",
        kind: "Widget",
        plural: "widgets",
        labels: { app: "spec.app" },
      },
    };
    const used = (more: Partial<Operator>, account: string) =>
      rights(build({ children: [], uses, ...more }), account).filter(
        (right) => /secrets|configmaps/.test(right) || /widgets (get,list,watch|list|get)$/.test(right),
      );

    it("a resident runner reads no Secret of all namespaces but by its name", () => {
      assert.deepStrictEqual(used({}, "shop-runner"), [
        "all: /secrets get",
        "all: /secrets get,list,watch [a,b]",
        "all: shop.example.com/widgets get,list,watch",
        "shared: /configmaps get,list,watch [settings]",
      ]);
    });

    it("the rights hold in the listed namespaces alone, and in those that the definition names", () => {
      assert.deepStrictEqual(used({ namespaces: ["x"] }, "shop-runner"), [
        "x: /secrets get,list,watch",
        "x: /secrets get,list,watch [a,b]",
        "x: shop.example.com/widgets get,list,watch",
        "shared: /configmaps get,list,watch [settings]",
      ]);
    });

    it("a run in a pod gets what its object names, and the runner watches", () => {
      const pod = { execution: "pod", namespaces: ["x"] } as const;
      assert.deepStrictEqual(used(pod, "shop-run"), [
        "x: /secrets get",
        "x: /secrets get [a,b]",
        "x: shop.example.com/widgets list",
        "shared: /configmaps get [settings]",
      ]);
      assert.deepStrictEqual(used(pod, "shop-runner"), [
        "all: shop.example.com/widgets get,list,watch",
        "x: /secrets get,list,watch",
        "x: /secrets get,list,watch [a,b]",
        "x: shop.example.com/widgets get,list,watch",
        "shared: /configmaps get,list,watch [settings]",
      ]);
    });
  });
});
