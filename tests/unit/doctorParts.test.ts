import assert from "node:assert/strict";
import { checkParts } from "../../cli/doctor/checkParts";
import { installedOperators } from "../../cli/inspect/installed";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { type KubernetesObject, kindAndName, type Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { logged } from "./support/componentRuns";
import { assertEach } from "./support/lists";
import { run } from "./support/program";
import {
  EVERY_FORM,
  operatorsProgram,
  type Sample,
  sampleProgram,
  webhookFor,
} from "./support/sampleOperators";

/** The kinds that are looked for. */
const LOOKED_FOR = /^((Cluster)?Role(Binding)?|EventBus|EventSource|Sensor|WorkflowTemplate|CronWorkflow)$/;
/** Argo's own controllers, its users, and what no operator needs, are not looked for. Nor are the rights of the intake. */
const OTHERS = /^(argo-|workflow-controller|argosy-(viewer|submitter|installation-))|-intake$/;

const WATCHING: Sample = { name: "seer", watch: { apiVersion: "v1", kind: "ConfigMap", labels: { a: "b" } } };
const GRANTING: Sample = {
  name: "giver",
  namespaces: ["team-a", "team-b"],
  children: ["v1/ConfigMap", "rbac.authorization.k8s.io/v1/Role"],
  grants: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
};
const NAMESPACES = [...Array(20).keys()].map((number) => `team-${number}`);
const HEARING: Sample = { name: "press", namespaces: ["team-a"], on: webhookFor("Press") };

/** The manifests of a program with these operators. */
async function deployed(samples: readonly Sample[], args: Partial<OperatorsArgs> = {}): Promise<Manifest[]> {
  const sample = sampleProgram(samples);
  const { installation = "argosy" } = args;
  const definitions = sample.definitions.map((each) => ({ ...each, installation }));
  const manifests: Manifest[] = [];
  await logged(async () => {
    manifests.push(...(await run(operatorsProgram({ ...sample, definitions }, args))).manifests);
  });
  return manifests;
}

let everyForm: ReturnType<typeof deployed> | undefined;
/** Those of {@link EVERY_FORM}, which are made once. */
function deployedEveryForm(): ReturnType<typeof deployed> {
  everyForm ??= deployed(EVERY_FORM);
  return everyForm;
}

/** What an account sees of a cluster. */
interface Few {
  /** Whether the account may list a kind in a namespace, or in all of them. */
  readonly mayList?: (plural: string, namespace: string | undefined) => boolean;
  /** The metadata of the namespaces. @default those of the objects */
  readonly namespaces?: readonly object[];
  /** @default every kind */
  readonly served?: (plural: string) => boolean;
}

/** The namespaces of all of these objects. */
function namespacesOf(objects: readonly Manifest[]): readonly object[] {
  return [...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))].map((name) => ({ name }));
}

/** A cluster with these objects. */
function clusterWith(
  objects: readonly Manifest[],
  { mayList, namespaces = namespacesOf(objects), served }: Few = {},
) {
  const calls: string[] = [];
  const listAll = async (
    { kind, plural }: Resource,
    { namespace, labelSelector = "" }: { namespace?: string; labelSelector?: string },
  ) => {
    calls.push(plural);
    if (kind !== "ConfigMap" && mayList?.(plural, namespace) === false)
      throw new ApiError(403, { message: "you may not" }, "GET");
    if (served?.(plural) === false) throw new ApiError(404, {}, "GET");
    if (kind === "Namespace") return namespaces.map((metadata) => ({ metadata }));
    const labels = labelSelector.split(",").map((label) => label.split("=") as [string, string]);
    return objects.filter(
      ({ kind: other, metadata }) =>
        other === kind &&
        (namespace === undefined || metadata.namespace === namespace) &&
        labels.every(([label, value]) => metadata.labels?.[label] === value),
    ) as KubernetesObject[];
  };
  return { client: { listAll } as unknown as KubernetesClient, calls };
}

/** What is found, and the kinds that are listed for it. */
async function found(objects: readonly Manifest[], few?: Few) {
  const { client, calls } = clusterWith(objects, few);
  const { operators } = await installedOperators(client);
  assert.ok(operators.length > 0);
  calls.splice(0);
  return { findings: await checkParts(client, operators), calls };
}

const seenIn = async (objects: readonly Manifest[], few?: Few) =>
  (await found(objects, few)).findings.map(({ what, seen }) => `${what}: ${seen}`);

describe("argosy doctor and the parts of operators", function () {
  this.timeout(30_000);

  const shapes: readonly (readonly [string, readonly Sample[], Partial<OperatorsArgs>?])[] = [
    ["of every form", EVERY_FORM],
    ["that watches, and one that grants", [WATCHING, GRANTING]],
    ["with events from outside", [HEARING], { outsideEvents: { storage: "1Gi" } }],
    ["of another installation", [GRANTING], { installation: "shop", platform: { namespace: "work" } }],
    [
      "with many namespaces, and so with several pairs of an event source and a sensor",
      ["one", "two", "three"].map((name) => ({
        name,
        namespaces: NAMESPACES.map((each) => `${name}-${each}`),
      })),
    ],
    [
      "without Argo",
      EVERY_FORM.filter(({ execution }) => execution !== "pod"),
      { platform: { argoEvents: "none", argoWorkflows: "none" } },
    ],
    ["without Argo Events", EVERY_FORM, { platform: { argoEvents: "none" } }],
    ["without Argo Workflows", [GRANTING], { platform: { argoWorkflows: "none" } }],
    ["on an Argo that exists", EVERY_FORM, { platform: { argoEvents: "adopt", argoWorkflows: "adopt" } }],
  ];
  for (const [which, samples, args] of shapes) {
    it(`finds nothing missing of operators ${which}, and each part that is deleted alone`, async () => {
      const all = await deployed(samples, args);
      const namespaces = namespacesOf(all);
      assert.deepEqual(await seenIn(all), []);
      const parts = all.filter(({ kind, metadata }) => LOOKED_FOR.test(kind) && !OTHERS.test(metadata.name));
      assert.ok(parts.length > 0);
      // Of many namespaces, one stands for all.
      const alike = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name} ${!metadata.namespace}`;
      const kinds = new Map(parts.map((part) => [parts.length > 100 ? alike(part) : part, part]));
      for (const part of kinds.values()) {
        const seen = await seenIn(
          all.filter((each) => each !== part),
          { namespaces },
        );
        const [first = "", ...more] = seen;
        assert.ok(
          first.includes(`has no ${kindAndName(part.kind, part.metadata)}, so `),
          `${kindAndName(part.kind, part.metadata)}\n${seen.join("\n")}`,
        );
        assert.deepEqual(more, []);
      }
    });
  }

  it("says what becomes of the operators, and what to do", async () => {
    const all = await deployedEveryForm();
    const without = async (...kinds: readonly string[]) =>
      (await found(all.filter(({ kind, metadata }) => !kinds.includes(`${kind} ${metadata.name}`)))).findings;
    const [sensor] = await without("Sensor argosy");
    assert.deepEqual(sensor, {
      what: "event path argosy",
      state: "missing",
      seen: "has no Sensor argosy/argosy, so runners see changes only by their own watches",
      remedy: "Run pulumi up --refresh. If the Sensor was deleted, pulumi up alone does not see that.",
      installation: "argosy",
      object: { apiVersion: "argoproj.io/v1alpha1", kind: "Sensor", namespace: "argosy", name: "argosy" },
    });
    const [binding] = await without("ClusterRoleBinding argosy.gear-runner");
    assert.deepEqual(
      [binding?.what, binding?.operator, binding?.seen],
      [
        "operator gear",
        "gear",
        "has no ClusterRoleBinding argosy.gear-runner, so its runner lacks rights in the whole cluster",
      ],
    );
    const ends = await without("WorkflowTemplate gear", "WorkflowTemplate saw", "Role argosy.press-run");
    assertEach(ends, ({ seen }) => seen.replace(/^has no (\w+ \S+), so/, "$1:"), [
      "WorkflowTemplate argosy/gear: no run of it can be submitted",
      "Role team-a/argosy.press-run: its runs lack rights in team-a",
      "Role team-b/argosy.press-run: its runs lack rights in team-b",
      "WorkflowTemplate argosy/saw: its runs fail",
    ]);
  });

  it("names a namespace that an operator names and that is gone, and not what was in it", async () => {
    const press = EVERY_FORM.filter(({ name }) => name === "press");
    const all = (await deployed(press)).filter(({ metadata }) => metadata.namespace !== "team-b");
    const here = ["argosy", "team-a"].map((name) => ({ name }));
    assert.deepEqual(await seenIn(all, { namespaces: here }), [
      "operator press: names the namespace team-b, which is not in the cluster",
    ]);
    const going = { name: "team-b", deletionTimestamp: "2026-01-01T12:00:00Z" };
    assert.deepEqual(await seenIn(all, { namespaces: [...here, going] }), []);
    // Without the right to see namespaces, they count as there.
    const lines = await seenIn(all, { mayList: (plural) => plural !== "namespaces" });
    assert.ok(lines.length > 1);
    for (const line of lines) assert.match(line, / team-b\/argosy\./);
  });

  it("does not call missing what the account may not list", async () => {
    const definitions = (await deployedEveryForm()).filter(({ kind }) => kind === "ConfigMap");
    const { findings } = await found(definitions, { mayList: () => false });
    assertEach(findings, ({ what, state, seen }) => [what, state, seen], [
      [
        "parts of the operators",
        "warning",
        "were not all looked for, because this kubeconfig may not list workflowtemplates, eventbus, eventsources, sensors, roles, rolebindings, clusterroles, clusterrolebindings",
      ],
    ]);
    const lines = await seenIn(definitions, { mayList: (_, namespace) => namespace === "argosy" });
    assert.ok(
      lines.some((line) =>
        line.startsWith("operator press: has no Role argosy/argosy.press-runner-workflows, "),
      ),
    );
    assert.doesNotMatch(lines.join("\n"), /has no (Cluster|Role(Binding)? team-)/);
    assert.match(
      lines.at(-1) ?? "",
      /may not list clusterroles, clusterrolebindings, and this kubeconfig may list roles only in the namespace argosy, and /,
    );
  });

  it("says nothing of Argo's kinds in a cluster without them, which is a finding of its own", async () => {
    const all = await deployedEveryForm();
    const argo = /^(workflowtemplates|cronworkflows|eventbus|eventsources|sensors)$/;
    assert.deepEqual(await seenIn(all, { served: (plural) => !argo.test(plural) }), []);
  });

  it("knows nothing of an operator that another version of Argosy deployed, and lists each kind once", async () => {
    const all = await deployedEveryForm();
    const { calls } = await found(all);
    assert.deepEqual(calls.toSorted(), [...new Set(calls)].sort());
    const definitions = all
      .filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] === "definition")
      .map((each) => {
        const labels = { ...each.metadata.labels, "app.kubernetes.io/version": "99.1.0" };
        return { ...each, metadata: { ...each.metadata, labels } };
      });
    const older = await found(definitions);
    assert.deepEqual([older.findings, older.calls], [[], []]);
  });
});
