import assert from "node:assert/strict";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import {
  type Condition,
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type Statement,
} from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import {
  composeStatus,
  type StatusChange,
  type StatusVerdict,
  type Verdict,
} from "../../runtime/remember/composeStatus";
import { memoryOf } from "../../runtime/remember/memory";
import { StatusWriter } from "../../runtime/remember/statusMemories";
import { errorOf, failureOf } from "./support/failures";
import { MANAGER, WIDGETS, widget } from "./support/objects";

type Status = Record<string, unknown>;
const READY: Verdict = { kind: "ready" };
const PROGRESSING: Verdict = { kind: "progressing", message: "Deployment demo has 0 of 1 replicas" };

describe("StatusWriter", () => {
  let now: Date;
  /** The object as the API server has it. */
  let object: KubernetesObject;
  let sent: { manifest: Manifest; options: object }[];
  /** An error with which the API server answers the next write. */
  let refusal: Error | undefined;
  let client: KubernetesClient;
  let writer: StatusWriter;

  beforeEach(() => {
    [sent, refusal, object] = [[], undefined, widget()];
    now = new Date("2026-01-01T00:00:00Z");
    writer = new StatusWriter({ resource: WIDGETS, fieldManager: MANAGER, now: () => now });
    client = {
      get: async () => object,
      apply: async (_, manifest, options) => {
        sent.push({ manifest, options });
        if (refusal) throw refusal;
        object = stored(object, manifest["status"] as Status);
        return { object, created: false };
      },
      jsonPatch: () => assert.fail("no map is to be emptied"),
    } as Partial<KubernetesClient> as KubernetesClient;
  });

  const write = async (change: StatusChange) => {
    const written = await writer.write(client, object, change);
    assert.equal(written, object);
    return written;
  };
  const verdict = (of: Verdict, generation = 3, run?: string) => ({
    verdict: { verdict: of, generation, run },
  });
  /** The handler's conditions: none, or one of this type. */
  const own = (type?: string, more: Partial<Statement> = {}) => ({
    conditions: {
      statements:
        type === undefined
          ? []
          : [{ type, status: "True", reason: "Because", message: "", ...more } as const],
      generation: 3,
    },
  });
  const status = () => (object["status"] ?? {}) as Status;
  const conditions = () =>
    conditionsIn(status()).map(({ type, status: is, reason }) => `${type}=${is} ${reason}`);
  /** Puts something into the status that is not ours. */
  function others(fields: Status, more: Condition[] = []): void {
    object = {
      ...object,
      status: { ...status(), ...fields, conditions: [...conditionsIn(status()), ...more] },
    };
  }

  it("applies to one uid and version, by force", async () => {
    const { resourceVersion } = object.metadata;
    await write({ fields: { replicas: 1 } });
    const { metadata } = sent[0]?.manifest ?? {};
    assert.deepEqual(metadata, { name: "widget", namespace: "shop", uid: "widget-uid", resourceVersion });
    assert.deepEqual(sent[0]?.options, { fieldManager: MANAGER, force: true, subresource: "status" });
  });

  it("writes no verdict that is over", async () => {
    const { verdict: said } = verdict(READY);
    await write({ verdict: { ...said, isOver: () => true } });
    assert.deepEqual([sent.length, conditions()], [0, []]);
  });

  describe("if others write the object before our write:", () => {
    it("a verdict is not written that is over by then", async () => {
      othersWrite(1);
      const { verdict: said } = verdict(READY);
      await write({ verdict: { ...said, isOver: () => sent.length > 0 } });
      assert.deepEqual([sent.length, conditions()], [1, []]);
    });

    /** Lets another client write just before this many of our writes. */
    function othersWrite(times: number): void {
      const { apply } = client;
      client.apply = async (resource, manifest, options) => {
        if (sent.length < times) {
          const resourceVersion = String(Number(object.metadata.resourceVersion) + 1);
          object = { ...object, metadata: { ...object.metadata, resourceVersion } };
        }
        if (manifest.metadata.resourceVersion !== object.metadata.resourceVersion)
          refusal = new ApiError(409, { reason: "Conflict" }, "PATCH");
        try {
          return await apply(resource, manifest, options);
        } finally {
          refusal = undefined;
        }
      };
    }

    it("it gets its status all the same, composed for what they made of it", async () => {
      const before = object;
      othersWrite(3);
      others({ theirs: 1 });
      const written = await writer.write(client, before, verdict(READY));
      assert.equal(written, object);
      assert.equal(sent.length, 4);
      assert.equal(status()["theirs"], 1);
      assert.deepEqual(conditions()[0], "Ready=True Reconciled");
    });

    it("nothing is written if it has all of it then", async () => {
      const before = object;
      await write(verdict(READY));
      othersWrite(2);
      assert.equal(await writer.write(client, before, verdict(READY)), object);
      assert.equal(sent.length, 2);
    });

    it("they are not fought without end", async () => {
      othersWrite(Number.POSITIVE_INFINITY);
      const error = await errorOf(ApiError, () => writer.write(client, object, verdict(READY)));
      assert.equal(error.code, 409);
    });
  });

  it("writes fields, memory and verdict each by itself, and keeps the other two", async () => {
    await write({ fields: { replicas: 1 } });
    assert.deepEqual(status(), { replicas: 1 });
    await write({ memory: { kinds: ["v1/Pod"] } });
    assert.deepEqual(status(), { replicas: 1, argosy: { kinds: ["v1/Pod"] } });
    await write(verdict(READY));
    assert.deepEqual(conditions(), [
      "Ready=True Reconciled",
      "Reconciling=False Reconciled",
      "Stalled=False Reconciled",
    ]);
    const { conditions: before, ...rest } = status();
    assert.deepEqual(rest, { replicas: 1, argosy: { kinds: ["v1/Pod"] }, observedGeneration: 3 });
    await write({ fields: { replicas: 2 } });
    assert.deepEqual(status(), { ...rest, replicas: 2, conditions: before });
    await write({ memory: { kinds: [] } });
    assert.deepEqual(status(), { ...rest, replicas: 2, argosy: { kinds: [] }, conditions: before });
  });

  it("writes nothing that exists already, whatever others have written next to it", async () => {
    const change = { fields: { replicas: 1, nested: { a: [1] } }, memory: { kinds: [] }, ...verdict(READY) };
    await write(change);
    others({ theirs: 1 }, [condition("Theirs")]);
    now = new Date("2026-02-02T00:00:00Z");
    assert.equal(await writer.write(client, object, change), object);
    for (const each of [change, { fields: change.fields }, { memory: change.memory }, verdict(READY)])
      assert.equal(await writer.write(client, object, each), object);
    assert.equal(sent.length, 1);
  });

  it("writes if a field, the verdict, its generation or its run is another", async () => {
    await write({ fields: { replicas: 1 }, ...verdict(READY) });
    for (const change of [
      { fields: { replicas: 2 } },
      verdict(PROGRESSING),
      verdict(READY, 4),
      verdict(READY, 3, "r-1"),
    ])
      assert.ok(
        composeStatus(object, change, undefined, { fieldManager: MANAGER, now }),
        JSON.stringify(change),
      );
  });

  it("writes a verdict that goes along only if the change itself is written", async () => {
    const along = { verdict: READY, generation: 3 };
    await write({ fields: { replicas: 1 }, ...verdict(PROGRESSING) });
    assert.equal(await writer.write(client, object, { fields: { replicas: 1 } }, along), object);
    assert.ok(conditions().includes("Ready=False ChildrenNotReady"));
    await writer.write(client, object, { fields: { replicas: 2 } }, along);
    assert.ok(conditions().includes("Ready=True Reconciled"));
    assert.equal(sent.length, 2);
  });

  it("remembers the digest of a verdict that is written anyway, and writes nothing for it alone", async () => {
    const said = (digest: string | undefined, of: Verdict = READY): StatusVerdict => ({
      verdict: of,
      generation: 3,
      ...(digest !== undefined && { digest }),
    });
    const memory = { kinds: [], uid: "widget-uid" };
    await writer.write(client, object, { memory }, said("one"));
    assert.deepEqual(status()["argosy"], { ...memory, digest: "one" });
    for (const same of [{ memory }, { verdict: said("two") }])
      assert.equal(await writer.write(client, object, same, said("two")), object);
    // What is remembered in the midst of a run is no answer.
    await write({ memory: { ...memory, kinds: ["v1/Pod"] } });
    assert.deepEqual(status()["argosy"], { ...memory, kinds: ["v1/Pod"], digest: "one" });
    await write({ verdict: said("two", PROGRESSING) });
    assert.deepEqual(status()["argosy"], { ...memory, kinds: ["v1/Pod"], digest: "two" });
    await write({ verdict: said(undefined) });
    assert.deepEqual(status()["argosy"], { ...memory, kinds: ["v1/Pod"] });
  });

  it("remembers a digest of an object of which nothing else is remembered", async () => {
    await write({ verdict: { verdict: READY, generation: 3, digest: "one" } });
    assert.deepEqual(status()["argosy"], { kinds: [], uid: "widget-uid", digest: "one" });
    assert.equal(memoryOf(object).digest, "one");
  });

  it("leaves alone what is remembered under the operator's former name, if there is nothing of its own to remember", async () => {
    const memory = { kinds: ["v1/Pod"], uid: "widget-uid" };
    await writer.write(client, object, { memory }, { verdict: READY, generation: 3, digest: "one" });
    const [entry] = object.metadata.managedFields ?? [];
    object.metadata.managedFields = [{ ...entry, manager: "argosy.former" }];
    await write({ fields: { mine: 1 } });
    assert.deepEqual(sent.at(-1)?.manifest["status"], { mine: 1 });
  });

  it("gives up a field, and a condition, that the handler answers no longer, and the last one too", async () => {
    await write({ fields: { replicas: 1, url: "x" }, ...own("Mine"), ...verdict(READY) });
    await write({ fields: { replicas: 1 }, ...own() });
    assert.deepEqual(Object.keys(status()).sort(), ["conditions", "observedGeneration", "replicas"]);
    assert.ok(!conditions().some((each) => each.startsWith("Mine")));
    await write({ fields: {} });
    assert.deepEqual(Object.keys(status()).sort(), ["conditions", "observedGeneration"]);
  });

  it("makes a status ours that another field manager wrote exactly so: the operator's former name", async () => {
    const change = { fields: { phase: "done" }, memory: { seen: "a" }, ...verdict(READY) };
    await write(change);
    const [entry] = object.metadata.managedFields ?? [];
    object.metadata.managedFields = [{ ...entry, manager: "argosy.former" }];
    await write(change);
    assert.equal(sent.length, 2);
  });

  it("leaves fields and conditions of others alone, and does not make them ours", async () => {
    await write({ fields: { mine: 1 }, ...verdict(READY) });
    others({ theirs: 1 }, [condition("Theirs")]);
    await write(verdict(PROGRESSING));
    const applied = sent.at(-1)?.manifest["status"] as Status;
    assert.ok(!("theirs" in applied));
    assert.ok(!conditionsIn(applied).some(({ type }) => type === "Theirs"));
    assert.equal(status()["theirs"], 1);
    assert.ok(conditions().includes("Theirs=True Because"));
  });

  it("leaves alone what others, or a default of the CRD, have put into a map of the handler's, and does not make it ours", async () => {
    const fieldsV1 = { "f:status": { "f:parts": { "f:wheels": {} } } };
    const entry = { manager: MANAGER, operation: "Apply" as const, subresource: "status", fieldsV1 };
    object = widget({ managedFields: [entry] }, { status: { parts: { wheels: 4, colour: "red" } } });
    assert.equal(await writer.write(client, object, { fields: { parts: { wheels: 4 } } }), object);
    assert.ok(composeStatus(object, { fields: { parts: {} } }, undefined, { fieldManager: MANAGER, now }));
    await write(verdict(READY));
    const applied = sent.at(-1)?.manifest["status"] as Status;
    assert.deepEqual(applied["parts"], { wheels: 4 });
  });

  it("keeps the handler's fields under their new names if the status was written in another version of the kind", async () => {
    const fieldsV1 = { "f:status": { "f:wheels": {}, "f:parts": { "f:doors": {} } } };
    const ours = { manager: MANAGER, operation: "Apply" as const, subresource: "status" };
    const former = { ...ours, apiVersion: "example.com/v1beta1", fieldsV1 };
    const theirs = {
      manager: "somebody",
      operation: "Update" as const,
      fieldsV1: { "f:status": { "f:theirs": {}, "f:parts": { "f:colour": {} } } },
    };
    const status = { axles: 2, parts: { doors: 4, colour: "red" }, theirs: 1 };
    object = widget({ managedFields: [former, theirs] }, { status });
    await write(verdict(READY));
    const applied = sent.at(-1)?.manifest["status"] as Status;
    assert.deepEqual(Object.keys(applied).sort(), ["axles", "conditions", "observedGeneration", "parts"]);
    assert.deepEqual(applied["parts"], { doors: 4 });
  });

  it("lets the handler have conditions of its own next to ours, and keeps them as long as nothing is said of them", async () => {
    await write({ fields: {}, ...own("Mine") });
    assert.deepEqual(conditions(), ["Mine=True Because"]);
    await write({ fields: {}, ...own("Mine"), ...verdict(PROGRESSING) });
    assert.deepEqual(conditions()[0], "Ready=False ChildrenNotReady");
    assert.ok(conditions().includes("Mine=True Because"));
    await write(verdict(READY));
    await write({ fields: { replicas: 1 } });
    assert.ok(conditions().includes("Mine=True Because"));
  });

  describe("of a CRD with a schema", () => {
    const text = { type: "string" };
    const named = { type: text, status: text, reason: text, message: text };
    const writing = (conditionsSchema: JsonObject) => {
      const schema = { type: "object", properties: { at: text, conditions: conditionsSchema } };
      writer = new StatusWriter({ resource: WIDGETS, fieldManager: MANAGER, now: () => now, schema });
    };

    it("leaves out a null, and the fields of conditions for which there is no place", async () => {
      const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] };
      writing({ type: "array", items: { type: "object", properties: named }, ...keyed });
      const change = { fields: { at: null }, ...verdict(READY) };
      await write(change);
      assert.deepEqual(Object.keys(conditionsIn(status())[0] ?? {}).sort(), Object.keys(named).sort());
      assert.ok(!("at" in status()));
      assert.equal(await writer.write(client, object, change), object);
    });

    it("writes a list without keys as a whole: the handler's conditions stay next to a verdict that is written alone", async () => {
      writing({ type: "array", items: { type: "object", properties: named } });
      others({}, [condition("Former")]);
      await write({ fields: {}, ...own("Mine"), ...verdict(READY) });
      // Another client has written the list, and it is not ours any more.
      object.metadata.managedFields = [];
      await write(verdict(PROGRESSING));
      const applied = conditionsIn(sent.at(-1)?.manifest["status"]).map(({ type }) => type);
      assert.deepEqual(applied.slice(0, 4), ["Ready", "Reconciling", "Stalled", "Mine"]);
    });
  });

  it("takes no condition out of the handler's fields", async () => {
    await write({ fields: { conditions: [condition("Ready")] } });
    assert.deepEqual(sent, []);
  });

  it("keeps the time and the generation of the handler's conditions, and cuts their messages", async () => {
    const one = () => conditionsIn(status())[0];
    await write(own("Mine", { message: "a".repeat(5_000) }));
    assert.equal(one()?.message.length, 1024);
    assert.deepEqual([one()?.observedGeneration, one()?.lastTransitionTime], [3, "2026-01-01T00:00:00Z"]);
    now = new Date("2026-02-02T00:00:00Z");
    await write(own("Mine", { reason: "Other" }));
    assert.deepEqual([one()?.reason, one()?.lastTransitionTime], ["Other", "2026-01-01T00:00:00Z"]);
    await write(own("Mine", { status: "False" }));
    assert.equal(one()?.lastTransitionTime, "2026-02-02T00:00:00Z");
    const writes = sent.length;
    await write(own("Mine", { status: "False" }));
    assert.equal(sent.length, writes);
  });

  it("lets the handler write neither the engine's memory nor the observed generation", async () => {
    await write({ fields: { argosy: { kinds: ["forged"] }, observedGeneration: 99, replicas: 1 } });
    assert.deepEqual(status(), { replicas: 1 });
    await write({ memory: { kinds: ["v1/Pod"] }, ...verdict(READY) });
    await write({ fields: { argosy: { kinds: ["forged"] }, observedGeneration: 99, replicas: 2 } });
    assert.deepEqual(status()["argosy"], { kinds: ["v1/Pod"] });
    assert.equal(status()["observedGeneration"], 3);
  });

  it("takes no number for observed that the object has not reached: it was restored with the status of a former life", async () => {
    object = widget({ generation: 3 }, { status: { observedGeneration: 57 } });
    await write(verdict(READY, 3));
    assert.equal(status()["observedGeneration"], 3);
    assert.ok(conditions().length > 0);
  });

  it("never lowers the observed generation: an older verdict is not told, and what comes with it is", async () => {
    object = widget({ generation: 5 });
    await write(verdict(READY, 5));
    const before = conditions();
    await write({ fields: { replicas: 1 }, ...verdict(PROGRESSING, 4) });
    assert.deepEqual(conditions(), before);
    assert.deepEqual([status()["observedGeneration"], status()["replicas"]], [5, 1]);
    assert.equal(await write(verdict(PROGRESSING, 4)), object);
    assert.equal(sent.length, 2);
  });

  it("never lowers it, whatever is written in whatever order, and writes each change once", async () => {
    const field = fc.dictionary(fc.constantFrom("a", "b"), fc.nat(2));
    const change = fc.record(
      {
        fields: field,
        memory: fc.subarray(["v1/Pod", "v1/Secret"]).map((kinds): JsonObject => ({ kinds })),
        verdict: fc.record({
          verdict: fc.constantFrom(READY, PROGRESSING),
          generation: fc.integer({ min: 1, max: 5 }),
        }),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        object = widget({ generation: 5 });
        let [observed, fields, memory]: [number, Status, unknown] = [0, {}, undefined];
        for (const each of changes) {
          await writer.write(client, object, each);
          observed = Math.max(observed, each.verdict?.generation ?? 0);
          fields = each.fields ?? fields;
          memory = each.memory ?? memory;
          const { conditions: _, argosy, observedGeneration = 0, ...rest } = status();
          assert.deepEqual([observedGeneration, rest, argosy], [observed, { ...fields }, memory]);
          assert.equal(await writer.write(client, object, each), object);
        }
      }),
    );
  });

  it("does not take an older verdict that is not told for dropped conditions", async () => {
    object = widget({ generation: 9 }, { status: { observedGeneration: 9 } });
    assert.notEqual(
      await writer.write(client, object, { fields: { a: 1 }, ...verdict(READY, 3) }),
      undefined,
    );
  });

  describe("if the API server refuses,", () => {
    it("an object that is gone, or another one of its name, gets nothing", async () => {
      for (const code of [404, 409]) {
        refusal = new ApiError(code, {}, "PATCH");
        const before = object;
        object = widget({ uid: "another" });
        assert.equal(await writer.write(client, before, verdict(READY)), undefined);
        object = before;
      }
    });

    it("a CRD without the status subresource is named as such, and not taken for a deletion", async () => {
      refusal = new ApiError(404, {}, "PATCH");
      const failure = await failureOf(() => writer.write(client, object, verdict(READY)));
      assert.equal(failure.reason, "StatusRefused");
      assert.match(failure.message, /widgets .* has no status subresource/);
      // It may be the CRD of another operator, with its objects.
      assert.match(failure.message, /has not taken it over from another operator/);
    });

    it("an object whose namespace does not exist gets nothing", async () => {
      const { namespace: name = "" } = object.metadata;
      refusal = new ApiError(404, { reason: "NotFound", details: { kind: "namespaces", name } }, "PATCH");
      assert.equal(await writer.write(client, object, verdict(READY)), undefined);
    });

    const refusals: readonly (readonly [what: string, code: number, said: string, message: RegExp])[] = [
      ["is bad", 422, "status.replicas is bad", /status\.replicas is bad/],
      ["has no room", 500, "etcdserver: request is too large", /is too large\. Make the status smaller/],
      [
        "is right, and what is not in the status is not: it stays as it is",
        500,
        "failed to create typed live object (shop/widget): .spec.size: expected numeric, got string",
        /\.spec\.size: expected numeric/,
      ],
    ];
    for (const [what, code, said, message] of refusals)
      it(`a status that is not accepted is a failure of the object's: one that ${what}`, async () => {
        refusal = new ApiError(code, { kind: "Status", message: said }, "PATCH");
        const failure = await failureOf(() => writer.write(client, object, { fields: { replicas: 1 } }));
        assert.equal(failure.reason, "StatusRefused");
        assert.match(failure.message, message);
      });

    it("an API server that is busy or out of reach is no failure, and neither is a missing right", async () => {
      const message = 'widgets "widget" is forbidden: User "x" cannot patch resource "widgets/status"';
      for (const error of [new ApiError(429, {}, "PATCH"), new ApiError(403, { message }, "PATCH")]) {
        refusal = error;
        await errorOf(ApiError, () => writer.write(client, object, verdict(READY)));
      }
      refusal = new ApiUnreachableError("PATCH", new Error("refused"));
      await errorOf(ApiUnreachableError, () => writer.write(client, object, verdict(READY)));
    });

    it("what the CRD drops is named: the conditions", async () => {
      client.apply = async () => ({ object: widget({}, { status: {} }), created: false });
      const failure = await failureOf(() => writer.write(client, object, verdict(READY)));
      assert.ok(failure instanceof ReconcileFailure);
      assert.match(failure.message, /dropped status\.observedGeneration and status\.conditions: .*widgets/);
    });
  });
});

/** What the API server makes of an apply of a status: what we applied earlier and not now goes. */
function stored(before: KubernetesObject, applied: Status): KubernetesObject {
  const entry = before.metadata.managedFields?.find(({ manager }) => manager === MANAGER);
  const owned = (entry?.fieldsV1?.["f:status"] ?? {}) as JsonObject;
  const ownedTypes = Object.keys((owned["f:conditions"] ?? {}) as JsonObject);
  const current = (before["status"] ?? {}) as Status;
  const kept = Object.entries(current).filter(
    ([field]) => !(`f:${field}` in owned) && field !== "conditions",
  );
  const types = conditionsIn(applied).map(({ type }) => type);
  const isOthers = ({ type }: Condition) =>
    !types.includes(type) && !ownedTypes.includes(`k:${JSON.stringify({ type })}`);
  const conditions = [...conditionsIn(applied), ...conditionsIn(current).filter(isOthers)];
  const fields = Object.keys(applied).map((field) => [`f:${field}`, {}]);
  const fieldsV1 = {
    "f:status": {
      ...Object.fromEntries(fields),
      ...(types.length > 0 && {
        "f:conditions": Object.fromEntries(
          types.map((type) => [`k:${JSON.stringify({ type })}`, { ".": {} }]),
        ),
      }),
    },
  };
  const managedFields = [{ manager: MANAGER, operation: "Apply" as const, subresource: "status", fieldsV1 }];
  return {
    ...before,
    metadata: { ...before.metadata, managedFields },
    status: { ...Object.fromEntries(kept), ...applied, ...(conditions.length > 0 && { conditions }) },
  };
}

/** A condition that is not the engine's. */
function condition(type: string): Condition {
  return { type, status: "True", reason: "Because", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}
