import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { flawsOfFields, KNOWN_RELEASE } from "../../cli/fixtures/builtInFields";
import { readJson } from "../../runtime/base/json";
import type { Manifest } from "../../runtime/base/objects";

const object = (apiVersion: string, kind: string, content: object): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: "a" },
  ...content,
});
const container = (fields: object) =>
  object("apps/v1", "Deployment", {
    spec: { template: { spec: { containers: [{ name: "c", ...fields }] } } },
  });
const service = (port: object) => object("v1", "Service", { spec: { ports: [port] } });
const there = ".spec.template.spec.containers[0]";

describe("flawsOfFields", () => {
  const wrong: readonly [Manifest, string][] = [
    [
      container({ containerPrt: 8080 }),
      `${there}.containerPrt: Kubernetes ${KNOWN_RELEASE} has no such field. If your cluster is newer, let argosy test --server decide.`,
    ],
    [
      container({ imagePullpolicy: "Always" }),
      `${there}.imagePullpolicy: Kubernetes ${KNOWN_RELEASE} has no such field. Did you mean imagePullPolicy?`,
    ],
    [service({ port: "80a" }), '.spec.ports[0].port: expected an integer, got "80a"'],
    [service({ port: 1.5 }), ".spec.ports[0].port: expected an integer, got 1.5"],
    [container({ env: [{ name: "A", value: 5 }] }), `${there}.env[0].value: expected a text, got 5`],
    [container({ tty: "true" }), `${there}.tty: expected true or false, got "true"`],
    [container({ args: { a: 1 } }), `${there}.args: expected a list, got {"a":1}`],
    [container({ resources: [] }), `${there}.resources: expected a map, got []`],
    [
      object("v1", "ConfigMap", { metadata: { name: "a", labels: { "a.b/c": 1 } } }),
      '.metadata.labels["a.b/c"]: expected a text, got 1',
    ],
    [object("v1", "ConfigMap", { data: { a: true } }), ".data.a: expected a text, got true"],
    [object("v1", "Secret", { stringData: { a: 5 } }), ".stringData.a: expected a text"],
    [object("v1", "Secret", { data: { a: "YQ" } }), ".data.a: expected base64"],
    [
      object("v1", "Event", { regarding: {}, involvedObject: {} }),
      `.regarding: Kubernetes ${KNOWN_RELEASE} has no such field. If your cluster is newer, let argosy test --server decide.`,
    ],
  ];
  for (const [manifest, flaw] of wrong)
    it(`finds ${flaw}`, async () => assert.deepEqual(await flawsOfFields(manifest), [flaw]));

  const right: readonly [string, Manifest][] = [
    ["null for what is left out", container({ args: null })],
    ["quantities as numbers", container({ resources: { limits: { cpu: 1, memory: "1Gi" } } })],
    ["a port by its name, and by its number", service({ port: 80, targetPort: "http" })],
    [
      "an integer of 64 bits",
      object(
        "policy/v1",
        "PodDisruptionBudget",
        readJson('{ "metadata": { "generation": 9007199254740993 } }') as object,
      ),
    ],
    [
      "the other kind Event",
      object("events.k8s.io/v1", "Event", { regarding: {}, eventTime: "2026-01-31T03:00:00.000000Z" }),
    ],
    [
      "a claim of devices",
      object("resource.k8s.io/v1", "ResourceClaim", { spec: { devices: { requests: [] } } }),
    ],
    [
      "any default in a schema",
      object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {
        spec: {
          versions: [{ schema: { openAPIV3Schema: { default: { a: 1 }, items: { type: "string" } } } }],
        },
      }),
    ],
    ["base64 in lines", object("v1", "Secret", { data: { a: "YWJj\nYWJj" } })],
    [
      "a kind of others, by the name of one of Kubernetes'",
      object("serving.knative.dev/v1", "Service", { spec: { a: 1 } }),
    ],
    ["a version that Kubernetes does not have", object("apps/v9", "Deployment", { spec: { a: 1 } })],
  ];
  for (const [what, manifest] of right)
    it(`accepts ${what}`, async () => assert.deepEqual(await flawsOfFields(manifest), []));

  it("names the release of Kubernetes that the package has", () => {
    const file = require.resolve("@kubernetes/client-node/dist/gen/models/V1Pod.js");
    assert.match(readFileSync(file, "utf8"), new RegExp(`OpenAPI spec version: v${KNOWN_RELEASE}\\.`));
  });
});
