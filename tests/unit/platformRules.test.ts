import assert from "node:assert/strict";
import fc from "fast-check";
import type { PlatformOptions } from "../../components/manifests/platform/options";
import type { Manifest } from "../../runtime/base/objects";
import type { PolicyRule } from "../../runtime/operator/definition";
import { anyPlatformOptions, everyManifest, platformOptions } from "./support/platform";

/** A right as RBAC grants it: "in NAMESPACE: VERB GROUP/RESOURCE", with "[NAME]" where it is narrowed to one. */
function rightsOf(options: PlatformOptions, account: string): string[] {
  const manifests = everyManifest(options);
  const bound = manifests.filter(({ kind, subjects }) => {
    const names = (subjects as { name: string }[] | undefined)?.map(({ name }) => name);
    return kind === "RoleBinding" && names?.includes(account);
  });
  return bound.flatMap(({ metadata: { namespace }, roleRef }) => {
    const { name } = roleRef as { name: string };
    const role = manifests.find(
      ({ kind, metadata }) => kind === "Role" && metadata.name === name && metadata.namespace === namespace,
    );
    assert.ok(role, name);
    return (role.rules as PolicyRule[]).flatMap((rule) =>
      rule.apiGroups.flatMap((group) =>
        rule.resources.flatMap((resource) =>
          rule.verbs.flatMap((verb) =>
            (rule.resourceNames ?? [""]).map(
              (only) => `in ${namespace}: ${verb} ${group}/${resource}${only && `[${only}]`}`,
            ),
          ),
        ),
      ),
    );
  });
}

const ACCOUNTS = [
  "argo-events-controller",
  "workflow-controller",
  "argo-server",
  "argosy-viewer",
  "argosy-submitter",
];
const options = platformOptions();
const own = (rights: readonly string[]) => rights.filter((right) => right.startsWith("in argosy-system:"));

describe("the platform's rights", () => {
  it("hold in the two namespaces only, and in no whole cluster", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (any) => {
        const kinds = everyManifest(any).map(({ kind }) => kind);
        assert.ok(!kinds.some((kind) => kind.startsWith("ClusterRole")));
      }),
    );
  });

  it("have no wildcard, and nothing by which an account gains the rights of another one", () => {
    const rights = ACCOUNTS.flatMap((account) => rightsOf(options, account));
    assert.ok(rights.length > 100);
    assert.deepStrictEqual(
      rights.filter((right) =>
        /\*|escalate|bind |impersonate|pods\/(exec|attach|portforward|ephemeralcontainers)|serviceaccounts|nodes|scale/.test(
          right,
        ),
      ),
      [],
    );
  });

  it("are said once each", () => {
    for (const account of ACCOUNTS) {
      const rights = rightsOf(options, account);
      assert.equal(new Set(rights).size, rights.length, account);
    }
  });

  it("are bound to accounts that exist", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (any) => {
        const manifests = everyManifest(any);
        const idOf = ({ metadata: { namespace, name } }: Pick<Manifest, "metadata">) =>
          `${namespace}/${name}`;
        const accounts = manifests.filter(({ kind }) => kind === "ServiceAccount").map(idOf);
        for (const { subjects } of manifests.filter(({ kind }) => kind === "RoleBinding")) {
          for (const { namespace, name } of subjects as { namespace: string; name: string }[]) {
            assert.ok(accounts.includes(`${namespace}/${name}`));
          }
        }
      }),
    );
  });

  it("let only the events controller at Secrets, and not read one by its name", () => {
    for (const account of ACCOUNTS) {
      const secrets = rightsOf(options, account).filter((right) => right.includes("/secrets"));
      const expected = ["list", "create", "delete"].map((verb) => `in argosy: ${verb} /secrets`);
      assert.deepStrictEqual(secrets, account === "argo-events-controller" ? expected : [], account);
    }
  });

  it("let the events controller replace the Service of an event source, and delete one that has no port left", () => {
    const services = rightsOf(options, "argo-events-controller").filter((right) =>
      right.endsWith("/services"),
    );
    const verbs = ["list", "watch", "create", "delete"];
    assert.deepStrictEqual(
      services.filter((right) => !right.includes("update")),
      verbs.map((verb) => `in argosy: ${verb} /services`),
    );
  });

  it("let the events controller do nothing in its own namespace", () => {
    assert.deepStrictEqual(own(rightsOf(options, "argo-events-controller")), []);
  });

  it("let the Workflow controller and argo-server read their configuration in theirs, and nothing else", () => {
    const configuration = "in argosy-system: get /configmaps[workflow-controller-configmap]";
    assert.deepStrictEqual(own(rightsOf(options, "workflow-controller")), [configuration]);
    assert.deepStrictEqual(own(rightsOf(options, "argo-server")), [configuration]);
  });

  it("let the Workflow controller write both parts of a task set, as a completed one needs", () => {
    const rights = rightsOf(options, "workflow-controller");
    for (const resource of ["workflowtasksets", "workflowtasksets/status"]) {
      assert.ok(rights.includes(`in argosy: patch argoproj.io/${resource}`));
    }
  });

  it("let the Workflow controller mark a Workflow as archived after the archive was removed, so that the Workflow can go", () => {
    assert.ok(rightsOf(options, "workflow-controller").includes("in argosy: patch argoproj.io/workflows"));
  });

  it("let argo-server only list and watch", () => {
    const rights = rightsOf(options, "argo-server").filter((right) => right.startsWith("in argosy:"));
    assert.deepStrictEqual(rights, [
      "in argosy: list argoproj.io/workflows",
      "in argosy: watch argoproj.io/workflows",
      "in argosy: list argoproj.io/workflowtemplates",
      "in argosy: watch argoproj.io/workflowtemplates",
    ]);
  });

  it("let the viewer read, and neither change anything nor read what may be secret", () => {
    const rights = rightsOf(options, "argosy-viewer");
    assert.ok(rights.includes("in argosy: get /pods/log"));
    for (const right of rights) {
      assert.match(right, /^in argosy: (get|list|watch) /);
      assert.doesNotMatch(right, /secrets|configmaps/);
    }
  });

  it("let the submitter do what the viewer may, and create Workflows", () => {
    const [viewer, submitter] = [rightsOf(options, "argosy-viewer"), rightsOf(options, "argosy-submitter")];
    const further = submitter.filter((right) => !viewer.includes(right));
    assert.deepStrictEqual(further, ["in argosy: create argoproj.io/workflows"]);
    assert.equal(submitter.length, viewer.length + 1);
  });

  it("let no person create Workflows next to another program's controller, which may accept any Workflow", () => {
    const mayCreate = (options: PlatformOptions) =>
      ACCOUNTS.filter((account) =>
        rightsOf(options, account).includes("in argosy: create argoproj.io/workflows"),
      );
    assert.deepStrictEqual(mayCreate(options), ["workflow-controller", "argosy-submitter"]);
    for (const argoWorkflows of ["share", "adopt", "none"] as const) {
      const people = mayCreate(platformOptions({ argoWorkflows })).filter((who) => who.startsWith("argosy-"));
      assert.deepStrictEqual(people, [], argoWorkflows);
    }
  });
});
