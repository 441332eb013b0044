import assert from "node:assert/strict";
import { checkAdoptedController } from "../../preflight/checkAdoptedController";
import { checkImageVolumes } from "../../preflight/checkImageVolumes";
import { checkLeftDefinitions } from "../../preflight/checkLeftDefinitions";
import { checkNamespaces } from "../../preflight/checkNamespaces";
import { checkRestrictions } from "../../preflight/checkRestrictions";
import { CONFIG_MAP_NAME, readControllerConfiguration } from "../../preflight/controllerConfiguration";
import { type Found, type LookOptions, lookInCluster } from "../../preflight/lookInCluster";
import { notingUnseen } from "../../preflight/unseen";
import type { OperatorNames } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { withinCpuTime } from "../support/cpuTime";
import { fakeLook, found, SHOP } from "./support/fakeLook";
import { type Answer, json, refuse, TestApiServer } from "./support/testApiServer";

const theirs = {
  configMap: "argo/workflow-controller-configmap",
  instanceId: "",
  initlessPods: false,
  takesOnlyTemplates: false,
};
const NOTHING = { problems: [] };

describe("checkAdoptedController", () => {
  const check = (
    platform: { instanceId: string; initlessPods?: boolean },
    ...controllers: (typeof theirs)[]
  ) => checkAdoptedController(fakeLook({ workflowControllers: controllers }), platform);

  it("refuses another layout of pods than the controller's, with the remedy", async () => {
    assert.deepEqual(await check({ instanceId: "" }, { ...theirs, initlessPods: true }), {
      problems: [
        'argoWorkflows is "adopt" and initlessPods is false, but the existing Workflow controller has initlessPod enabled (ConfigMap argo/workflow-controller-configmap). Set initlessPods to true.',
      ],
    });
    const { problems } = await check({ instanceId: "", initlessPods: true }, theirs);
    assert.match(
      problems.join("\n"),
      /initlessPods is true, .* does not have .* Set initlessPods to false\.$/,
    );
  });

  it("accepts a controller that agrees, even if others do not", async () => {
    const other = { ...theirs, configMap: "team/workflow-controller-configmap", initlessPods: true };
    assert.deepEqual(await check({ instanceId: "" }, other, theirs), NOTHING);
    assert.deepEqual(await check({ instanceId: "", initlessPods: true }, other, theirs), NOTHING);
  });

  it("warns if it finds controllers, but none with the instance id", async () => {
    assert.deepEqual(await check({ instanceId: "shop" }, { ...theirs, instanceId: "team" }), {
      problems: [],
      warnings: [
        'argoWorkflows is "adopt", and no Workflow controller with the instanceId "shop" was found (there is "team" in argo/workflow-controller-configmap). If there is none, no run begins.',
      ],
    });
  });

  it("says nothing about what it cannot see", async () => {
    assert.deepEqual(await check({ instanceId: "" }), NOTHING);
    assert.deepEqual(await checkAdoptedController(fakeLook({}), { instanceId: "" }), NOTHING);
  });
});

describe("checkRestrictions", () => {
  const check = (...controllers: (typeof theirs)[]) =>
    checkRestrictions(fakeLook({ workflowControllers: controllers }), { namespace: "shop" });

  it("warns of each controller that accepts any Workflow, with the remedy, and refuses nothing", async () => {
    const strict = { ...theirs, configMap: "team/workflow-controller-configmap", takesOnlyTemplates: true };
    assert.deepEqual(await check(theirs, strict), {
      ...NOTHING,
      warnings: [
        'the Workflow controller of the ConfigMap argo/workflow-controller-configmap accepts any Workflow. If it manages the namespace shop, each account that may create Workflows there can run any pod as any account there. Set "workflowRestrictions: { templateReferencing: Strict }" in this ConfigMap, or let this controller manage other namespaces only.',
      ],
    });
  });

  it("says nothing if each controller accepts only templates, or if the cluster shows none", async () => {
    const nothing = { ...NOTHING, warnings: [] };
    assert.deepEqual(await check({ ...theirs, takesOnlyTemplates: true }), nothing);
    assert.deepEqual(await checkRestrictions(fakeLook({}), { namespace: "shop" }), nothing);
  });
});

describe("readControllerConfiguration", () => {
  const read = (data?: Record<string, string>) =>
    readControllerConfiguration({
      ...found({ name: "workflow-controller-configmap", namespace: "argo" }),
      ...(data && { data }),
    });

  it("reads fields in keys of their own, and all of them in the key config", () => {
    const configured = { ...theirs, instanceId: "team", initlessPods: true };
    assert.deepEqual(read({ instanceID: "team", initlessPod: "enabled: true\n" }), configured);
    assert.deepEqual(read({ config: "instanceID: team\ninitlessPod: {enabled: true}\n" }), configured);
  });

  it("reads YAML as Argo does: version 1.1, and names in any case", () => {
    const configured = { ...theirs, instanceId: "7", initlessPods: true };
    assert.deepEqual(read({ config: "instanceID: 007\ninitlessPod: {enabled: yes}\n" }), configured);
    assert.deepEqual(read({ instanceId: "007", initlesspod: "Enabled: on\n" }), configured);
  });

  it("knows whether the controller accepts only Workflows of a template, in both forms", () => {
    for (const mode of ["Strict", "Secure"]) {
      assert.ok(read({ workflowRestrictions: `templateReferencing: ${mode}` })?.takesOnlyTemplates, mode);
      assert.ok(
        read({ config: `workflowRestrictions: {templateReferencing: ${mode}}` })?.takesOnlyTemplates,
        mode,
      );
    }
    for (const text of ["", "templateReferencing: strict", "templateReferencing: ''"]) {
      assert.equal(read({ workflowRestrictions: text })?.takesOnlyTemplates, false, text);
    }
  });

  it("knows Argo's defaults, and leaves out what is no configuration", () => {
    for (const data of [undefined, {}, { config: "" }, { initlessPod: "enabled: false" }]) {
      assert.deepEqual(read(data), theirs);
    }
    assert.equal(read({ config: "{" }), undefined);
  });

  it("takes no time for what a user may have made up under such a name", () => {
    const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}: 1`).join("\n");
    const anchors = Array.from({ length: 3_000 }, (_, at) => `k${at}: &a${at} 1`).join("\n");
    // A mebibyte of keys took a minute and a half.
    for (const data of [{ config: keys(100_000) }, { config: keys(6_000) }, { config: anchors }])
      withinCpuTime(1_000, () => read(data));
  });

  it("is asked for the names of Argo's manifests and of its Helm chart", () => {
    for (const name of ["workflow-controller-configmap", "argo-workflow-controller-configmap"]) {
      assert.match(name, CONFIG_MAP_NAME);
    }
    assert.doesNotMatch("workflow-controller-configmap-old", CONFIG_MAP_NAME);
  });
});

describe("the namespaces that operators name", () => {
  const PRESS = "handlers/press/operator.yaml";
  const namespaces = [
    { namespace: "team-a", place: PRESS },
    { namespace: "team-b", place: PRESS },
    { namespace: "team-b", place: "overrides.robot" },
  ];
  const check = (inCluster: Record<string, Found>) =>
    checkNamespaces(fakeLook({ namespaces: inCluster }), namespaces);

  it("cause one warning if they are missing, with the places that name each, and no refusal", async () => {
    const { problems, warnings } = await check({ "team-a": "absent", "team-b": "absent" });
    assert.deepEqual(problems, []);
    assert.equal(warnings?.length, 1);
    assert.match(
      warnings?.[0] ?? "",
      /^these namespaces are not in the cluster: team-a \(handlers\/press\/operator\.yaml\), team-b \(handlers\/press\/operator\.yaml, overrides\.robot\)\. .*dependsOn of this component\.$/,
    );
  });

  it("cause no warning if they exist, or if the cluster does not show them", async () => {
    const { warnings } = await check({ "team-a": found(), "team-b": "absent" });
    assert.match(warnings?.[0] ?? "", /not in the cluster: team-b \(/);
    const quiet = [check({ "team-a": found(), "team-b": found() }), check({})];
    for (const findings of await Promise.all(quiet)) assert.deepEqual(findings.warnings ?? [], []);
  });
});

describe("checkLeftDefinitions", () => {
  const KEPT = { "pulumi.com/patchFieldManager": "argosy-it" };
  const crd = (name: string, program?: string, operator = `shop.${name}`, kept = {}): KubernetesObject => ({
    ...found({
      name: `${name}s.example.com`,
      labels: { "argosy.dev/operator": operator },
      annotations: { ...(program !== undefined && { "argosy.dev/program": program }), ...kept },
    }),
    spec: {
      group: "example.com",
      names: { kind: "Greeting", plural: "greetings" },
      versions: [
        { name: "v1alpha1", served: false },
        { name: "v1", served: true },
      ],
    },
  });
  const check = (
    operatorDefinitions: readonly KubernetesObject[] | undefined,
    {
      keeps = true,
      count = 1 as number | "unseen",
      has = (_: string): boolean => false,
      operators = [] as OperatorNames[],
    } = {},
  ) => {
    const look = {
      ...fakeLook({ ...(operatorDefinitions && { operatorDefinitions }) }),
      countOf: async ({ apiVersion, plural }: { apiVersion: string; plural: string }) => {
        assert.deepEqual([apiVersion, plural], ["example.com/v1", "greetings"]);
        return count === "unseen" ? undefined : count;
      },
    };
    return checkLeftDefinitions(look, { installation: "shop", ...SHOP, operators, keeps, has });
  };
  const ours = "acme/shop/dev";
  const WHAT =
    "the CRD greetings.example.com of the operator greeting, which is no longer in the program, with 1 Greeting and its children";

  it("says what stays and how much, and how to delete it or to hear no more of it", async () => {
    const kept = [crd("greeting", ours, undefined, KEPT)];
    for (const keeps of [true, false]) {
      assert.deepEqual(await check(kept, { keeps }), {
        problems: [],
        warnings: [
          `${WHAT} stays in the cluster, and no operator reconciles these objects. To delete them all: kubectl delete crd greetings.example.com, while the operator is deployed. To hear no more of it: kubectl annotate crd greetings.example.com argosy.dev/program-`,
        ],
      });
    }
  });

  it("says what is deleted and how much, if the program wants that", async () => {
    assert.deepEqual(await check([crd("greeting", ours)], { keeps: false }), {
      problems: [],
      warnings: [`unless it is protected, pulumi up deletes ${WHAT}. With data "keep" they stay.`],
    });
  });

  it("refuses what Pulumi would delete against the program's will, since only the next pulumi up keeps it", async () => {
    assert.deepEqual(await check([crd("greeting", ours)]), {
      problems: [
        `pulumi up would delete ${WHAT}: data is "keep" now, and was not in the last pulumi up. Put the operator back, run pulumi up, and then take it out.`,
      ],
      warnings: [],
    });
  });

  for (const [what, name, formerNames] of [
    ["", "greeting", []],
    [" and another name", "hello", ["greeting"]],
  ] as const)
    it(`refuses to delete objects whose operator has another kind${what}: no operator would finalize them`, async () => {
      const operators = [{ installation: "shop", name, formerNames: [...formerNames] }];
      const checked = (count: number | "unseen", crds = [crd("greeting", ours)]) =>
        check(crds, { keeps: false, count, operators });
      const text =
        "pulumi up would delete the CRD greetings.example.com of the operator greeting, which now has another kind, with 1 Greeting and its children, and no operator would finalize these objects. Delete them first, while the operator is deployed as before: kubectl delete greetings.example.com --all --all-namespaces. Or give the operator of the new kind another name.";
      assert.deepEqual(await checked(1), { problems: [text], warnings: [] });
      assert.equal((await checked("unseen")).problems.length, 1);
      assert.deepEqual((await checked(0)).problems, []);
      assert.deepEqual((await checked(1, [crd("greeting", ours, undefined, KEPT)])).problems, []);
    });

  it("says how to delete a CRD without objects", async () => {
    const { warnings } = await check([crd("greeting", ours, undefined, KEPT)], { count: 0 });
    const text =
      /with no object stays in the cluster\. To delete it: kubectl delete crd greetings\.example\.com\. /;
    assert.match(warnings?.join("") ?? "", text);
  });

  it("counts", async () => {
    const textFor = async (count: number | "unseen") =>
      (await check([crd("greeting", ours)], { keeps: false, count })).warnings?.join("") ?? "";
    assert.match(await textFor(0), /with no object\. /);
    assert.match(await textFor(12), /with 12 objects Greeting and their children\. /);
    assert.match(await textFor("unseen"), /with all its objects and their children\. /);
  });

  it("says nothing of other programs' CRDs, of the program's own, of deleted ones, or if the cluster shows none", async () => {
    const going = crd("greeting", ours);
    const others = [
      crd("greeting", "acme/shop/prod"),
      crd("greeting"),
      crd("greeting", ours, "billing.greeting"),
      { ...going, metadata: { ...going.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    ];
    const nothing = { problems: [], warnings: [] };
    assert.deepEqual(await check(others), nothing);
    assert.deepEqual(await check([crd("greeting", ours)], { has: () => true }), nothing);
    assert.deepEqual(await check(undefined), nothing);
  });
});

describe("checkImageVolumes", () => {
  const need = { reason: "initlessPods is true", remedy: "Leave initlessPods out" };

  it("accepts one that has them or does not show it, and asks nothing if nothing needs them", async () => {
    const none = { problems: [] };
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({ keepsImageVolumes: true }), need), none);
    assert.deepStrictEqual(await checkImageVolumes(fakeLook({}), need), none);
    const asked = fakeLook({ keepsImageVolumes: false });
    assert.deepStrictEqual(await checkImageVolumes(asked, undefined), none);
  });
});

describe("notingUnseen", () => {
  it("names each question without an answer once, and no other", async () => {
    const look = fakeLook({ crds: { seen: found(), gone: "absent" }, keepsImageVolumes: false });
    const { found: answers, unseen } = await notingUnseen(look, (noting) =>
      Promise.all([
        noting.crd("seen"),
        noting.crd("gone"),
        noting.keepsImageVolumes(),
        noting.namespace("argosy"),
        noting.namespace("argosy"),
        noting.hasSecret("argosy-system", "archive"),
      ]),
    );
    assert.deepEqual(answers, [found(), "absent", false, undefined, undefined, undefined]);
    assert.deepEqual(unseen, ["the namespace argosy", "the Secret archive in argosy-system"]);
  });
});

/** Longer than the time after which a cluster is asked again. */
const PATIENT: LookOptions = { patienceMs: 20_000 };

describe("lookInCluster", function () {
  this.timeout(30_000);
  let api: TestApiServer;
  before(async () => {
    api = await TestApiServer.start();
  });
  beforeEach(() => api.calls.splice(0));
  after(() => api.stop());

  const kubeconfig = () => api.kubeconfig();
  const lookForCrd = (answer: Answer, options?: LookOptions) => {
    api.answer = answer;
    return lookInCluster({ kubeconfig: kubeconfig() }, (look) => look.crd("gears.example.com"), options);
  };
  const busyOnce: Answer = (_, response) => refuse(response, api.calls.length === 1 ? 503 : 404);

  it("asks a busy cluster again if it has the time, as an up has", async () => {
    assert.equal(await lookForCrd(busyOnce, PATIENT), "absent");
    assert.equal(api.calls.length, 2);
  });

  it("asks a busy cluster only once in the time of a preview", async () => {
    assert.equal(await lookForCrd(busyOnce), undefined);
    assert.equal(api.calls.length, 1);
  });

  it("does not ask again what it may not see", async () => {
    assert.equal(await lookForCrd((_, response) => refuse(response, 403), PATIENT), undefined);
    assert.equal(api.calls.length, 1);
  });

  it("waits no longer than it may", async () => {
    const never: Answer = () => {};
    assert.equal(await lookForCrd(never, { patienceMs: 100 }), undefined);
    api.cut();
  });

  it("finds the CRDs of operators", async () => {
    api.answer = (_, response) => json(response, { metadata: {}, items: [{ metadata: { name: "it" } }] });
    const definitions = await lookInCluster({ kubeconfig: kubeconfig() }, (look) =>
      look.operatorDefinitions(),
    );
    assert.deepEqual(
      definitions?.map(({ metadata }) => metadata.name),
      ["it"],
    );
    assert.equal(api.calls.at(-1)?.query.get("labelSelector"), "argosy.dev/operator");
  });

  it("counts objects, of which it reads one", async () => {
    const kind = { apiVersion: "example.com/v1", kind: "Greeting", plural: "greetings", namespaced: true };
    const count = () => lookInCluster({ kubeconfig: kubeconfig() }, (look) => look.countOf(kind));
    const answers = [
      { metadata: {}, items: [] },
      { metadata: {}, items: [{ metadata: {} }] },
      { metadata: { remainingItemCount: 41, continue: "next" }, items: [{ metadata: {} }] },
    ];
    for (const [index, expected] of [0, 1, 42].entries()) {
      api.answer = (_, response) => json(response, answers[index] ?? {});
      assert.equal(await count(), expected);
    }
    const { path, query } = api.calls.at(-1) ?? {};
    assert.deepEqual([path, query?.get("limit")], ["/apis/example.com/v1/greetings", "1"]);
    api.answer = (_, response) => refuse(response, 404);
    assert.equal(await count(), undefined);
  });
});
