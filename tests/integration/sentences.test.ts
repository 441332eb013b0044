import assert from "node:assert/strict";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { ApiError } from "../../runtime/kubernetes/errors";
import { SENTENCES } from "../../runtime/kubernetes/sentences";
import { eventually } from "../support/eventually";
import { sideBySide } from "../support/sideBySide";
import { sharedCluster, type TestCluster } from "./support/cluster";
import { configMap, customResourceDefinition, inNamespace, OPEN_SCHEMA } from "./support/manifests";

type Name = keyof typeof SENTENCES;
/** Provokes a refusal in a namespace of its own. It is tried again until the API server knows what it needs. */
type Provoke = (namespace: string) => Promise<unknown>;

const REGISTRATION = "admissionregistration.k8s.io/v1";
const RBAC = "rbac.authorization.k8s.io/v1";
const GROUP = "sentences.example.com";
const ROLES = builtIn(RBAC, "Role");

/** Those that nothing provokes here: etcd works, and the API server fills its cache with every kind. */
const UNPROVOKED: readonly Name[] = ["etcdTrouble", "uncached"];

describe("the API server words refusals as it did:", function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  before(async function () {
    this.timeout(0);
    cluster = await sharedCluster();
  });

  const apply = (manifest: Manifest) => cluster.api.apply(manifest);
  const inIt = (namespace: string) => ({ matchLabels: { "kubernetes.io/metadata.name": namespace } });
  const configMaps = (operation: string) => ({
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: [operation],
    resources: ["configmaps"],
  });

  /** A policy that denies every ConfigMap of a namespace. */
  async function forbid(namespace: string, policy: JsonObject = {}, binding: JsonObject = {}): Promise<void> {
    const metadata = { name: `sentences.${namespace}` };
    const matchConstraints = { resourceRules: [configMaps("CREATE")] };
    await apply({
      ...{ apiVersion: REGISTRATION, kind: "ValidatingAdmissionPolicy", metadata },
      spec: { matchConstraints, validations: [{ expression: "false", message: "no" }], ...policy },
    });
    const matchResources = { namespaceSelector: inIt(namespace) };
    await apply({
      ...{ apiVersion: REGISTRATION, kind: "ValidatingAdmissionPolicyBinding", metadata },
      spec: { policyName: metadata.name, validationActions: ["Deny"], matchResources, ...binding },
    });
  }

  /** A kind whose objects have `spec`. */
  const kindOf = (kind: string, spec: JsonObject) => customResourceDefinition(GROUP, kind, { spec });
  const objectOf = (kind: string, namespace: string, spec: JsonObject): Manifest =>
    inNamespace({ apiVersion: `${GROUP}/v1`, kind, metadata: { name: "a" }, spec }, namespace);
  const service = (name: string, more: JsonObject): Manifest => ({
    ...{ apiVersion: "v1", kind: "Service", metadata: { name } },
    spec: { type: "NodePort", ports: [{ port: 80, ...more }] },
  });
  /** Does something as a service account that may only write roles. */
  async function asMaker(
    namespace: string,
    act: (client: KubernetesClient) => Promise<unknown>,
  ): Promise<void> {
    const metadata = { name: "maker", namespace };
    const rules = [{ apiGroups: [RBAC.split("/")[0] ?? ""], resources: ["roles"], verbs: ["create"] }];
    await apply({ apiVersion: "v1", kind: "ServiceAccount", metadata });
    await apply({ apiVersion: RBAC, kind: "Role", metadata, rules });
    const roleRef = { apiGroup: RBAC.split("/")[0], kind: "Role", name: "maker" };
    const subjects = [{ kind: "ServiceAccount", name: "maker", namespace }];
    await apply({ apiVersion: RBAC, kind: "RoleBinding", metadata, roleRef, subjects });
    const client = new KubernetesClient(connectionAs(metadata, cluster.connection));
    await act(client).finally(() => client.close());
  }

  const provoked: readonly (readonly [sentence: Name, what: string, provoke: Provoke])[] = [
    [
      "denial",
      "a policy denies",
      async (namespace) => {
        await forbid(namespace);
        await cluster.api.create(inNamespace(configMap("a"), namespace));
      },
    ],
    [
      "policy",
      "a policy denies",
      async (namespace) => {
        await forbid(namespace);
        await cluster.api.create(inNamespace(configMap("b"), namespace));
      },
    ],
    [
      "unappliedPolicy",
      "the parameters of a policy are missing",
      async (namespace) => {
        const paramRef = { name: "none", namespace, parameterNotFoundAction: "Deny" };
        await forbid(namespace, { paramKind: { apiVersion: "v1", kind: "Secret" } }, { paramRef });
        await cluster.api.create(inNamespace(configMap("a"), namespace));
      },
    ],
    [
      "unansweredWebhook",
      "a webhook does not answer",
      async (namespace) => {
        const webhook = {
          ...{ name: "silent.example.com", clientConfig: { url: "https://127.0.0.1:1/" } },
          ...{ rules: [configMaps("CREATE")], namespaceSelector: inIt(namespace), timeoutSeconds: 1 },
          ...{ admissionReviewVersions: ["v1"], sideEffects: "None", failurePolicy: "Fail" },
        };
        const metadata = { name: `sentences.${namespace}` };
        const kind = "ValidatingWebhookConfiguration";
        await apply({ apiVersion: REGISTRATION, kind, metadata, webhooks: [webhook] });
        await cluster.api.create(inNamespace(configMap("a"), namespace));
      },
    ],
    [
      "missingRight",
      "an account may not list",
      (namespace) => asMaker(namespace, (client) => client.listAll(builtIn("v1", "Secret"), { namespace })),
    ],
    [
      "escalation",
      "a role grants what its author does not hold",
      (namespace) => {
        const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
        const role = { apiVersion: RBAC, kind: "Role", metadata: { name: "more", namespace }, rules };
        return asMaker(namespace, (client) => client.create(ROLES, role));
      },
    ],
    [
      "goneVersion",
      "a CRD has no longer the version in which a manager wrote",
      async (namespace) => {
        const crd = kindOf("Versioned", OPEN_SCHEMA);
        const spec = crd["spec"] as { versions: JsonObject[] };
        const [v1] = spec.versions;
        const v2 = { ...v1, name: "v2", storage: false };
        await apply({ ...crd, spec: { ...spec, versions: [{ ...v1 }, v2] } });
        const object = objectOf("Versioned", namespace, {});
        await eventually(() => cluster.api.apply({ ...object, apiVersion: `${GROUP}/v2` }, "another"));
        await apply(crd);
        // For a moment the API server may still know the version.
        await eventually(() => assert.rejects(cluster.api.tryApply(object)));
        await cluster.api.tryApply(object);
      },
    ],
    [
      "misfit",
      "a field has another type than it had",
      async (namespace) => {
        const typed = (type: string) => kindOf("Fitted", { type: "object", properties: { a: { type } } });
        await apply(typed("string"));
        await eventually(() => apply(objectOf("Fitted", namespace, { a: "1" })));
        await apply(typed("integer"));
        await eventually(() => assert.rejects(apply(objectOf("Fitted", namespace, { a: 1 }))));
        await apply(objectOf("Fitted", namespace, { a: 1 }));
      },
    ],
    [
      "fixed",
      "a ConfigMap is immutable",
      async (namespace) => {
        await apply({ ...inNamespace(configMap("a", { a: "1" }), namespace), immutable: true });
        await apply({ ...inNamespace(configMap("a", { a: "2" }), namespace), immutable: true });
      },
    ],
    [
      "fixed",
      "an address may not change",
      async (namespace) => {
        const made = await apply(inNamespace(service("a", {}), namespace));
        const { clusterIP } = made["spec"] as { clusterIP: string };
        const other = clusterIP.replace(/\d+$/, (last) => String((Number(last) % 200) + 1));
        await cluster.api.patch(made, { spec: { clusterIP: other, clusterIPs: [other] } });
      },
    ],
    [
      "fixed",
      "a StatefulSet has other volumes",
      async (namespace) => {
        const labels = { app: "a" };
        const set = (serviceName: string): Manifest => ({
          ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "a", namespace } },
          spec: {
            ...{ serviceName, replicas: 0, selector: { matchLabels: labels } },
            template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
          },
        });
        await apply(set("a"));
        await apply(set("b"));
      },
    ],
    [
      "fixed",
      "a rule of a CRD compares with the old value",
      async (namespace) => {
        const rules = [{ rule: "self == oldSelf" }];
        const a = { type: "string", "x-kubernetes-validations": rules };
        await apply(kindOf("Frozen", { type: "object", properties: { a } }));
        await eventually(() => apply(objectOf("Frozen", namespace, { a: "1" })));
        await apply(objectOf("Frozen", namespace, { a: "2" }));
      },
    ],
    [
      "noBase64",
      "a Secret has plain text",
      (namespace) =>
        cluster.api.create({ ...inNamespace(configMap("a"), namespace), kind: "Secret", data: { a: "%%%" } }),
    ],
    [
      "noString",
      "a ConfigMap has a number",
      (namespace) => apply({ ...inNamespace(configMap("a"), namespace), data: { a: 1 } }),
    ],
    [
      "unknownField",
      "a created object has a field of no schema",
      (namespace) => {
        const manifest = { ...inNamespace(configMap("a"), namespace), colour: "red" };
        return cluster.api.client.create(builtIn("v1", "ConfigMap"), manifest, { fieldManager: "strict" });
      },
    ],
    [
      "taken",
      "a quota is full",
      async (namespace) => {
        const spec = { hard: { "count/secrets": "0" } };
        await apply({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q", namespace }, spec });
        await cluster.api.create({ ...inNamespace(configMap("a"), namespace), kind: "Secret" });
      },
    ],
    [
      "taken",
      "a port is allocated",
      async (namespace) => {
        const { spec } = await apply(inNamespace(service("a", {}), namespace));
        const [port] = (spec as { ports: { nodePort: number }[] }).ports;
        await apply(inNamespace(service("b", { nodePort: port?.nodePort ?? 0 }), namespace));
      },
    ],
    [
      "tooLarge",
      "an object has two megabytes",
      async (namespace) => {
        await apply(kindOf("Bulky", OPEN_SCHEMA));
        await eventually(() => apply(objectOf("Bulky", namespace, {})));
        await cluster.api.create(objectOf("Bulky", namespace, { a: "x".repeat(2_000_000) }));
      },
    ],
  ];

  it("and each is provoked", () => {
    const names = new Set([...provoked.map(([sentence]) => sentence), ...UNPROVOKED]);
    assert.deepEqual([...names].sort(), Object.keys(SENTENCES).sort());
  });

  const tests = provoked.map(([sentence, what, provoke]) => {
    const test = async () => {
      const namespace = await cluster.api.newNamespace("sentences");
      await eventually(async () => {
        const error = await provoke(namespace).then(
          () => undefined,
          (refusal: unknown) => refusal,
        );
        assert.ok(error instanceof ApiError, `no refusal: ${error}`);
        // Our own remedy may follow.
        const [said = ""] = error.message.split(": metadata.managedFields still names ");
        assert.match(said, SENTENCES[sentence]);
      });
    };
    return [`${sentence}, if ${what}`, test] as const;
  });
  sideBySide(Object.fromEntries(tests));
});
