import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject, ManagedFieldsEntry, Manifest } from "../../runtime/base/objects";
import { ApiError } from "../../runtime/kubernetes/errors";
import { fieldsLeftOut, keptFields, keptRefusal, withFields } from "../../runtime/write/leftFields";
import { withinCpuTime } from "../support/cpuTime";

const MANAGER = "argosy/argosy.shop";
const FIELD = "spec.strategy.rollingUpdate";
const ROLLING = { maxSurge: "25%" };

function refusal(...fields: (string | undefined)[]): ApiError {
  const causes = fields.map((field) => ({
    reason: "FieldValueForbidden",
    ...(field !== undefined && { field }),
  }));
  return new ApiError(422, { details: { causes } }, "PATCH");
}
const answered = (strategy: object): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: { strategy },
});

/** A Deployment of which we own the labels and the number of replicas. @param theirs the fields that another client owns */
function deployment(theirs: JsonObject = {}, apiVersion = "apps/v1"): KubernetesObject {
  const fieldsV1 = { "f:metadata": { "f:labels": { "f:a": {} } }, "f:spec": { "f:replicas": {} } };
  const managedFields = [
    { manager: MANAGER, operation: "Apply" as const, apiVersion, fieldsV1 },
    { manager: "kubectl", operation: "Update" as const, apiVersion, fieldsV1: theirs },
  ];
  const metadata = {
    name: "web",
    namespace: "shop",
    uid: "u",
    resourceVersion: "7",
    labels: { a: "1", b: "2" },
    managedFields,
  };
  const spec = { replicas: 2, paused: true, strategy: { type: "RollingUpdate", rollingUpdate: ROLLING } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec };
}

/** The same object if another client wrote it in another version of the kind, whose fields may have other names. */
function inOtherVersion(object: KubernetesObject): KubernetesObject {
  const [ours, theirs] = object.metadata.managedFields ?? [];
  assert.ok(ours && theirs);
  const other = { ...theirs, apiVersion: "apps/v1beta2", fieldsV1: {} };
  return { ...object, metadata: { ...object.metadata, managedFields: [ours, other] } };
}

describe("a refusal about what a manifest leaves out", () => {
  it("names fields of maps that the manifest does not have, or has as null", () => {
    for (const strategy of [{ type: "Recreate" }, { type: "Recreate", rollingUpdate: null }])
      assert.deepEqual(fieldsLeftOut(refusal(FIELD), answered(strategy)), [FIELD]);
  });

  it("is none if it is about anything else too", () => {
    const manifest = answered({ type: "Recreate" });
    for (const fields of [[], [undefined], [FIELD, "spec.strategy.type"], ["spec.list[0].a"], ["spec"]])
      assert.deepEqual(fieldsLeftOut(refusal(...fields), manifest), [], String(fields));
    assert.deepEqual(fieldsLeftOut(refusal(FIELD), answered({ rollingUpdate: {} })), []);
  });
});

describe("a manifest that owns a default", () => {
  it("has what we own of the object already, as it is, and the default", () => {
    assert.deepEqual(withFields(deployment(), [FIELD], MANAGER), {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "shop", labels: { a: "1" } },
      spec: { replicas: 2, strategy: { rollingUpdate: ROLLING } },
    });
  });

  it("is none if all of these fields are ours already, so that nothing is prepared again and again", () => {
    assert.equal(withFields(deployment(), ["spec.replicas"], MANAGER), undefined);
    assert.ok(withFields(deployment(), ["spec.replicas", FIELD], MANAGER));
  });

  it("does not take another client's field, nor a missing one, nor fields of another version", () => {
    const theirs = { "f:spec": { "f:strategy": { "f:rollingUpdate": { "f:maxSurge": {} } } } };
    const whole = { "f:spec": { "f:strategy": {} } };
    for (const fields of [theirs, whole]) {
      assert.equal(withFields(deployment(fields), [FIELD], MANAGER), undefined);
      assert.equal(withFields(inOtherVersion(deployment(fields)), [FIELD], MANAGER), undefined);
    }
    assert.equal(withFields(deployment(), ["spec.other.field"], MANAGER), undefined);
    assert.equal(withFields(deployment({}, "apps/v1beta2"), [FIELD], MANAGER), undefined);
    assert.equal(withFields(deployment(), [FIELD], "argosy/argosy.other"), undefined);
  });
});

describe("a field that an apply releases", () => {
  const entry = (fieldsV1: JsonObject, manager = MANAGER) =>
    ({ manager, operation: "Apply", apiVersion: "apps/v1", fieldsV1 }) as const;
  const object = (spec: object, ...managedFields: ManagedFieldsEntry[]): KubernetesObject => ({
    ...deployment(),
    metadata: { ...deployment().metadata, managedFields },
    spec,
  });
  const OURS = {
    "f:spec": {
      "f:account": {},
      "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {}, "f:node": {} } },
    },
  };
  const PORT = { port: 80, protocol: "TCP", node: 7 };
  const before = object({ account: "admin", twin: "admin", ports: [PORT] }, entry(OURS));
  const manifest = (spec: object): Manifest => ({ ...answered({}), spec });
  const kept = (wanted: object, after: KubernetesObject | undefined, fresh?: object) =>
    keptFields(manifest(wanted), before, MANAGER, after, fresh && manifest(fresh)).map((field) =>
      field.at(-1),
    );
  const NONE = object({ account: "admin", twin: "admin", ports: [PORT] }, entry({}));

  it("is known before the apply: a manifest may leave out a key that is a default", () => {
    assert.deepEqual(kept({ account: "a", ports: [{ port: 80, node: 1 }] }, undefined), []);
    assert.deepEqual(kept({ account: null, ports: [{ port: 80 }] }, undefined), ["f:account", "f:node"]);
    assert.deepEqual(kept({ ports: [] }, undefined), ["f:account", "f:port", "f:node"]);
  });

  it("stays if it has its value, and neither another client nor a new object has it", () => {
    const wanted = { ports: [{ port: 80 }] };
    assert.deepEqual(kept(wanted, NONE), ["f:account", "f:node"]);
    assert.deepEqual(kept(wanted, NONE, { account: "admin", ports: [{ ...PORT, node: 8 }] }), ["f:node"]);
    assert.deepEqual(kept(wanted, object({ account: "other" })), []);
    for (const theirs of [OURS, { "f:spec": {} }, { "f:spec": { "f:account": {}, "f:ports": {} } }])
      assert.deepEqual(
        kept(wanted, { ...NONE, metadata: object({}, entry(theirs, "kubectl")).metadata }),
        [],
      );
  });

  it("is found in a list of tens of thousands of entries without a look at all the others for each", () => {
    const count = 10_000;
    const ports = Array.from({ length: count }, (_, port) => ({ port, node: port }));
    const fields = Object.fromEntries(ports.map(({ port }) => [`k:{"port":${port}}`, { "f:node": {} }]));
    const all = object({ ports }, entry({ "f:spec": { "f:ports": fields } }));
    const found = withinCpuTime(2_000, () => keptFields(manifest({}), all, MANAGER, all, manifest({})));
    assert.equal(found.length, count);
  });

  it("is refused with the name of its twin, which can be removed with it, and of no field that another client owns", () => {
    const account = [["f:spec", "f:account"]];
    const named = (after: KubernetesObject, fresh?: object) =>
      keptRefusal(account, after, fresh && manifest(fresh)).causes.map(({ field }) => field);
    assert.deepEqual(named(NONE, {}), ["spec.account", "spec.twin"]);
    assert.deepEqual(named(NONE, { twin: "other" }), ["spec.account"]);
    const theirs = entry({ "f:spec": { "f:twin": {} } }, "kubectl");
    assert.deepEqual(named({ ...NONE, metadata: object({}, theirs).metadata }, {}), ["spec.account"]);
    assert.match(keptRefusal(account, NONE).message, /^it keeps spec\.account, which/);
  });
});
