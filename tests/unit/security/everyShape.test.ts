import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import type { PolicyRule } from "../../../runtime/operator/definition";
import { assertGolden } from "../support/goldenFile";
import { run } from "../support/program";
import { operatorsProgram, type Sample, sampleProgram, webhookFor } from "../support/sampleOperators";

const RBAC = "rbac.authorization.k8s.io";
const JOBS = { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] };
const PODS = { apiVersion: "v1", kind: "Pod" };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const SECRET = { apiVersion: "v1", kind: "Secret" };
/** One of each way to say what is used. */
const USES = {
  credentials: { ...SECRET, name: "metadata.annotations.credentials" },
  token: { ...SECRET, name: "'token'", namespace: "shared" },
  licence: { ...SECRET, name: "metadata.annotations.licence", names: ["free", "paid"] },
  settings: { ...CONFIG_MAP, name: "'settings'" },
  peers: { apiVersion: "apps/v1", kind: "StatefulSet", labels: { app: "metadata.name" } },
};

/** An operator of every shape that needs rights of its own, in both forms. A new shape has its line here. */
const SHAPES = (["resident", "pod"] as const).flatMap((execution): Sample[] => {
  const named = (shape: string, more: object): Sample => ({
    name: execution === "pod" ? `${shape}pod` : shape,
    execution,
    ...more,
  });
  const granting = [`${RBAC}/v1/Role`, `${RBAC}/v1/RoleBinding`];
  return [
    named("plain", {}),
    named("childless", { children: [] }),
    named("narrow", { namespaces: ["team-a"] }),
    named("acting", { rules: [JOBS], finalize: true }),
    named("retiring", { children: [{ apiVersion: "v1", kind: "ConfigMap", retired: true }] }),
    named("granting", { children: granting, grants: [JOBS, "ClusterRole/view"] }),
    named("grantinga", { children: granting, grants: [JOBS, "Role/reader"], namespaces: ["team-a"] }),
    named("using", { uses: USES }),
    named("usinga", { uses: USES, namespaces: ["team-a"] }),
    named("scheduled", { schedules: { nightly: { cron: "0 3 * * *" } } }),
    named("watching", { watch: { ...PODS, labels: { notify: "true" } } }),
    named("watchinga", { watch: PODS, children: [], namespaces: ["team-a"] }),
    named("called", { on: webhookFor(execution === "pod" ? "Calledpod" : "Called") }),
  ] as Sample[];
});

/** A right of an account, one for each resource. */
interface Right {
  readonly account: string;
  /** The role's own label: whose it is. */
  readonly role: string;
  readonly where: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly names: readonly string[] | undefined;
}

describe("the rights of every account, with operators of every shape", function () {
  this.timeout(120_000);
  const sample = sampleProgram(SHAPES);
  let rights: readonly Right[];
  before(async () => {
    const program = operatorsProgram(sample, { outsideEvents: { storage: "1Gi" } });
    rights = rightsIn((await run(program)).manifests);
  });
  const but = (isRight: (right: Right) => boolean) => rights.filter((right) => !isRight(right)).map(lineOf);

  it("are those of the golden file, which was reviewed", () => {
    const lines = rights.map(lineOf).sort();
    assert.ok(lines.length > 100);
    assertGolden("rights.txt", lines.map((line) => `${line}\n`).join(""));
  });

  it("have no wildcard, and none by which they could be anything", () => {
    assert.deepEqual(
      but(
        ({ resource, verbs, names }) =>
          ![resource, ...verbs, ...(names ?? [])].some((word) => word.includes("*")) &&
          !verbs.includes("escalate") &&
          !verbs.includes("impersonate") &&
          (!verbs.includes("bind") || names?.length === 1),
      ),
      [],
    );
  });

  it("let no account list the Secrets of the whole cluster, except one that a definition names", () => {
    assert.deepEqual(
      but(
        ({ resource, where, verbs, names }) =>
          resource !== "/secrets" || where !== "everywhere" || verbs.join() === "get" || names !== undefined,
      ),
      [],
    );
  });

  it("read Secrets without a name for Argo's own controller, and for operators whose objects name them", () => {
    const readers = rights
      .filter(({ resource, names }) => resource === "/secrets" && names === undefined)
      .map(({ account, where }) => `${account}, ${where}`);
    assert.deepEqual([...new Set(readers)].sort(), [
      "argo-events-controller, argosy",
      "using-runner, everywhere",
      "usinga-runner, team-a",
      "usingapod-run, team-a",
      "usingapod-runner, team-a",
      "usingpod-run, everywhere",
      "usingpod-runner, everywhere",
    ]);
  });

  it("make a token of a handler with rules alone, and of no other account", () => {
    const tokens = rights.filter(({ resource }) => resource === "/serviceaccounts/token");
    assert.deepEqual(
      tokens.map(({ account, names }) => [account, names]),
      [
        ["acting-runner", ["acting-handler"]],
        ["actingpod-run", ["actingpod-handler"]],
      ],
    );
  });

  it("are an account's own: no role is bound to two, and none to that of another operator", () => {
    const owners = new Map<string, Set<string>>();
    for (const { role, where, account } of rights) {
      const key = `${role} ${where}`;
      owners.set(key, (owners.get(key) ?? new Set()).add(account));
    }
    assert.deepEqual(
      [...owners].filter(([, accounts]) => accounts.size > 1),
      [],
    );
    for (const { name } of SHAPES) {
      for (const { account, resource } of rights) {
        if (!resource.endsWith(`/${name}s`) && !resource.includes(`/${name}s/`)) continue;
        assert.match(
          account,
          new RegExp(`^(${name}-(runner|run)|argosy-(event-source|outside-intake))$`),
          `${account} has ${resource}`,
        );
      }
    }
  });

  it("let only the accounts of a granting operator bind, write or delete roles", () => {
    const writes = rights.filter(
      ({ resource, verbs }) =>
        resource.startsWith(`${RBAC}/`) && verbs.some((verb) => !["get", "list", "watch"].includes(verb)),
    );
    assert.ok(writes.length > 0);
    assert.deepEqual([...new Set(writes.map(({ account }) => account))].sort(), [
      "granting-runner",
      "grantinga-runner",
      "grantingapod-run",
      "grantingapod-runner",
      "grantingpod-run",
      "grantingpod-runner",
    ]);
  });
});

function lineOf({ account, where, resource, verbs, names }: Right): string {
  return `${account}, ${where}: ${resource} ${verbs.join(",")}${names ? ` [${names.join(",")}]` : ""}`;
}

/** Every right that any account has by what is bound to it. */
function rightsIn(manifests: readonly Manifest[]): Right[] {
  return manifests.flatMap((binding) => {
    if (!binding.kind.endsWith("RoleBinding")) return [];
    const { namespace } = binding.metadata;
    const { kind, name } = binding["roleRef"] as { kind: string; name: string };
    const role = manifests.find(
      (each) =>
        each.kind === kind &&
        each.metadata.name === name &&
        (kind === "ClusterRole" || each.metadata.namespace === namespace),
    );
    assert.ok(role, `${kind} ${name}`);
    return (binding["subjects"] as { name: string }[]).flatMap((subject) =>
      (role["rules"] as PolicyRule[]).flatMap(({ apiGroups, resources, verbs, resourceNames: names }) =>
        apiGroups.flatMap((group) =>
          resources.map((resource) => ({
            account: subject.name,
            role: name,
            where: namespace ?? "everywhere",
            resource: `${group}/${resource}`,
            verbs,
            names,
          })),
        ),
      ),
    );
  });
}
