import assert from "node:assert/strict";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { ArgoPlatformArgs } from "../../components/arguments/arguments";
import { installationNameOf } from "../../components/manifests/installation";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { PODS } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { inApplyOrder } from "../../runtime/write/desiredChildren";
import { eventually } from "../support/eventually";
import { removeFolder } from "../unit/operatorFolder";
import { logged } from "../unit/support/componentRuns";
import { samplePlatform } from "../unit/support/platform";
import { run, runStack } from "../unit/support/program";
import { EVERY_FORM, operatorsProgram, sampleProgram } from "../unit/support/sampleOperators";
import { mayDo, parseCall } from "./support/accessReview";
import { type OwnCluster, startTestCluster } from "./support/cluster";
import { namespace } from "./support/manifests";
import { podsOf } from "./support/podsOf";

/** Accounts of the program with every form of an operator. */
const ACCOUNTS = {
  "argosy-system/argo-events-controller": ["list secrets in argosy", "update sensors.argoproj.io in argosy"],
  "argosy-system/workflow-controller": ["create pods in argosy", "update workflows.argoproj.io in argosy"],
  "argosy-system/argo-server": ["list workflows.argoproj.io in argosy"],
  "argosy/argosy-viewer": ["get pods/log in argosy", "list workflows.argoproj.io in argosy"],
  "argosy/argosy-submitter": [
    "list workflows.argoproj.io in argosy",
    "create workflows.argoproj.io in argosy",
  ],
  "argosy/argosy-event-bus": [],
  "argosy/argosy-event-source": ["watch gears.shop.example.com", "list presss.shop.example.com in team-b"],
  "argosy/argosy-sensor": [],
  "argosy/argosy-keeper": ["list pods in argosy", "create pods/eviction in argosy"],
  "argosy/gear-runner": [
    "patch gears/status.shop.example.com in anywhere",
    "delete deployments.apps in anywhere",
  ],
  "argosy/press-runner": [
    "list presss.shop.example.com in team-b",
    "patch presss/status.shop.example.com in team-c",
    "delete deployments.apps in team-a",
    "create workflows.argoproj.io in argosy",
    "delete workflows.argoproj.io in argosy",
    "watch workflowtemplates.argoproj.io press in argosy",
    "update leases.coordination.k8s.io argosy-argosy.press in argosy",
  ],
  "argosy/press-run": [
    "patch presss.shop.example.com in team-c",
    "create deployments.apps in team-a",
    "create workflowtaskresults.argoproj.io in argosy",
    "get workflows.argoproj.io in argosy",
  ],
  "argosy/robot-runner": [
    "create serviceaccounts/token robot-handler in argosy",
    "patch robots.shop.example.com in team-c",
    "patch deployments.apps in team-a",
  ],
  "argosy/robot-handler": ["list jobs.batch in team-a"],
  "argosy/saw-runner": ["list saws.shop.example.com in anywhere", "create workflows.argoproj.io in argosy"],
  "argosy/saw-run": ["patch saws.shop.example.com in anywhere", "create deployments.apps in anywhere"],
  "argosy/saw-handler": ["get nodes"],
  "argosy/default": [],
} as const;
type Account = keyof typeof ACCOUNTS;

/** What no account of ours may do. */
const DENIED_TO_ALL = [
  "get secrets in argosy",
  "list secrets in kube-system",
  "list secrets",
  "create pods/exec in argosy",
  "create pods in kube-system",
  "create rolebindings.rbac.authorization.k8s.io in argosy",
  "create clusterrolebindings.rbac.authorization.k8s.io",
  "escalate clusterroles.rbac.authorization.k8s.io",
  "bind roles.rbac.authorization.k8s.io in argosy",
  "impersonate serviceaccounts in argosy",
  "impersonate users",
  "create serviceaccounts/token default in argosy",
  "create serviceaccounts/token workflow-controller in argosy-system",
  "patch customresourcedefinitions.apiextensions.k8s.io",
  "create mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "delete namespaces",
  "patch nodes",
  "update configmaps in argosy-system",
  "patch statefulsets.apps in argosy-system",
  "deletecollection workflows.argoproj.io in argosy",
];

/** What one of them may not, though another may, or something near it may be done. */
const DENIED: Partial<Record<Account, readonly string[]>> = {
  "argosy-system/argo-events-controller": [
    "list secrets in argosy-system",
    "create pods in argosy",
    "list sensors.argoproj.io",
    "create rolebindings.rbac.authorization.k8s.io in argosy",
  ],
  "argosy-system/workflow-controller": [
    "list workflows.argoproj.io",
    "create pods in default",
    "list secrets in argosy",
  ],
  "argosy-system/argo-server": [
    "create workflows.argoproj.io in argosy",
    "get pods/log in argosy",
    "list pods in argosy",
  ],
  "argosy/argosy-viewer": [
    "create workflows.argoproj.io in argosy",
    "delete pods in argosy",
    "list pods in argosy-system",
  ],
  "argosy/argosy-submitter": [
    "delete workflows.argoproj.io in argosy",
    "create workflowtemplates.argoproj.io in argosy",
    "create pods in argosy",
    "create workflows.argoproj.io in default",
  ],
  "argosy/argosy-event-source": [
    "get gears.shop.example.com in anywhere",
    "patch gears.shop.example.com in anywhere",
    "list presss.shop.example.com",
    "list presss.shop.example.com in team-c",
  ],
  "argosy/argosy-sensor": ["get workflows.argoproj.io in argosy", "create workflows.argoproj.io in argosy"],
  "argosy/argosy-keeper": [
    "delete pods in argosy",
    "patch pods in argosy",
    "get pods/log in argosy",
    "create pods/eviction in argosy-system",
    "patch deployments.apps in argosy",
    "patch sensors.argoproj.io in argosy",
  ],
  "argosy/gear-runner": [
    "get presss.shop.example.com in team-a",
    "delete gears.shop.example.com in anywhere",
    "update leases.coordination.k8s.io argosy-argosy.robot in argosy",
    "get configmaps in argosy",
    "list statefulsets.apps in anywhere",
    "update workflows.argoproj.io in argosy",
    "create workflows.argoproj.io in anywhere",
    "create serviceaccounts/token robot-handler in argosy",
  ],
  "argosy/press-runner": [
    "create deployments.apps in team-a",
    "patch deployments.apps in team-a",
    "delete deployments.apps in team-c",
    "patch presss.shop.example.com in team-a",
    "update workflows.argoproj.io in argosy",
    "watch workflowtemplates.argoproj.io saw in argosy",
    "list pods in argosy",
  ],
  "argosy/press-run": [
    "create deployments.apps in team-c",
    "create workflows.argoproj.io in argosy",
    "delete workflows.argoproj.io in argosy",
    "patch workflows.argoproj.io in argosy",
    "create leases.coordination.k8s.io in argosy",
    "list pods in argosy",
  ],
  "argosy/robot-runner": ["list jobs.batch in team-a", "patch deployments.apps in team-b"],
  "argosy/robot-handler": [
    "list jobs.batch in team-b",
    "get robots.shop.example.com in team-a",
    "create jobs.batch in team-a",
  ],
  "argosy/saw-handler": ["list nodes", "get saws.shop.example.com in anywhere"],
};

/** A manifest as Pulumi writes it if it is kept: its mark is meant for Pulumi, and so is not rendered. */
function kept(manifest: Manifest): Manifest {
  if (manifest.kind !== "CustomResourceDefinition") return manifest;
  const { metadata } = manifest;
  const annotations = { ...metadata.annotations, "pulumi.com/patchFieldManager": "argosy-test" };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

const DEPLOYMENTS = builtIn("apps/v1", "Deployment");

/** A platform that needs nothing in the cluster but Argo, which it has by then. */
const ADOPTED = { argoEvents: "adopt", argoWorkflows: "adopt", createNamespaces: false } as const;

describe("the program on a real API server", function () {
  this.timeout(120_000);
  const sample = sampleProgram(EVERY_FORM);
  const programs: { name: string; manifests: readonly Manifest[] }[] = [];
  let cluster: OwnCluster;

  before(async function () {
    // Programs may have to be built: see startTestCluster.
    this.timeout(0);
    cluster = await startTestCluster();
    for (const name of ["team-a", "team-b"]) await cluster.api.create(namespace(name));
    for (const stack of ["dev", "prod"]) programs.push({ name: stack, ...(await runStack(stack)) });
    programs.push({ name: "every form", ...(await run(operatorsProgram(sample))) });
  });
  after(async () => {
    removeFolder(sample.root);
    await cluster?.close();
  });

  it("refuses to adopt an Argo that does not exist, but would install it", async () => {
    await assert.rejects(
      looking({ argoEvents: "adopt", argoWorkflows: "install" }),
      /ArgoPlatform "argo": argoEvents is "adopt", but Argo Events is not in the cluster/,
    );
    await looking({ argoEvents: "install", argoWorkflows: "install" });
  });

  it("is accepted, every object and every field of it", async () => {
    for (const { manifests } of programs) {
      const entries = manifests.map((manifest) => ({ manifest, resource: { kind: manifest.kind } }));
      for (const group of inApplyOrder(entries)) {
        // A CRD that was applied just now may not be served yet.
        await Promise.all(
          group.map(({ manifest }) => eventually(() => cluster.api.apply(kept(manifest), "argosy-test"))),
        );
      }
    }
  });

  it("deploys a runner that a user has scaled, with the program's number of runners", async () => {
    const { registrations } = await run(operatorsProgram(sample));
    const inputs = registrations.map((each) => each.inputs as unknown as Manifest);
    const made = inputs.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "gear-runner",
    );
    assert.ok(made);
    const metadata = { ...made.metadata, name: "scaled-runner", namespace: "team-a" };
    // As Pulumi's provider applies an object (https://github.com/pulumi/pulumi-kubernetes).
    const force = metadata.annotations?.["pulumi.com/patchForce"] === "true";
    const deploy = (replicas: number) => {
      const manifest = { ...made, metadata, spec: { ...(made.spec as JsonObject), replicas } };
      return cluster.api.client.apply(DEPLOYMENTS, manifest, { fieldManager: "pulumi", force });
    };
    await deploy(2);
    await cluster.api.scale({ ...made, metadata }, 1);
    const { object } = await deploy(2);
    assert.equal((object.spec as JsonObject).replicas, 2);
  });

  it("shares or adopts an existing Argo, and does not install over another program's", async () => {
    const install = { argoEvents: "install", argoWorkflows: "install" } as const;
    await looking(install);
    await giveUp("CustomResourceDefinition", ({ metadata }) => metadata.name.endsWith(".argoproj.io"));
    await looking({ argoEvents: "share", argoWorkflows: "adopt" });
    await assert.rejects(
      looking(install),
      /ArgoPlatform "argo": argoWorkflows is "install", but Argo Workflows is already in the cluster .* should own it: run kubectl annotate crd workflows/,
    );
    const metadata = { name: "workflows.argoproj.io" };
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata,
    };
    await cluster.api.patch(definition, { metadata: { labels: null } });
    await assert.rejects(
      looking(install),
      /argoWorkflows is "install", but Argo Workflows is already in the cluster .*\. Set argoWorkflows to "share" \(for Operators: /,
    );
  });

  it("lets go of namespaces that it has given up, and does not take them again by itself", async () => {
    await giveUp("Namespace", ({ metadata }) => /^argosy/.test(metadata.name));
    await looking(ADOPTED);
    await assert.rejects(
      looking({ ...ADOPTED, createNamespaces: true }),
      /the namespace argosy exists already\. .* annotate namespace argosy/,
    );
  });

  it("is refused what another stack has: the name of an operator, a CRD, and an installation", async () => {
    const args = { platform: samplePlatform(), cluster: { kubeconfig: cluster.controlPlane.kubeconfig } };
    const marker = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: installationNameOf("argosy") },
    };
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "gears.shop.example.com" },
    };
    const ofBilling = sample.definitions.map((each) => ({ ...each, installation: "billing" }));
    for (const [marked, definitions, refusal] of [
      [
        marker,
        ofBilling,
        /already has an operator "gear", of the installation "argosy" and the stack acme\/shop\/prod/,
      ],
      [
        crd,
        sample.definitions,
        /the operator gear has the CRD gears\.shop\.example\.com, .* exists in the cluster, from the stack acme\/shop\/prod\./,
      ],
      [
        marker,
        sample.definitions,
        /Operators "argosy": installation is "argosy".*belongs to the stack acme\/shop\/prod\./,
      ],
    ] as const) {
      const mark = (program: string) =>
        cluster.api.patch(marked, { metadata: { annotations: { "argosy.dev/program": program } } });
      const look = () =>
        run(operatorsProgram({ ...sample, definitions }, args), { preview: true, cluster: true });
      await look();
      await mark("acme/shop/prod");
      await assert.rejects(look(), refusal).finally(() => mark("organization/argosy/test"));
    }
  });

  it("warns of an archive without the Secret that it names, which the program may create", async () => {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "archive", namespace: "team-a" } };
    const archive = { host: "db.example.com", database: "runs", secret: secret.metadata.name };
    const platform = { ...ADOPTED, argoWorkflows: "share", controllerNamespace: "team-a" } as const;
    const warned = () => logged(() => looking({ ...platform, archive }));
    assert.match(
      await warned(),
      /ArgoPlatform "argo": archive names the Secret "archive", which is not in team-a/,
    );
    await cluster.api.create(secret);
    assert.doesNotMatch(await warned(), /archive names/);
  });

  it("makes only pods that a namespace with the restricted standard accepts", async () => {
    const pods = programs.flatMap(({ manifests }) => podsOf(manifests));
    assert.ok(pods.length > 20);
    for (const pod of pods) await dryRun(pod);
  });

  it("makes none that would be accepted without its security contexts", async () => {
    const pods = podsOf(programs.at(-1)?.manifests ?? []);
    for (const pod of pods) {
      const bare = JSON.parse(
        JSON.stringify(pod, (key, value) => (key === "securityContext" ? undefined : value)),
      );
      await assert.rejects(dryRun(bare as Manifest), /violates PodSecurity "restricted/, pod.metadata.name);
    }
  });

  it("lets each account do what it is for", async () => {
    for (const [account, calls] of Object.entries(ACCOUNTS)) {
      for (const call of calls) {
        assert.ok(await mayDo(cluster.api, account, parseCall(call)), `${account} may not ${call}`);
      }
    }
  });

  it("lets no account do anything that it does not need", async () => {
    let denied = 0;
    for (const account of Object.keys(ACCOUNTS) as Account[]) {
      for (const call of [...DENIED_TO_ALL, ...(DENIED[account] ?? [])]) {
        assert.ok(!(await mayDo(cluster.api, account, parseCall(call))), `${account} may ${call}`);
        denied += 1;
      }
    }
    assert.ok(denied > 250);
  });

  it("has no other account", () => {
    const made = programs.at(-1)?.manifests.filter(({ kind }) => kind === "ServiceAccount") ?? [];
    const known = Object.keys(ACCOUNTS);
    const names = made.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    assert.ok(names.length > 10);
    assert.deepEqual(
      names.filter((name) => !known.includes(name)),
      [],
    );
  });

  /** Removes the mark of the program from objects. */
  async function giveUp(kind: string, isMeant: (object: KubernetesObject) => boolean): Promise<void> {
    const apiVersion = kind === "Namespace" ? "v1" : "apiextensions.k8s.io/v1";
    const objects = (await cluster.api.list({ apiVersion, kind })).filter(isMeant);
    assert.ok(objects.length > 0);
    for (const { metadata } of objects) {
      await cluster.api.patch(
        { apiVersion, kind, metadata: { name: metadata.name } },
        { metadata: { annotations: { "argosy.dev/program": null } } },
      );
    }
  }

  /** Looks into this cluster as a program does that makes a platform. */
  async function looking(args: ArgoPlatformArgs): Promise<void> {
    const own = { kubeconfig: cluster.controlPlane.kubeconfig };
    await run(() => void new ArgoPlatform("argo", { ...args, cluster: own }), {
      preview: true,
      cluster: true,
    });
  }

  function dryRun(pod: Manifest): Promise<unknown> {
    return cluster.api.client.create(PODS, pod, { dryRun: true });
  }
});
