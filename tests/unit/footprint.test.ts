import assert from "node:assert/strict";
import {
  configMapsOf,
  contentFingerprint,
  programFingerprint,
} from "../../runtime/engine/dispatch/footprint";

const OBJECT = {
  apiVersion: "shop.example.com/v1",
  kind: "Shop",
  metadata: { name: "demo", uid: "1", resourceVersion: "1", generation: 1, labels: { team: "a" } },
  spec: { size: 1 },
};

/** An operator of custom resources of its own. */
const OWN = {};

/** The `spec` of a WorkflowTemplate with one container. */
function template(container: object, configMap = "engine-1") {
  const volumes = [
    { name: "engine", configMap: { name: configMap } },
    { name: "handler-shell", emptyDir: {} },
  ];
  return { templates: [{ name: "reconcile", volumes, containerSet: { containers: [container] } }] };
}

describe("the footprint of a run", () => {
  it("differs with what a handler sees of its object, and with nothing else", () => {
    const before = contentFingerprint(OBJECT, OWN);
    const { metadata } = OBJECT;
    const counted = { ...metadata, resourceVersion: "2", generation: 2, finalizers: ["example.com/hold"] };
    assert.equal(
      contentFingerprint({ ...OBJECT, metadata: counted, status: { phase: "Ready" } }, OWN),
      before,
    );
    // A default that was added to the CustomResourceDefinition counts no generation.
    assert.notEqual(contentFingerprint({ ...OBJECT, spec: { size: 1, port: 80 } }, OWN), before);
    assert.notEqual(contentFingerprint({ ...OBJECT, metadata: { ...metadata, labels: {} } }, OWN), before);
    assert.notEqual(
      contentFingerprint({ ...OBJECT, metadata: { ...metadata, annotations: { a: "b" } } }, OWN),
      before,
    );
  });

  it("is one of an object of 9,000 levels too, whoever made it", () => {
    const deep = (innermost: number) =>
      JSON.parse(`${'{"a":'.repeat(9_000)}${innermost}${"}".repeat(9_000)}`);
    for (const operator of [OWN, { watch: { on: ["spec" as const] } }]) {
      const of = (spec: object) => contentFingerprint({ ...OBJECT, spec }, operator as never);
      assert.equal(of(deep(1)), of(deep(1)));
      assert.notEqual(of(deep(1)), of(deep(2)));
    }
  });

  it("differs with the program, however Argo writes it down", () => {
    const secret = { key: "token", name: "shop" };
    const container = { name: "main", image: "node:1", command: ["node"], env: [{ name: "A", value: "1" }] };
    const before = programFingerprint(template(container));
    const asArgo = { resources: {}, ...container };
    assert.equal(programFingerprint(template(asArgo)), before);
    for (const other of [{ image: "node:2" }, { command: ["deno"] }, { env: [{ name: "A", value: "2" }] }]) {
      assert.notEqual(programFingerprint(template({ ...container, ...other })), before);
    }
    assert.notEqual(programFingerprint(template(container, "engine-2")), before);
    const env = (secretKeyRef: object) => [{ name: "A", valueFrom: { secretKeyRef } }];
    assert.equal(
      programFingerprint(template({ ...container, env: env(secret) })),
      programFingerprint(template({ ...container, env: env({ name: "shop", key: "token" }) })),
    );
    // Argo leaves out an empty text.
    assert.equal(
      programFingerprint(template({ ...container, env: [{ name: "A" }] })),
      programFingerprint(template({ ...container, env: [{ name: "A", value: "" }] })),
    );
  });

  it("differs with the files of the handler, wherever they are mounted from", () => {
    const spec = (volume: object) => ({
      templates: [{ containerSet: { containers: [{}] }, volumes: [volume] }],
    });
    const inImage = (reference: string) =>
      spec({ name: "handler", image: { reference, pullPolicy: "IfNotPresent" } });
    const inMany = (...names: string[]) =>
      spec({
        name: "handler",
        projected: {
          sources: [...names.map((name) => ({ configMap: { name } })), { serviceAccountToken: {} }],
        },
      });
    const seen = [
      spec({ name: "handler", configMap: { name: "files-1" } }),
      inImage("example.com/files:1"),
      inImage("example.com/files:2"),
      inMany("files-1", "files-2"),
      inMany("files-1", "files-3"),
    ].map(programFingerprint);
    assert.equal(new Set(seen).size, seen.length);
    assert.deepEqual([...configMapsOf(inMany("files-1", "files-3"))], ["files-1", "files-3"]);
  });

  it("says nothing of a program that no engine reports", () => {
    assert.equal(programFingerprint(undefined), undefined);
  });
});
