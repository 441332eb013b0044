import assert from "node:assert/strict";
import { isRecord } from "../../runtime/base/json";
import type { Manifest } from "../../runtime/base/objects";
import { type ArgoKind, argoValidator } from "./support/argoSchemas";
import { assertGolden } from "./support/goldenFile";
import { type Run, run, runStack } from "./support/program";
import { countReferences, danglingReferences } from "./support/references";
import { EVERY_FORM, operatorsProgram, type SampleProgram, sampleProgram } from "./support/sampleOperators";

const CLUSTER_SCOPED = ["Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"];

describe("the program", () => {
  let sample: SampleProgram;
  const runs = new Map<string, Run>();

  before(async () => {
    sample = sampleProgram(EVERY_FORM);
    runs.set("dev", await runStack("dev"));
    runs.set("prod", await runStack("prod"));
    runs.set("every form", await run(operatorsProgram(sample)));
    const mirror = {
      registry: "mirror.example.com/hub",
      imagePullSecrets: ["pull"],
      nodeSelector: {},
      tolerations: [],
    };
    runs.set("a mirror", await run(operatorsProgram(sample, { placement: mirror })));
  });

  for (const name of ["dev", "prod", "every form", "a mirror"]) {
    describe(`with ${name}`, () => {
      const manifests = () => runs.get(name)?.manifests ?? [];

      it("refers to nothing that it does not make", () => {
        assert.ok(countReferences(manifests()) > 50);
        // The namespaces that operators look after are their users'.
        const users = ["Namespace /team-a", "Namespace /team-b"];
        const dangling = danglingReferences(manifests()).filter(
          (each) => !users.some((name) => each.endsWith(name)),
        );
        assert.deepEqual(dangling, []);
      });

      it("names a namespace for whatever lives in one", () => {
        const without = manifests().filter(
          ({ kind, metadata }) => (metadata.namespace === undefined) !== CLUSTER_SCOPED.includes(kind),
        );
        assert.deepEqual(without, []);
      });

      it("says whose every object is", () => {
        const unlabelled = manifests().filter(
          ({ kind, metadata }) =>
            kind !== "CustomResourceDefinition" &&
            metadata.labels?.["app.kubernetes.io/managed-by"] !== "argosy",
        );
        assert.deepEqual(unlabelled, []);
      });

      it("keeps Argo's schemas, every key of them", () => {
        const argo = manifests().filter(({ apiVersion }) => apiVersion === "argoproj.io/v1alpha1");
        assert.ok(argo.length >= 4);
        for (const manifest of argo) {
          const validate = argoValidator(manifest.kind as ArgoKind);
          assert.deepEqual(validate(manifest), [], `${manifest.kind} ${manifest.metadata.name}`);
        }
      });
    });
  }

  it("tells Pulumi of each object what the golden file says", () => {
    const lines = (runs.get("every form")?.registrations ?? []).flatMap(({ name, inputs, ...told }) => {
      const { kind, metadata } = inputs as Partial<Manifest>;
      if (!kind || !metadata) return [];
      const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => /^pulumi/.test(key));
      const { protect, retainOnDelete, deleteTimeout, deleteBeforeReplace } = told;
      const options = { protect, retainOnDelete, deleteTimeout, deleteBeforeReplace };
      const all = [...Object.entries(options), ...annotations].filter(([, value]) => value);
      return all.length === 0
        ? []
        : [`${kind} ${name}: ${all.map(([key, value]) => `${key}=${value}`).join(" ")}\n`];
    });
    assert.ok(lines.length > 30);
    assertGolden("pulumi.txt", lines.sort().join(""));
  });

  it("mounts a token only for a handler with rules, and never the runner's token", () => {
    const handlers = containersOf(runs.get("every form")?.manifests ?? []).filter(
      ({ name }) => name === "handler",
    );
    assert.equal(handlers.length, EVERY_FORM.length);
    const mounted = handlers.map(
      ({ volumeMounts }) =>
        (volumeMounts as { name: string; mountPath: string }[]).find(({ mountPath }) =>
          /serviceaccount/.test(mountPath),
        )?.name,
    );
    // The variable says where, for exactly those.
    const told = handlers.map(({ env }) => {
      const variables = env as { name: string; value?: string }[];
      return variables.find(({ name }) => name === "ARGOSY_SERVICE_ACCOUNT")?.value;
    });
    const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
    assert.deepEqual(
      told,
      mounted.map((name) => (name === "handler-token" ? folder : undefined)),
    );
    assert.deepEqual(mounted.sort(), ["handler-token", "handler-token", "no-token", undefined]);
  });
});

function containersOf(value: unknown): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap(containersOf);
  if (!isRecord(value)) return [];
  const own = Array.isArray(value.containers) ? (value.containers as Record<string, unknown>[]) : [];
  return [...own, ...Object.values(value).flatMap(containersOf)];
}
