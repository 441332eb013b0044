import assert from "node:assert/strict";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Condition, KubernetesObject } from "../../runtime/kubernetes/objects";
import { NotLeadingError } from "../../runtime/leaderElection";
import { StatusWriter } from "../../runtime/status/statusWriter";
import { failureOf } from "./support/failures";
import { MANAGER, WIDGETS, widget } from "./support/objects";
import { json, refuse, TestApiServer } from "./support/testApiServer";

type Status = Record<string, unknown> & { conditions: Condition[] };

describe("StatusWriter", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let writer: StatusWriter;
  before(async () => {
    api = await TestApiServer.start();
    client = api.client();
  });
  beforeEach(() => {
    api.calls.length = 0;
    api.answer = (_, response) => json(response, widget());
    writer = new StatusWriter({ client, resource: WIDGETS, fieldManager: MANAGER, fence: () => {} });
  });
  after(async () => {
    client.close();
    await api.stop();
  });

  /** The status that was written last. */
  function written(): Status {
    return sent().status;
  }

  /** The manifest that was applied last. */
  function sent(): KubernetesObject & { status: Status } {
    const call = api.calls.at(-1);
    assert.ok(call, "nothing was written");
    return call.body as KubernetesObject & { status: Status };
  }

  /** The object as the API server has it once the written status is stored, with fields of others beside ours. */
  function stored(others: { fields?: object; conditions?: Condition[] } = {}): KubernetesObject {
    const { conditions, ...fields } = written();
    const ours = Object.keys(fields).map((field) => [`f:${field}`, {}]);
    const types = conditions.map(({ type }) => [`k:${JSON.stringify({ type })}`, { ".": {} }]);
    const owned = { ...Object.fromEntries(ours), "f:conditions": Object.fromEntries(types) };
    return widget(
      {
        managedFields: [
          { manager: MANAGER, operation: "Apply", subresource: "status", fieldsV1: { "f:status": owned } },
        ],
      },
      { status: { ...others.fields, ...fields, conditions: [...conditions, ...(others.conditions ?? [])] } },
    );
  }

  it("applies the handler's fields, the generation and the conditions to the very version that was read", async () => {
    assert.deepStrictEqual(await writer.write(widget(), { kind: "ready" }, { replicas: 1 }), widget());
    const [call] = api.calls;
    assert.equal(call?.path, "/apis/shop.example.com/v1/namespaces/shop/widgets/widget/status");
    assert.deepStrictEqual([call?.query.get("fieldManager"), call?.query.get("force")], [MANAGER, "true"]);
    assert.deepStrictEqual(sent().metadata, {
      name: "widget",
      uid: "widget-uid",
      resourceVersion: "7",
      namespace: "shop",
    });
    const { conditions, ...fields } = written();
    assert.deepStrictEqual(fields, { replicas: 1, observedGeneration: 3 });
    assert.match(conditions[0]?.lastTransitionTime ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it("writes nothing where nothing has changed", async () => {
    await writer.write(widget(), { kind: "ready" }, { replicas: 1, nested: { a: [1] } });
    const others = { fields: { theirs: 1 }, conditions: [condition("Theirs")] };
    assert.equal(
      await writer.write(stored(others), { kind: "ready" }, { replicas: 1, nested: { a: [1] } }),
      undefined,
    );
    assert.equal(api.calls.length, 1);
  });

  it("writes where a field, the verdict or the generation is another", async () => {
    await writer.write(widget(), { kind: "ready" }, { replicas: 1 });
    const before = stored();
    const newer = { ...before, metadata: { ...before.metadata, generation: 4 } };
    assert.deepStrictEqual(await writer.write(before, { kind: "ready" }, { replicas: 2 }), widget());
    assert.deepStrictEqual(
      await writer.write(before, { kind: "progressing", message: "x" }, { replicas: 1 }),
      widget(),
    );
    assert.deepStrictEqual(await writer.write(newer, { kind: "ready" }, { replicas: 1 }), widget());
  });

  it("gives up a field that the handler answers no longer", async () => {
    await writer.write(widget(), { kind: "ready" }, { replicas: 1, url: "http://a" });
    assert.deepStrictEqual(await writer.write(stored(), { kind: "ready" }, { replicas: 1 }), widget());
    assert.deepStrictEqual(Object.keys(written()), ["replicas", "observedGeneration", "conditions"]);
  });

  it("keeps the handler's earlier fields and conditions where it gave no answer, and takes nobody else's", async () => {
    await writer.write(widget(), { kind: "ready" }, { replicas: 1, conditions: [condition("Mine")] });
    const before = stored({ fields: { theirs: 1 }, conditions: [condition("Theirs")] });
    await writer.write(before, { kind: "finalizing" }, undefined);
    const { conditions, ...fields } = written();
    assert.deepStrictEqual(fields, { replicas: 1, observedGeneration: 3 });
    assert.deepStrictEqual(
      conditions.map(({ type, reason }) => `${type} ${reason}`),
      ["Ready Finalizing", "Reconciling Finalizing", "Stalled Progressing", "Mine Because"],
    );
  });

  it("lets the handler have conditions of its own, and none of the engine's", async () => {
    await writer.write(widget(), { kind: "ready" }, { conditions: [condition("Mine"), condition("Ready")] });
    assert.deepStrictEqual(
      written().conditions.map(({ type, reason }) => `${type} ${reason}`),
      ["Ready Reconciled", "Reconciling Reconciled", "Stalled Reconciled", "Mine Because"],
    );
  });

  it("tells that the object has gone", async () => {
    api.answer = (_, response) => refuse(response, 404);
    assert.equal(await writer.write(widget(), { kind: "ready" }, {}), undefined);
  });

  it("throws the conflict where the object has changed meanwhile", async () => {
    api.answer = (_, response) => refuse(response, 409, { reason: "Conflict" });
    await assert.rejects(writer.write(widget(), { kind: "ready" }, {}), { name: "ApiError", code: 409 });
  });

  it("tells that the API server refuses the status", async () => {
    api.answer = (_, response) =>
      refuse(response, 422, { reason: "Invalid", message: "status.replicas is bad" });
    const failure = await failureOf(() => writer.write(widget(), { kind: "ready" }, {}));
    assert.equal(failure.reason, "StatusRefused");
    assert.match(failure.message, /status\.replicas is bad/);
  });

  it("writes nothing once it does not lead any more", async () => {
    const fence = () => {
      throw new NotLeadingError();
    };
    writer = new StatusWriter({ client, resource: WIDGETS, fieldManager: MANAGER, fence });
    await assert.rejects(writer.write(widget(), { kind: "ready" }, {}), NotLeadingError);
    assert.equal(api.calls.length, 0);
  });
});

/** A condition that is not the engine's. */
function condition(type: string): Condition {
  return { type, status: "True", reason: "Because", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}
