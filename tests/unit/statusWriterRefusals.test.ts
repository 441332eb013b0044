import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { StatusWriter } from "../../runtime/remember/statusMemories";
import { errorOf, failureOf } from "./support/failures";
import { MANAGER, WIDGETS, widget } from "./support/objects";

const READY = { verdict: { verdict: { kind: "ready" }, generation: 3 } } as const;

describe("StatusWriter, if the API server refuses", () => {
  /** The object as the API server has it. */
  let object: KubernetesObject;
  /** The error with which the API server answers the next write. */
  let refusal: Error | undefined;
  let client: KubernetesClient;
  let writer: StatusWriter;

  beforeEach(() => {
    [refusal, object] = [undefined, widget()];
    writer = new StatusWriter({ resource: WIDGETS, fieldManager: MANAGER });
    client = {
      get: async () => object,
      apply: async () => {
        throw refusal;
      },
      jsonPatch: () => assert.fail("no map is to be emptied"),
    } as Partial<KubernetesClient> as KubernetesClient;
  });

  it("an object that is gone, or another one of its name, gets nothing", async () => {
    for (const code of [404, 409]) {
      refusal = new ApiError(code, {}, "PATCH");
      const before = object;
      object = widget({ uid: "another" });
      assert.equal(await writer.write(client, before, READY), undefined);
      object = before;
    }
  });

  it("a CRD without the status subresource is named as such, and not taken for a deletion", async () => {
    refusal = new ApiError(404, {}, "PATCH");
    const failure = await failureOf(() => writer.write(client, object, READY));
    assert.equal(failure.reason, "StatusRefused");
    assert.match(failure.message, /widgets .* has no status subresource/);
    // It may be the CRD of another operator, with its objects.
    assert.match(failure.message, /has not taken it over from another operator/);
  });

  it("an object whose namespace does not exist gets nothing", async () => {
    const { namespace: name = "" } = object.metadata;
    refusal = new ApiError(404, { reason: "NotFound", details: { kind: "namespaces", name } }, "PATCH");
    assert.equal(await writer.write(client, object, READY), undefined);
  });

  it("a status that is not accepted is a failure of the object's", async () => {
    refusal = new ApiError(422, { message: "status.replicas is bad" }, "PATCH");
    const failure = await failureOf(() => writer.write(client, object, { fields: { replicas: -1 } }));
    assert.equal(failure.reason, "StatusRefused");
    assert.match(failure.message, /status\.replicas is bad/);
  });

  it("a status for which the object has no room says so", async () => {
    refusal = new ApiError(500, { kind: "Status", message: "etcdserver: request is too large" }, "PATCH");
    const failure = await failureOf(() => writer.write(client, object, { fields: { text: "x" } }));
    assert.match(failure.message, /request is too large\. Make the status smaller/);
  });

  it("what is not in the status is not mended by removing that: the status stays as it is", async () => {
    const message =
      "failed to create typed live object (shop/widget): .spec.size: expected numeric, got string";
    refusal = new ApiError(500, { kind: "Status", message }, "PATCH");
    const failure = await failureOf(() => writer.write(client, object, { fields: { replicas: 1 } }));
    assert.equal(failure.reason, "StatusRefused");
    assert.match(failure.message, /\.spec\.size: expected numeric/);
  });

  it("an API server that is busy or out of reach is no failure, and neither is a missing right", async () => {
    const message = 'widgets "widget" is forbidden: User "x" cannot patch resource "widgets/status"';
    for (const error of [new ApiError(429, {}, "PATCH"), new ApiError(403, { message }, "PATCH")]) {
      refusal = error;
      await errorOf(ApiError, () => writer.write(client, object, READY));
    }
    refusal = new ApiUnreachableError("PATCH", new Error("refused"));
    await errorOf(ApiUnreachableError, () => writer.write(client, object, READY));
  });

  it("what the CRD drops is named: the conditions", async () => {
    client.apply = async () => ({ object: widget({}, { status: {} }), created: false });
    const failure = await failureOf(() => writer.write(client, object, READY));
    assert.ok(failure instanceof ReconcileFailure);
    assert.match(failure.message, /dropped status\.observedGeneration and status\.conditions: .*widgets/);
  });
});
