import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { formatStream } from "../../cli/render/output";
import { ARGOSY_VERSION } from "../../components/package";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { removeFolder } from "./operatorFolder";
import { differencesOf } from "./support/differences";
import { assertGolden, GOLDEN_FOLDER } from "./support/goldenFile";
import { type Registration, run, runStack } from "./support/program";
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
    try {
      const { registrations } = await run(operatorsProgram(sample, { guards, quotas }));
      const names = registrations.map(logicalName).sort();
      assert.equal(new Set(names).size, names.length);
      assert.deepEqual(
        linesOf("logicalNames.txt").filter((name) => !names.includes(name)),
        [],
      );
      assertGolden("logicalNames.txt", names.map((name) => `${name}\n`).join(""));
    } finally {
      removeFolder(sample.root);
    }
  });

  it("differ where a field, an item of a list or a whole object does", () => {
    const object = (name: string, spec: object): Manifest => ({
      apiVersion: "v1",
      kind: "A",
      metadata: { name, namespace: "n" },
      spec,
    });
    const containers = (image: string) => [{ name: "c", image }];
    assert.equal(
      differencesOf(
        [object("one", { replicas: 1, containers: containers("x"), list: [1] }), object("gone", {})],
        [object("one", { replicas: 2, containers: containers("y"), list: [1, 2] }), object("new", {})],
      ),
      `A n/gone
  object: removed

A n/new
  object: added {"apiVersion":"v1","kind":"A","metadata":{"name":"new","namespace":"n"},"spec":{}}

A n/one
  spec.containers.c.image: "x" -> "y"
  spec.list: [1] -> [1,2]
  spec.replicas: 1 -> 2
`,
    );
    assert.equal(differencesOf([object("one", {})], [object("one", {})]), "");
  });
});

/** The lines of a golden file, as far as it is there. */
function linesOf(name: string): string[] {
  const file = path.join(GOLDEN_FOLDER, name);
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

/** "argosy:index:Operators$kubernetes:core/v1:ConfigMap argosy-engine": what Pulumi knows a resource by within a stack. */
function logicalName({ urn }: Registration): string {
  const [, , types, name] = urn.split("::");
  return `${types} ${name}`;
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
