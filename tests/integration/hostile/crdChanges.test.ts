import assert from "node:assert/strict";
import { FIELD_MANAGER, installOperator } from "../../../cli/local/installOperator";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import { schemaHashOf } from "../../../runtime/kubernetes/discovery";
import { eventually } from "../../support/eventually";
import { sharedCluster } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";
import { TestOperator } from "../support/testOperator";
import { answering, type Bench, statusOf, useOperator } from "../support/useOperator";

/** One version of a CRD, as far as these tests change it. */
interface Version extends JsonObject {
  subresources: JsonObject;
  schema: { openAPIV3Schema: { properties: { spec: JsonObject; status: { properties: JsonObject } } } };
}

/** Changes an installed CRD by hand. The API server takes a moment to serve it. */
async function changeCrd({ api, operator }: Bench, change: (version: Version) => void): Promise<void> {
  const manifest = structuredClone(buildCustomResourceDefinition(operator.operator));
  const [version] = (manifest["spec"] as unknown as { versions: Version[] }).versions;
  assert.ok(version);
  change(version);
  await api.apply(manifest, FIELD_MANAGER);
}

/** Puts a CRD back as it was installed. */
async function restoreCrd({ api, operator }: Bench): Promise<void> {
  await api.apply(buildCustomResourceDefinition(operator.operator) as Manifest, FIELD_MANAGER);
}

describe("when a user adds a default to the CRD", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "defaulted", resyncSeconds: 10 });
  afterEach(() => restoreCrd(bench));

  it("the handler sees it at the next resync at the latest, with no change of the object", async () => {
    const object = await bench.applied("object", answering(configMap("object")));
    assert.equal(lastSpec("object")["size"], undefined);
    await changeCrd(bench, ({ schema }) => {
      schema.openAPIV3Schema.properties.spec["properties"] = { size: { type: "integer", default: 3 } };
    });
    await eventually(async () => assert.equal(specOf(await bench.api.get(object))["size"], 3));
    await eventually(() => assert.equal(lastSpec("object")["size"], 3));
  });

  it("the runner's account learns that the schema is another one, by which a kind of many objects is listed at once", async () => {
    const client = new KubernetesClient(bench.operator.connection);
    try {
      const { group, version } = bench.operator.operator.customResource;
      const hash = () => schemaHashOf(client, `${group}/${version}`);
      await eventually(async () => assert.ok(await hash()));
      const before = await hash();
      await changeCrd(bench, ({ schema }) => {
        schema.openAPIV3Schema.properties.spec["properties"] = { size: { type: "integer", default: 4 } };
      });
      await eventually(async () => assert.notEqual(await hash(), before));
    } finally {
      client.close();
    }
  });

  function lastSpec(name: string): JsonObject {
    const call = bench.operator.calls(name).at(-1);
    assert.ok(call, "the handler was not asked");
    return specOf(call.object);
  }
});

describe("when a user takes the status out of the CRD", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "statusless" });
  afterEach(() => restoreCrd(bench));

  it("as a subresource, it is said in words, and the status comes with it again", async () => {
    await changeCrd(bench, (version) => {
      version.subresources = {};
    });
    await untilServed("/status", 404);
    const object = await bench.applyObject("subresource", answering(configMap("subresource")));
    await eventually(() => assertTold(object, /status subresource/));
    await restoreCrd(bench);
    await untilServed("/status", 200);
    await bench.ready(object);
  });

  it("as conditions of its schema, it is said in words, and does not go on for ever", async () => {
    await changeCrd(bench, ({ schema }) => {
      const status: JsonObject = schema.openAPIV3Schema.properties.status;
      delete status["x-kubernetes-preserve-unknown-fields"];
      status["properties"] = { observedGeneration: { type: "integer" } };
    });
    // Served a moment after it is stored. The engine leaves this object alone.
    const paused = bench.operator.object("paused", {}, bench.namespace);
    const probe = await bench.api.apply({
      ...paused,
      metadata: { ...paused.metadata, annotations: { "argosy.dev/paused": "true" } },
    });
    await eventually(() =>
      assert.rejects(bench.api.applyStatus(probe, { conditions: [] }), /not declared in schema/),
    );
    const object = await bench.applyObject("conditions", answering(configMap("conditions")));
    await eventually(() => assertTold(object, /conditions/));
    assert.equal(statusOf(await bench.api.get(object))["conditions"], undefined);
    assert.ok(bench.operator.calls("conditions").length <= 5, "the handler was asked over and over");
  });

  /** On the object, in an Event about it or in what the runner logs. */
  async function assertTold(object: KubernetesObject, words: RegExp): Promise<void> {
    const events = (await bench.eventsOf(object)).map(({ note }) => note);
    const told = [...events, ...bench.engine.notices, ...bench.failuresOf(object.metadata.name)];
    assert.ok(
      told.some((line) => words.test(line)),
      JSON.stringify(told),
    );
  }

  async function untilServed(subresource: string, code: number): Promise<void> {
    const probe = await bench.applyObject("probe");
    const { group, version, plural } = bench.operator.operator.customResource;
    const path = `/apis/${group}/${version}/namespaces/${bench.namespace}/${plural}/${probe.metadata.name}`;
    await eventually(async () => {
      const answered = await bench.api.client.read(path + subresource).then(
        () => 200,
        ({ code }) => code,
      );
      assert.equal(answered, code);
    });
  }
});

describe("when a user deletes the CRD and creates it again", function () {
  this.timeout(120_000);
  const bench = useOperator({
    name: "redefined",
    finalize: true,
    resyncSeconds: 600,
  });

  it("its objects are finalized, and new ones are handled", async () => {
    const object = await bench.applied("before", answering(configMap("before")));
    const crd = buildCustomResourceDefinition(bench.operator.operator) as Manifest;
    await bench.api.delete(crd);
    await eventually(() => bench.api.assertGone(crd));
    assert.ok(bench.operator.calls("before").some(({ event }) => event === "finalize"));
    await restoreCrd(bench);
    const again = await eventually(() => bench.applyObject("before", answering(configMap("after"))));
    assert.notEqual(again.metadata.uid, object.metadata.uid);
    await bench.ready(again);
    await bench.api.get(inNamespace(configMap("after"), bench.namespace));
  });
});

function specOf(object: KubernetesObject | { spec?: unknown }): JsonObject {
  return ((object as { spec?: JsonObject }).spec ?? {}) as JsonObject;
}

describe("a CRD that another client has made, with objects", function () {
  this.timeout(60_000);
  const options = { name: "crd-of-others" };
  let operator: TestOperator;

  before(async () => {
    operator = await TestOperator.install(await sharedCluster(), { ...options, installs: false });
    const theirs = structuredClone(buildCustomResourceDefinition(operator.operator));
    const [version] = (theirs["spec"] as unknown as { versions: Version[] }).versions;
    assert.ok(version);
    version.schema.openAPIV3Schema.properties.spec["description"] = "theirs";
    await operator.cluster.api.create(theirs);
  });
  after(() => operator?.dispose());

  it("is taken over if its file has that annotation, and keeps its objects", async () => {
    const { cluster, operator: loaded, runnerNamespace: namespace } = operator;
    const namespaceOfObject = await cluster.api.newNamespace("of-others");
    const object = await eventually(() =>
      cluster.api.create(operator.object("kept", {}, namespaceOfObject) as Manifest),
    );
    const annotations = { "pulumi.com/patchForce": "true" };
    const crd = { ...loaded.crd, metadata: { ...(loaded.crd["metadata"] as JsonObject), annotations } };
    await installOperator({
      client: cluster.api.client,
      operator: { ...loaded, crd },
      namespace,
    });
    const kept = await cluster.api.get(object);
    assert.equal(kept.metadata.uid, object.metadata.uid);
  });
});

describe("when a CRD loses a version", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "lessversions" });

  it("that is left in managedFields, the object says what to do, and its status is written after that", async () => {
    const { name, namespace } = (await bench.applied("left", answering(configMap("left")))).metadata;
    const object = bench.operator.object("left", {}, namespace);
    const crd = buildCustomResourceDefinition(bench.operator.operator) as Manifest;
    const spec = crd["spec"] as JsonObject;
    const [v1] = spec["versions"] as JsonObject[];
    const v2 = { ...v1, name: "v2", storage: false };
    await bench.api.apply({ ...crd, spec: { ...spec, versions: [{ ...v1 }, v2] } }, FIELD_MANAGER);
    const labelled = { name, namespace: namespace as string, labels: { team: "shop" } };
    const later = { apiVersion: "lessversions.example.com/v2", kind: object.kind, metadata: labelled };
    // By another manager: without its spec, the same manager would remove the spec, and the engine would reconcile the object.
    await eventually(() => bench.api.apply(later, "labeller"));
    await bench.api.apply(crd, FIELD_MANAGER);
    // For a moment the API server may still know the version. A write in that moment may remove the version from managedFields.
    const probe = { ...object, spec: {} };
    await eventually(() => assert.rejects(bench.api.tryApply(probe), /invalid group\/version: .*v2/));
    const status = { phase: "later" };
    bench.operator.plan("left", { answer: { ...answering(configMap("left")).answer, status } });
    await bench.api.delete(inNamespace(configMap("left"), bench.namespace));
    await eventually(async () => {
      const [event] = (await bench.eventsOf(object)).filter(({ reason }) => reason === "StatusRefused");
      assert.match(event?.note ?? "", /invalid group\/version: .*v2: .*managedFields.* Annotate/);
    });
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "1" });
    await eventually(async () => assert.equal(statusOf(await bench.api.get(object))["phase"], "later"));
    await bench.ready(object);
  });
});
