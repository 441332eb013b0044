import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { writeExample } from "../../cli/dev/example";
import { runOperator } from "../../cli/local/runOperator";
import { loadOperators } from "../../definition/loadOperators";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Engine } from "../../runtime/engine/engine";
import type { Operator } from "../../runtime/operator/definition";
import type { Reference } from "../../tools/objects";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import type { Api } from "./support/api";
import { announceKind, sharedCluster, type TestCluster } from "./support/cluster";
import { customResourceDefinition, inNamespace, OPEN_SCHEMA } from "./support/manifests";
import { becomesReady, statusOf } from "./support/useOperator";

const EXAMPLES = path.resolve(__dirname, "../../examples");
const RUNNERS = "examples-runners";

const operators = loadOperators(EXAMPLES).filter(({ folder }) => /^\d/.test(path.basename(folder)));
for (const { watch, crd } of operators) if (!watch) announceKind(crd as unknown as Manifest);
// The kinds of Pulumi's operator. It ships their schemas, which have 24,000 lines.
for (const [kind, field] of [
  ["Program", "program"],
  ["Stack", "spec"],
] as const)
  announceKind(customResourceDefinition("pulumi.com", kind, { [field]: OPEN_SCHEMA, status: OPEN_SCHEMA }));
/** What plays Pulumi's operator. */
let pulumi: Promise<void> | undefined;

/** What a test sees of an example that runs. */
interface Scene {
  readonly api: Api;
  /** The object that `argosy dev` would print for a first try, as the API server has it when all is done. */
  readonly object: KubernetesObject;
  /** A child of it in its namespace. */
  child(apiVersion: string, kind: string, name?: string): Promise<KubernetesObject>;
  /** Deletes the object, and waits until it is gone. */
  remove(): Promise<void>;
}

/** What must exist before, and what is looked at afterwards, of examples that are more than an object and its children. */
interface Play {
  /** Prepares the namespace. @returns variables of the handler in the place of the definition's */
  readonly prepare?: (api: Api, namespace: string) => Promise<Readonly<Record<string, string>> | undefined>;
  /** The object in the place of that for a first try. */
  readonly object?: (given: Manifest) => Manifest;
  readonly check: (scene: Scene) => Promise<void>;
}

/** The stand-in for the provider of mailboxes, and where it listens. */
let provider: ChildProcess | undefined;
let address = "";
const mailboxes = async () => (await fetch(`${address}/mailboxes`)).json();

const PLAYS: Readonly<Record<string, Play>> = {
  minimal: {
    check: async ({ child }) => {
      assert.deepEqual((await child("v1", "ConfigMap"))["data"], { text: "Hello, World!" });
    },
  },
  "children-and-status": {
    check: async ({ api, object, child }) => {
      const { name, namespace } = object.metadata;
      await child("apps/v1", "Deployment");
      await child("v1", "Service");
      // The pods are ready, and the handler has been asked once more.
      await eventually(async () => {
        const { readyReplicas, url } = statusOf(await api.get(object));
        assert.deepEqual(
          { readyReplicas, url },
          { readyReplicas: 1, url: `http://${name}.${namespace}.svc` },
        );
      });
    },
  },
  finalizer: {
    prepare: async () => {
      const command = [path.join(EXAMPLES, "03-finalizer/fixtures/provider.mjs")];
      const env = { ...process.env, PORT: "0" };
      provider = spawn(process.execPath, command, { env, stdio: ["ignore", "pipe", "ignore"] });
      assert.ok(provider.stdout);
      address = String((await once(provider.stdout, "data"))[0]).trim();
      return { PROVIDER: address };
    },
    check: async ({ object, remove }) => {
      const { uid } = object.metadata;
      assert.equal(statusOf(object)["id"], uid);
      assert.deepEqual(await mailboxes(), { [uid]: { address: "ada@example.com", megabytes: 500 } });
      await remove();
      assert.deepEqual(await mailboxes(), {});
    },
  },
  "used-secret": {
    prepare: async (api, namespace) => {
      const labels = { "argosy.dev/used-by": "argosy.used-secret" };
      const metadata = { name: "mail", namespace, labels };
      await api.create({ apiVersion: "v1", kind: "Secret", metadata, data: { token: "aHVudGVyMg==" } });
      return undefined;
    },
    check: async ({ child }) => {
      const { template } = (await child("apps/v1", "Deployment"))["spec"] as { template: KubernetesObject };
      assert.equal(template.metadata.annotations?.["jobs.example.com/token"], "b073aefd7c9215dd");
    },
  },
  schedule: {
    check: async ({ api, object }) => {
      // Nothing is due yet.
      const jobs = await api.list({ apiVersion: "batch/v1", kind: "Job" }, object.metadata.namespace);
      assert.deepEqual(jobs, []);
    },
  },
  "outside-event": {
    check: async ({ child }) => {
      const { data } = await child("v1", "ConfigMap");
      assert.equal((data as JsonObject)["repository"], "octo-org/shop");
    },
  },
  "kind-of-others": {
    check: async ({ api, object, child }) => {
      const budget = await child("policy/v1", "PodDisruptionBudget");
      assert.deepEqual((budget["spec"] as JsonObject)["maxUnavailable"], 1);
      await api.scale(object, 1);
      await eventually(() => api.assertGone(budget as Reference));
    },
  },
  "cluster-scoped": {
    check: async ({ api, remove }) => {
      const namespace = "team-press";
      await api.get({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "team", namespace } });
      const apiVersion = "rbac.authorization.k8s.io/v1";
      const binding = await api.get({
        apiVersion,
        kind: "RoleBinding",
        metadata: { name: "team", namespace },
      });
      assert.equal((binding["roleRef"] as JsonObject)["name"], "edit");
      await remove();
    },
  },
  "two-versions": {
    // The handler sees it as v1, with the default of v1.
    object: (given) => ({ ...given, apiVersion: "queues.example.com/v1alpha1", spec: { messages: 1000 } }),
    check: async ({ child }) => {
      assert.deepEqual((await child("v1", "ConfigMap"))["data"], {
        version: "queues.example.com/v1",
        messages: "1000",
        hours: "24",
      });
    },
  },
  "ordered-by-a-job": {
    check: async ({ child }) => {
      const job = await child("batch/v1", "Job", "web-migrate-1.4");
      const { completionTime } = statusOf(job) as { completionTime?: string };
      const deployment = await child("apps/v1", "Deployment");
      assert.ok(completionTime !== undefined, "the Job is not complete");
      assert.ok(String(deployment.metadata.creationTimestamp) >= completionTime);
    },
  },
  "heavy-job-in-a-pod": {
    check: async ({ object, child }) => {
      const { pi } = statusOf(object);
      assert.match(String(pi), /^3\.\d{4}$/);
      assert.deepEqual((await child("v1", "ConfigMap"))["data"], { pi });
    },
  },
  "defaults-and-validation": {
    check: async ({ api, object, child }) => {
      const { minReplicas, maxReplicas } = (await child("autoscaling/v2", "HorizontalPodAutoscaler"))[
        "spec"
      ] as JsonObject;
      assert.deepEqual([minReplicas, maxReplicas], [1, 5]);
      const change = (spec: JsonObject) => api.patch(object, { spec });
      await assert.rejects(change({ minimum: 6 }), /minimum must not be larger than maximum/);
      await assert.rejects(change({ deployment: "other" }), /deployment cannot be changed/);
    },
  },
  "any-language": {
    check: async ({ object, child }) => {
      assert.equal(statusOf(object)["count"], 2);
      const { data } = await child("v1", "ConfigMap");
      assert.match(String((data as JsonObject)["redirects.conf"]), /^location = \/about\.html \{/);
    },
  },
  "manifest-template": {
    check: async ({ child }) => {
      await child("apps/v1", "Deployment");
    },
  },
  "cloud-resources": {
    prepare: async (api, namespace) => {
      // What Pulumi's operator does with a Stack, if nothing fails.
      const playPulumi = async () => {
        const [stack] = await api.list({ apiVersion: "pulumi.com/v1", kind: "Stack" }, namespace);
        assert.ok(stack, "there is no Stack yet");
        const { name, generation: observedGeneration = 0 } = stack.metadata;
        const lastTransitionTime = "2026-01-01T00:00:00Z";
        const ready = { type: "Ready", status: "True", reason: "Done", message: "", lastTransitionTime };
        await api.applyStatus(
          { ...stack, metadata: { name, namespace } },
          {
            observedGeneration,
            conditions: [ready],
            outputs: { bucket: `${name}-5c1f2a9` },
            lastUpdate: { state: "succeeded" },
          },
        );
      };
      pulumi = eventually(playPulumi, { timeoutMs: 60_000 });
      return undefined;
    },
    check: async ({ api, object, child }) => {
      await pulumi;
      const { name } = object.metadata;
      const { spec } = await child("pulumi.com/v1", "Stack");
      const { config, programRef } = spec as Record<string, JsonObject>;
      assert.deepEqual([config?.["keepDays"], programRef], ["30", { name }]);
      await child("pulumi.com/v1", "Program");
      await eventually(async () => {
        const { bucket, update } = statusOf(await api.get(object as Reference));
        assert.deepEqual([bucket, update], [`${name}-5c1f2a9`, "succeeded"]);
      });
      const long = {
        ...object,
        metadata: { name: "x".repeat(41), namespace: object.metadata.namespace ?? "" },
      };
      await assert.rejects(api.create(long as Manifest), /may have at most 40 characters/);
    },
  },
};

describe("the numbered examples, on an API server", function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  let engine: Engine | undefined;
  let scratch: string;

  before(async function () {
    this.timeout(0);
    cluster = await sharedCluster();
    scratch = temporaryFolder();
  });
  afterEach(async () => {
    await engine?.stop();
    engine = undefined;
    provider?.kill();
    provider = undefined;
  });

  /** The object that `argosy dev` prints for a first try, in a namespace. */
  async function firstObject(operator: Operator, namespace: string): Promise<Manifest> {
    const file = await writeExample(operator, scratch, cluster.api.client);
    assert.ok(file);
    const given = parse(readFileSync(file, "utf8")) as Manifest;
    return operator.customResource.namespaced ? inNamespace(given, namespace) : given;
  }

  it("are all played", () => {
    assert.deepEqual(operators.map(({ name }) => name).sort(), Object.keys(PLAYS).sort());
  });

  for (const operator of operators) {
    it(`${operator.name} does what its README says`, async () => {
      const { api, connection } = cluster;
      const play = PLAYS[operator.name];
      assert.ok(play);
      const namespace = await api.newNamespace(operator.name);
      const env = { ...operator.env, ...(await play.prepare?.(api, namespace)) };
      engine = await runOperator({ operator: { ...operator, env }, connection, namespace: RUNNERS });
      const given = await firstObject(operator, namespace);
      const created = await api.create(play.object?.(given) ?? given);
      const reference = created as Reference & KubernetesObject;
      const object = operator.watch ? created : await becomesReady(api, reference, { timeoutMs: 60_000 });
      await play.check({
        api,
        object,
        child: (apiVersion, kind, name = object.metadata.name) =>
          eventually(() => api.get({ apiVersion, kind, metadata: { name, namespace } })),
        remove: async () => {
          await api.delete(reference);
          await eventually(() => api.assertGone(reference));
        },
      });
    });
  }
});
