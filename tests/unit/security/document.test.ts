import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import type { PolicyRule } from "../../../runtime/operator/definition";
import { testFinder } from "../../../tools/reference/securityTests";
import { table } from "../../../tools/reference/table";
import { KEPT_TITLES } from "../support/fuzz";
import { assertGolden } from "../support/goldenFile";
import { run, runStack } from "../support/program";
import { operatorsProgram, type Sample, sampleProgram } from "../support/sampleOperators";

type Row = readonly [account: string, where: string, rights: string];

const INTRODUCTION = `# Rights

What each account may do. This page is generated from the manifests. All verbs and resources are named, and "only" means these objects by name. No pod runs as \`argosy-viewer\`, \`argosy-outside-caller\` or an account that is not named here. [Security](../security.md#rights-in-the-whole-cluster) explains the rights that apply everywhere.
`;

const OF_THE_STACKS = `## The stacks dev and prod

Their operator is \`memcached\`. With \`archive\`, \`workflow-controller\` and \`argo-server\` may also get the archive's Secret.
`;

const WITH_PODS = `## An operator with runs in pods

An operator \`press\` with \`execution: pod\` and \`rules\` has these accounts. \`press-runner\` is that of its runner, and \`press-run\` that of its runs.
`;

const WITH_EVENTS = `## An operator with events from outside

If an operator \`press\` has \`on\`, and its events create objects in the namespace \`team-a\`, these accounts are added. \`argosy-outside-caller\` is the account whose token the sensor shows to the intake. If events choose among several namespaces, the intake may also get these by name.
`;

/** What each account may do, a row for each account and place. */
function rowsOf(manifests: readonly Manifest[]): Row[] {
  const accounts = manifests.filter(({ kind }) => kind === "ServiceAccount");
  const rows = accounts.flatMap(({ metadata: { name } }): Row[] => {
    const places = new Map<string, string[]>();
    for (const binding of manifests) {
      if (!binding.kind.endsWith("RoleBinding")) continue;
      if (!(binding["subjects"] as { name: string }[]).some((subject) => subject.name === name)) continue;
      const place = binding.metadata.namespace ?? "everywhere";
      places.set(place, [...(places.get(place) ?? []), ...rightsOf(binding, manifests)]);
    }
    if (places.size === 0) return [[name, "nowhere", "none"]];
    return [...places].map(([place, rights]): Row => [name, place, rights.join("; ")]);
  });
  return rows.sort((one, other) => one.join().localeCompare(other.join()));
}

function rightsOf({ metadata: { namespace }, roleRef }: Manifest, manifests: readonly Manifest[]): string[] {
  const { kind: roleKind, name } = roleRef as { kind: string; name: string };
  const role = manifests.find(
    ({ kind, metadata }) => kind === roleKind && metadata.name === name && metadata.namespace === namespace,
  );
  assert.ok(role, `${roleKind} ${name}`);
  return (role["rules"] as PolicyRule[]).map(
    ({ resources, verbs, resourceNames }) =>
      `${resources.join(", ")}: ${verbs.join(", ")}${resourceNames ? ` (${resourceNames.join(", ")} only)` : ""}`,
  );
}

/** What each account of a program with these operators may do. */
async function rowsWith(operators: readonly Sample[], args = {}): Promise<Row[]> {
  const sample = sampleProgram(operators);
  return rowsOf((await run(operatorsProgram(sample, args))).manifests);
}

describe("docs/reference/rights.md, a golden file", function () {
  this.timeout(120_000);

  it("tells every right that an account has, and no other", async () => {
    const ofStacks = rowsOf((await runStack("dev")).manifests);
    assert.deepEqual(rowsOf((await runStack("prod")).manifests), ofStacks);
    const known = new Set(ofStacks.map((row) => row.join()));

    const rules = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list"] }];
    const withPods = await rowsWith([{ name: "press", execution: "pod", rules }]);
    const ofPods = withPods.filter((row) => !known.has(row.join()));
    assert.ok(ofPods.every(([account]) => /^(press-\w+|argosy-sensor|argosy-event-source)$/.test(account)));

    const authSecret = { name: "a", key: "b" };
    const webhook = { endpoint: "/press", method: "POST" as const, port: "12000", authSecret };
    const create = { kind: "Press", namespace: "team-a", spec: {} };
    const on = { order: { webhook, id: ["body.id"], create } };
    const withEvents = await rowsWith([{ name: "press", on }], { outsideEvents: { storage: "1Gi" } });
    const ofEvents = withEvents.filter(([account]) => account.startsWith("argosy-outside-"));

    const sections = [
      [OF_THE_STACKS, ofStacks],
      [WITH_PODS, ofPods],
      [WITH_EVENTS, ofEvents],
    ] as const;
    const tables = sections.map(([text, rows]) => `${text}\n${table(["account", "where", "rights"], rows)}`);
    assertGolden("../../docs/reference/rights.md", [INTRODUCTION, ...tables].join("\n"));
  });
});

describe("docs/reference/security-tests.md", () => {
  it("is backed by tests and counterexamples under titles that there are", () => {
    const isTest = testFinder();
    assert.ok(KEPT_TITLES.length > 0);
    assert.deepEqual(
      KEPT_TITLES.filter((title) => !isTest(title)),
      [],
    );
    assert.equal(isTest(["a title that no test has", "whatever is put into it"].join(", ")), false);
  });
});
