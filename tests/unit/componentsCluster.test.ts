import assert from "node:assert/strict";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { ArgoPlatformArgs, ClusterArgs, OperatorsArgs } from "../../components/arguments/arguments";
import { provideCluster } from "../../components/inCluster/cluster";
import { Operators } from "../../components/operators";
import { checkCustomResources } from "../../preflight/checkCustomResources";
import { checkInstallation } from "../../preflight/checkInstallation";
import { checkOperatorNames } from "../../preflight/checkOperatorNames";
import type { Found } from "../../preflight/lookInCluster";
import type { ObjectMeta } from "../../runtime/base/objects";
import { anotherCopy } from "./support/anotherCopy";
import { logged, named, refused } from "./support/componentRuns";
import { fakeLook, found } from "./support/fakeLook";
import { assertNone } from "./support/lists";
import { run } from "./support/program";
import { EVERY_FORM, sampleProgram } from "./support/sampleOperators";

describe("the components and the cluster", function () {
  this.timeout(60_000);
  const gears = sampleProgram([{ name: "gear" }]);
  const everyForm = sampleProgram(EVERY_FORM);

  const operators = (args: Partial<OperatorsArgs> = {}, opts: pulumi.ComponentResourceOptions = {}) =>
    new Operators("shop", { handlers: gears.definitions, ...args }, opts);

  const runWith = (values: Readonly<Record<string, string>>) =>
    run(() => void operators(), { preview: true, cluster: true, values });

  it("is a provider of its own, which everything is made with", async () => {
    const made = await run(() => void operators({ cluster: { context: "prod", clusterIdentifier: "p" } }));
    const provider = named(made, "shop-cluster");
    assert.equal(provider.type, "pulumi:providers:kubernetes");
    assert.equal(provider.inputs.context, "prod");
    assert.equal(provider.inputs.clusterIdentifier, "p");
  });

  describe("of two components", () => {
    const own = (cluster: ClusterArgs, args: Partial<OperatorsArgs> = {}) => {
      const handlers = everyForm.definitions
        .filter(({ name }) => name !== "gear")
        .map((each) => ({ ...each, installation: "own" }));
      return new Operators("own", { handlers, cluster, ...args });
    };
    const output = pulumi.output("{}");
    const same: readonly (readonly [string, ClusterArgs, ClusterArgs])[] = [
      ["context", { context: "prod" }, { context: "prod" }],
      ["Output", { kubeconfig: output }, { kubeconfig: output }],
      [
        "identifier",
        { kubeconfig: pulumi.output("{}"), clusterIdentifier: "prod" },
        { kubeconfig: pulumi.output("{}"), clusterIdentifier: "prod" },
      ],
    ];

    it("is the same for two copies of this package only if the Output or the provider is", () =>
      run(() => {
        const copy = anotherCopy<typeof import("../../components/inCluster/cluster")>("inCluster/cluster");
        assert.notEqual(copy.provideCluster, provideCluster);
        const [one, other] = [{ kubeconfig: pulumi.output("one") }, { kubeconfig: pulumi.output("other") }];
        const { cluster } = provideCluster("one", one, {});
        assert.notEqual(copy.provideCluster("other", other, {}).cluster.known, cluster.known);
        assert.equal(copy.provideCluster("same", one, {}).cluster.known, cluster.known);
        const { provider } = cluster;
        assert.ok(provider);
        assert.equal(copy.provideCluster("part", undefined, { provider }).cluster.known, cluster.known);
      }));

    for (const [what, cluster, other] of same) {
      it(`is the same if the ${what} is: operators come after the platform of the other`, async () => {
        const made = await run(() => {
          const { platform } = operators({ cluster });
          own(other, { platform });
        });
        const { dependencies } = named(made, "own-engine");
        for (const part of ["namespace-operators", "argo-workflows-controller", "argo-events-controller"]) {
          assert.ok(dependencies.includes(named(made, `shop-platform-${part}`).urn), part);
        }
      });

      it(`is the same if the ${what} is: a second platform in it is refused`, () =>
        refused(() => {
          operators({ cluster });
          own(other);
        }, /the namespace "argosy" of a platform already belongs to ArgoPlatform "shop-platform"/));
    }
  });

  it("has a platform that shares Argo's CRDs after those that install them", async () => {
    const made = await run(() => {
      new ArgoPlatform("argo", { argoWorkflows: "none" });
      new ArgoPlatform("flows", {
        argoEvents: "none",
        namespace: "flows",
        controllerNamespace: "flows-system",
      });
      const namespaces = { namespace: "own", controllerNamespace: "own-system" };
      new ArgoPlatform("own", { ...namespaces, argoEvents: "share", argoWorkflows: "share" });
    });
    const { dependencies } = named(made, "own");
    const crds = made.registrations.filter(({ inputs }) => inputs.kind === "CustomResourceDefinition");
    assert.ok(crds.length > 10);
    for (const { name, urn } of crds) assert.ok(dependencies.includes(urn), name);
    assert.deepEqual(named(made, "flows").dependencies, []);
  });

  it("has no such context: the preview says so, once", async () => {
    const lines = await logged(() =>
      run(() => void operators({ cluster: { kubeconfig: "{}", context: "prod" } }), { cluster: true }),
    );
    assert.equal(lines.match(/nothing is checked .*: the kubeconfig has no context "prod"/g)?.length, 1);
  });

  it("of an explicit provider cannot be looked into: nothing is checked, and the preview says so, once", async () => {
    const program = () => void operators({}, { provider: new k8s.Provider("own", { kubeconfig: "{}" }) });
    const lines = await logged(() => run(program, { cluster: true }));
    assert.equal(lines.match(/nothing is checked in the cluster/g)?.length, 1);
    // A message that comes after the check.
    assert.match(lines, /the operator gear gets rights in the whole cluster/);
  });

  it("may be that of a Provider of another copy of @pulumi/kubernetes", async () => {
    const file = require.resolve("@pulumi/kubernetes/provider");
    const ours = require.cache[file];
    delete require.cache[file];
    const { Provider } = require("@pulumi/kubernetes/provider") as typeof k8s;
    require.cache[file] = ours;
    assert.notEqual(Provider, k8s.Provider);
    const program = (Provider: typeof k8s.Provider) => () => {
      const provider = new Provider("own", { kubeconfig: "{}" });
      const { platform } = new ArgoPlatform("argo", {}, { provider });
      operators({ platform }, { providers: [provider] });
    };
    const withTheirs = await run(program(Provider));
    assert.ok(withTheirs.registrations.length > 20);
    assert.deepEqual(withTheirs.registrations, (await run(program(k8s.Provider))).registrations);
    assert.deepEqual(
      withTheirs.registrations
        .filter(({ type }) => type.startsWith("pulumi:providers:"))
        .map(({ name }) => name),
      ["own"],
    );
  });

  it("is another one of the same kubeconfig, if Pulumi's configuration says so", async () => {
    const configuration = {
      "kubernetes:kubeconfig": JSON.stringify({
        clusters: [{ name: "one", cluster: { server: "https://one.example.com" } }],
        contexts: [{ name: "one", context: { cluster: "one", user: "u" } }],
        users: [{ name: "u" }],
        "current-context": "one",
      }),
      "kubernetes:cluster": "two",
    };
    const lines = await logged(() => runWith(configuration));
    assert.match(lines, /the kubeconfig has no cluster "two"\. It has: one/);
  });

  it("is none if Pulumi's provider writes YAML: nothing is looked into", async () => {
    const configuration = { "kubernetes:kubeconfig": "/none", "kubernetes:renderYamlToDirectory": "yaml" };
    const lines = await logged(() => runWith(configuration));
    assert.doesNotMatch(lines, /\/none|nothing is checked/);
    assert.match(lines, /the operator gear gets rights in the whole cluster/);
  });

  it("has a kubeconfig that is missing: the preview says so", async () => {
    const lines = await logged(() =>
      run(() => void operators({ cluster: { kubeconfig: "/none" } }), { preview: true, cluster: true }),
    );
    assert.match(lines, /\/none is not a valid kubeconfig: .*no such file/);
    assert.doesNotMatch(lines, /--kubeconfig/);
  });

  it("has an installation of another stack: refused, and one of this stack's own is not", async () => {
    const name = "argosy-installation-shop";
    const look = (program: string) =>
      fakeLook({ clusterRoles: { [name]: found({ annotations: { "argosy.dev/program": program } }) } });
    const expected = { installation: "shop", clusterRole: name, program: "acme/shop/dev" };
    assert.deepEqual((await checkInstallation(look("acme/shop/dev"), expected)).problems, []);
    const { problems } = await checkInstallation(look("acme/billing/prod"), expected);
    assert.match(
      problems[0] ?? "",
      /installation is "shop", which in this cluster belongs to the stack acme\/billing\/prod\. If acme\/billing\/prod is the former name of this stack: kubectl annotate --overwrite clusterrole argosy-installation-shop argosy\.dev\/program=acme\/shop\/dev, and change nothing in the program\. If that is another stack, give these operators another installation\. .*kubectl delete clusterrole argosy-installation-shop/,
    );
  });

  it("has an operator of the same name on the same platform: refused if it is another stack's", async () => {
    const look = (maker: string | undefined) =>
      fakeLook({
        serviceAccounts: {
          "argosy/cache-runner": found({ labels: { "argosy.dev/operator": "billing.cache" } }),
          "argosy/press-runner": found({ labels: { "argosy.dev/operator": "shop.press" } }),
        },
        clusterRoles: {
          "argosy-installation-billing":
            maker === undefined ? "absent" : found({ annotations: { "argosy.dev/program": maker } }),
        },
      });
    const problemsOf = async (maker: string | undefined, namespace = "argosy") => {
      const operators = ["cache", "press"].map((name) => ({ installation: "shop", name }));
      const expected = { operators, namespace, program: "acme/shop/dev" };
      const accountOf = (name: string) => `${name}-runner`;
      const clusterRoleOf = (installation: string) => `argosy-installation-${installation}`;
      return (await checkOperatorNames(look(maker), { ...expected, accountOf, clusterRoleOf })).problems;
    };
    assert.deepEqual(await problemsOf("acme/billing/prod"), [
      'the platform in the namespace argosy already has an operator "cache", of the installation "billing" and the stack acme/billing/prod. Give one of the two another name, or, if their kinds differ, give these operators a platform of their own.',
    ]);
    assert.deepEqual(await problemsOf("acme/shop/dev"), [], "this stack had that installation before");
    assert.deepEqual(await problemsOf(undefined), [], "left behind");
    assert.deepEqual(await problemsOf("acme/billing/prod", "other"), []);
  });

  describe("has the CRD of an operator:", () => {
    const operator = { installation: "shop", name: "gear", formerNames: ["cog", "mill.wheel"] };
    const place = "handlers/gear/operator.yaml";
    const crd = "gears.shop.example.com";
    const account = (identity: string) => ({
      "argosy/gear-runner": found({ labels: { "argosy.dev/operator": identity } }),
    });
    const NO_ACCOUNT: Record<string, Found> = { "argosy/gear-runner": "absent" };
    const check = (metadata: Partial<ObjectMeta>, takesExisting = false, serviceAccounts = NO_ACCOUNT) =>
      checkCustomResources(fakeLook({ crds: { [crd]: found(metadata) }, serviceAccounts }), {
        customResources: [{ operator, place, crd, takesExisting }],
        program: "acme/shop/dev",
        namespace: "argosy",
        accountOf: (name) => `${name}-runner`,
      });
    const mark = (program: string) => ({ annotations: { "argosy.dev/program": program } });
    const GOING = { deletionTimestamp: "2026-01-01T00:00:00Z" };

    it("refused if it is another stack's or has no mark, unless its author takes it over", async () => {
      const remedy =
        "a kind has one operator in a cluster. Give this operator another kind, or let it take over the CRD with all its objects: https://github.com/argosy-dev/argosy/blob/main/docs/tasks/take-over.md#an-existing-crd";
      assert.deepEqual((await check(mark("acme/shop/prod"))).problems, [
        `the operator gear has the CRD ${crd}, which already exists in the cluster, from the stack acme/shop/prod. If acme/shop/prod is the former name of this stack: kubectl annotate --overwrite crd ${crd} argosy.dev/program=acme/shop/dev, and change nothing in the program. Otherwise: ${remedy}`,
      ]);
      assert.deepEqual((await check({})).problems, [
        `the operator gear has the CRD ${crd}, which already exists in the cluster. If this stack created it: kubectl annotate crd ${crd} argosy.dev/program=acme/shop/dev. Otherwise: ${remedy}`,
      ]);
      for (const metadata of [mark("acme/shop/prod"), {}, mark("acme/shop/dev")]) {
        assert.deepEqual((await check(metadata, true)).problems, []);
      }
      assert.deepEqual((await check(mark("acme/shop/dev"))).problems, []);
    });

    it("warned of if its author takes it over from another stack, which may still have the operator", async () => {
      assert.deepEqual((await check(mark("acme/shop/prod"), true)).warnings, [
        `the operator gear takes over the CRD ${crd}, with all its objects, from the stack acme/shop/prod. If that stack still has the operator, both work on these objects: remove the annotation pulumi.com/patchForce from the CRD, and give this operator another kind.`,
      ]);
      for (const metadata of [{}, mark("acme/shop/dev")]) {
        assert.deepEqual((await check(metadata, true)).warnings ?? [], []);
      }
    });

    it("without its mark it is this stack's if the operator is deployed, or if the cluster does not show that", async () => {
      assert.deepEqual((await check({}, false, account("shop.gear"))).problems, []);
      assert.deepEqual((await check({}, false, {})).problems, []);
      assert.equal((await check({}, false, account("other.gear"))).problems.length, 1);
      assert.equal((await check(mark("acme/shop/prod"), false, account("shop.gear"))).problems.length, 1);
    });

    it("refused if it has objects of an operator of a name that is not among the former ones", async () => {
      const labelled = (identity: string) => ({
        ...mark("acme/shop/dev"),
        labels: { "argosy.dev/operator": identity },
      });
      for (const identity of ["shop.gear", "shop.cog", "mill.wheel"])
        assert.deepEqual((await check(labelled(identity))).problems, []);
      const says = (identity: string, former: string) => [
        `${place} has the CRD ${crd}, with all its objects and their children, of the operator ${identity}, and is called shop.gear now. Without its former name, it would leave their finalizers and children alone. Add to the file: formerNames: ["${former}"]`,
      ];
      assert.deepEqual((await check(labelled("shop.wheel"))).problems, says("shop.wheel", "wheel"));
      assert.deepEqual((await check(labelled("mill.gear"), true)).problems, says("mill.gear", "mill.gear"));
    });

    it("warned of if it is this stack's and is being deleted, since the operator finalizes its objects", async () => {
      const { problems, warnings } = await check({ ...mark("acme/shop/dev"), ...GOING });
      assert.deepEqual(problems, []);
      assert.match(
        warnings?.join("") ?? "",
        /is being deleted\. .* pulumi up --refresh creates the CRD again/,
      );
      assert.equal((await check({ ...mark("acme/shop/prod"), ...GOING })).problems.length, 1);
    });
  });

  it("has different names for the objects of two stacks", async () => {
    const clusterScoped = async (installation: string, namespace: string) => {
      const handlers = everyForm.definitions.map((each) => ({ ...each, installation }));
      const platform: ArgoPlatformArgs = {
        namespace,
        controllerNamespace: `${namespace}-system`,
        argoEvents: "share",
        argoWorkflows: "share",
      };
      const { manifests } = await run(() => void operators({ handlers, platform }));
      const ours = manifests.filter(
        ({ kind, metadata }) =>
          metadata.namespace === undefined && kind !== "CustomResourceDefinition" && kind !== "Namespace",
      );
      assert.ok(ours.length > 5);
      const elsewhere = manifests.filter(({ metadata }) => /^team-/.test(metadata.namespace ?? ""));
      assert.ok(elsewhere.length > 2);
      return [...ours, ...elsewhere].map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`,
      );
    };
    const [one, other] = [await clusterScoped("one", "one"), await clusterScoped("other", "other")];
    assertNone(one, (each) => other.includes(each));
  });
});
