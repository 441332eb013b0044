import assert from "node:assert/strict";
import { formatStream } from "../../cli/render/output";
import { ARGOSY_VERSION } from "../../components/package";
import type { Manifest } from "../../runtime/base/objects";
import { differencesOf } from "./support/differences";
import { assertGolden, assertOnlyGrows } from "./support/goldenFile";
import { type Registration, roleOf, run, runStack } from "./support/program";
import { operatorsProgram, sampleProgram } from "./support/sampleOperators";

/** After a change that is meant: UPDATE_GOLDEN=1 npm test -- --grep golden */
describe("the golden files", function () {
  this.timeout(60_000);

  it("show every object of dev as a reviewer reads it", async () => {
    assertGolden("dev.yaml", formatStream(await objectsOf("dev")));
  });

  it("show every field in which prod differs from dev", async () => {
    assertGolden("prod.changes.txt", differencesOf(await objectsOf("dev"), await objectsOf("prod")));
  });

  // Pulumi replaces a resource that has another logical name, type or parent: a CRD is deleted with all of its objects. So
  // UPDATE_GOLDEN only adds names. A name that must change needs an alias, and its line is removed by hand.
  it("have the logical name of everything, with its type and its parent's type, which no release may change", async () => {
    const sample = sampleProgram([
      { name: "gear", rules: [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }] },
      { name: "press", execution: "pod", namespaces: ["team-a"] },
      { name: "robot", children: ["rbac.authorization.k8s.io/v1/RoleBinding"], grants: ["ClusterRole/view"] },
    ]);
    const guards = { children: true, annotations: { groups: [] } };
    const quotas = { press: { pods: 2 } };
    const { registrations } = await run(operatorsProgram(sample, { guards, quotas }));
    const names = registrations.map(logicalName);
    assert.equal(new Set(names).size, names.length);
    assertOnlyGrows("logicalNames.txt", names);
  });
});

/**
 * "argosy:index:Operators$kubernetes:core/v1:ConfigMap argosy-engine": what Pulumi knows a resource by within a stack, without the hash
 * with which the name of an immutable ConfigMap ends.
 */
function logicalName({ urn, name }: Registration): string {
  const [, , types] = urn.split("::");
  return `${types} ${roleOf(name)}`;
}

async function objectsOf(stack: string): Promise<Manifest[]> {
  return (await runStack(stack)).manifests.map(withoutEngine).map(withoutVersion);
}

/** A release must change no golden file. */
function withoutVersion(manifest: Manifest): Manifest {
  const { labels } = manifest.metadata;
  const key = "app.kubernetes.io/version";
  if (labels?.[key] !== ARGOSY_VERSION) return manifest;
  return { ...manifest, metadata: { ...manifest.metadata, labels: { ...labels, [key]: "VERSION" } } };
}

/** The engine is a quarter of a megabyte of minified code, which changes with every line of runtime/. */
function withoutEngine(manifest: Manifest): Manifest {
  const text = JSON.stringify(manifest).replace(/argosy-engine-[0-9a-f]+/g, "argosy-engine-HASH");
  const copy = JSON.parse(text) as Manifest;
  if (!copy.metadata.name.startsWith("argosy-engine")) return copy;
  const names = Object.keys(copy.data as object);
  return { ...copy, data: Object.fromEntries(names.map((name) => [name, "..."])) };
}
