import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import type { ArchiveOptions } from "../../components/manifests/platform/archive";
import type { Manifest } from "../../runtime/base/objects";
import type { PolicyRule } from "../../runtime/operator/definition";
import { deploymentsOf, everyManifest, platformOptions, podOf } from "./support/platform";
import { runStack } from "./support/program";

const ARCHIVE: ArchiveOptions = { host: "db.example.com", database: "runs", secret: "archive" };
const SETTINGS = { archive: JSON.stringify(ARCHIVE) };

function persistence(archive: ArchiveOptions) {
  const configuration = everyManifest(platformOptions({ archive })).find(
    ({ metadata }) => metadata.name === "workflow-controller-configmap",
  );
  assert.ok(configuration);
  return parse((configuration["data"] as Record<string, string>)["persistence"] ?? "");
}

/** The programs that read the archive's credentials. */
function programs(archive: ArchiveOptions) {
  const all = deploymentsOf(platformOptions({ archive }));
  return all.filter(({ metadata }) => metadata.name !== "argo-events-controller").map(podOf);
}

function runnerVariables(manifests: readonly Manifest[]): string {
  const runner = manifests.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name.endsWith("-runner"),
  );
  assert.ok(runner);
  return JSON.stringify(podOf(runner).containers.map(({ env }) => env));
}

describe("the archive", () => {
  it("is a PostgreSQL whose credentials are in a Secret", () => {
    const { postgresql, archive, archiveTTL, clusterName, nodeStatusOffLoad } = persistence(ARCHIVE);
    assert.deepEqual(postgresql, {
      host: "db.example.com",
      port: 5432,
      database: "runs",
      tableName: "argo_workflows",
      userNameSecret: { name: "archive", key: "username" },
      passwordSecret: { name: "archive", key: "password" },
      ssl: true,
      sslMode: "require",
    });
    assert.deepEqual(
      { archive, archiveTTL, clusterName, nodeStatusOffLoad },
      { archive: true, archiveTTL: "90d", clusterName: "default", nodeStatusOffLoad: undefined },
    );
  });

  it("is spoken with in the clear only where that is asked for", () => {
    const { ssl, sslMode } = persistence({ ...ARCHIVE, sslMode: "disable" }).postgresql;
    assert.deepEqual({ ssl, sslMode }, { ssl: false, sslMode: "disable" });
  });

  it("adds to rights only to get that one Secret, where controller and argo-server are", () => {
    const rulesWith = (archive?: ArchiveOptions) =>
      everyManifest(platformOptions(archive && { archive })).flatMap(({ kind, metadata, rules }) =>
        kind === "Role"
          ? (rules as PolicyRule[]).map((rule) => ({ in: metadata.namespace, role: metadata.name, rule }))
          : [],
      );
    const before = rulesWith();
    const added = rulesWith(ARCHIVE).filter((each) => !before.some((old) => isDeepStrictEqual(old, each)));
    const rule = { apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: ["archive"] };
    assert.deepEqual(added, [
      { in: "argosy-system", role: "workflow-controller-configuration", rule },
      { in: "argosy-system", role: "argo-server-configuration", rule },
    ]);
  });

  it("is verified by the certificate in the Secret, where that is asked for", () => {
    for (const { containers, volumes = [] } of programs({ ...ARCHIVE, sslMode: "verify-full" })) {
      const [container] = containers;
      const root = container?.env?.find(({ name }) => name === "PGSSLROOTCERT");
      assert.equal(root?.value, "/etc/argosy/archive/ca.crt");
      const mounted = container?.volumeMounts?.map(({ name }) => name);
      assert.deepEqual(
        mounted,
        volumes.map(({ name }) => name),
      );
      assert.ok(JSON.stringify(volumes).includes('"secretName":"archive","items":[{"key":"ca.crt"'));
    }
    assert.ok(!JSON.stringify(programs(ARCHIVE)).includes("ca.crt"));
  });

  it("is not asked how long a run will take, so that a database that is away holds up none", () => {
    const text = JSON.stringify(programs(ARCHIVE));
    assert.ok(text.includes('{"name":"SKIP_WORKFLOW_DURATION_ESTIMATION","value":"true"}'));
  });

  it("gets the runs that a resident runner records, even if the platform is another stack's", async () => {
    const variable = '{"name":"ARGOSY_ARCHIVE","value":"true"}';
    const whole = await runStack("dev", { settings: SETTINGS });
    assert.ok(runnerVariables(whole.manifests).includes(variable));
    const platform = await runStack("dev", { settings: { ...SETTINGS, parts: "platform" } });
    const operators = await runStack("dev", {
      settings: { parts: "operators", platformStack: "org/argosy/platform" },
      stackOutputs: () => platform.outputs as Record<string, unknown>,
    });
    assert.ok(runnerVariables(operators.manifests).includes(variable));
    const without = await runStack("dev");
    assert.ok(!runnerVariables(without.manifests).includes("ARGOSY_ARCHIVE"));
  });
});
