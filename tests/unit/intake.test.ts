import assert from "node:assert/strict";
import { request as open } from "node:http";
import type { HttpListener } from "../../runtime/base/http/listen";
import { EVENT_LABEL } from "../../runtime/base/names";
import type { JsonObject, KubernetesObject, ManagedFieldsEntry, Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { ApiError, ApiUnreachableError, apiErrorOf } from "../../runtime/kubernetes/errors";
import { intakeManagerOf, isExpired } from "../../runtime/operator/eventMarks";
import { Intake } from "../../runtime/programs/intake/intake";
import {
  type CreatingEvent,
  type IntakeFile,
  parseIntakeFile,
  SUBJECT_HEADER,
  TOKEN_HEADER,
} from "../../runtime/programs/intake/intakeFile";
import { MOST_EVENT_BYTES, startIntakeServer } from "../../runtime/programs/intake/intakeServer";
import { soon } from "../support/eventually";

const OPERATOR = { installation: "argosy", name: "deploys", formerNames: ["releases", "shop.deploys"] };
const EVENTS: readonly CreatingEvent[] = [
  {
    subject: "deploys-command-1",
    name: "command",
    type: "webhook",
    id: ["body.id"],
    when: { "body.kind": "command" },
    namespace: "shop",
    spec: { text: "body.text" },
    operator: OPERATOR,
    apiVersion: "shop.example.com/v1",
    kind: "Command",
    plural: "commands",
    namespaced: true,
    crd: "commands.shop.example.com",
  },
];
const FILE: IntakeFile = { installation: "argosy", events: EVENTS };
const SUBJECT = "deploys-command-1";
const eventOf = (body: object) => ({ body: { kind: "command", id: 1, text: "go", ...body } });

/** A cluster with nothing but what is created in it. */
class FakeCluster {
  readonly objects = new Map<string, Manifest>();
  readonly managers = new Set<string | undefined>();
  /** The schema of `spec` in the CRD, and when the CRD was written to. */
  readonly crd = {
    schema: undefined as JsonObject | undefined,
    time: "2026-01-01T00:00:00Z",
    others: [] as ManagedFieldsEntry[],
  };
  readonly namespaces = new Set(["shop"]);
  /** Those of them that are being deleted. */
  readonly going = new Set<string>();
  readonly now = () => Date.parse("2026-01-01T00:59:59Z");
  /** What the next requests of each verb and plural fail with. */
  readonly failures: { verb: string; plural: string; error: Error }[] = [];

  create = async (resource: Resource, manifest: Manifest, options: { fieldManager?: string } = {}) => {
    this.fail("create", resource);
    this.managers.add(options.fieldManager);
    const key = `${resource.plural}/${manifest.metadata.namespace}/${manifest.metadata.name}`;
    if (this.objects.has(key)) throw refusal(409, { reason: "AlreadyExists" });
    const { fieldManager: manager } = options;
    const metadata = { ...manifest.metadata, managedFields: [{ manager, operation: "Update" }] };
    const object = { ...manifest, metadata } as Manifest;
    this.objects.set(key, object);
    return object as KubernetesObject;
  };
  get = async (resource: Resource, { namespace, name }: { namespace?: string | undefined; name: string }) => {
    this.fail("get", resource);
    if (resource.plural === "namespaces" && this.namespaces.has(name)) {
      const deletionTimestamp = this.going.has(name) ? "2026-01-01T00:00:00Z" : undefined;
      const metadata = {
        name,
        uid: name,
        resourceVersion: "1",
        ...(deletionTimestamp && { deletionTimestamp }),
      };
      return { apiVersion: "v1", kind: "Namespace", metadata };
    }
    if (resource.plural === "customresourcedefinitions") {
      const { schema, time, others } = this.crd;
      const openAPIV3Schema = { type: "object", properties: schema ? { spec: schema } : {} };
      const versions = [{ name: "v2" }, { name: "v1", schema: { openAPIV3Schema } }];
      const fieldsV1 = { "f:spec": { "f:group": {}, "f:versions": {} } };
      const managedFields = [{ manager: "pulumi", operation: "Apply", time, fieldsV1 }, ...others];
      const metadata = { name, uid: "crd-uid", resourceVersion: "1", managedFields };
      return { apiVersion: "a", kind: "b", metadata, spec: { versions } } as unknown as KubernetesObject;
    }
    return this.objects.get(`${resource.plural}/${namespace}/${name}`) as KubernetesObject | undefined;
  };
  of(plural: string): Manifest[] {
    return [...this.objects].filter(([key]) => key.startsWith(`${plural}/`)).map(([, each]) => each);
  }
  remove(plural: string): void {
    for (const key of this.objects.keys()) if (key.startsWith(`${plural}/`)) this.objects.delete(key);
  }
  get notes(): string[] {
    return this.of("events").map((event) => String(event["note"]));
  }
  private fail(verb: string, { plural }: Resource): void {
    const index = this.failures.findIndex((each) => each.verb === verb && each.plural === plural);
    const [failure] = index < 0 ? [] : this.failures.splice(index, 1);
    if (failure) throw failure.error;
  }
}

function refusal(code: number, status: Partial<ApiError["status"]> = {}): ApiError {
  return new ApiError(code, { kind: "Status", code, ...status }, "POST /x");
}

/** How the API server answers if a policy denies to create an object. */
function deniedByPolicy(code: number, why = 'unknown field "s3cret"'): ApiError {
  const denial = `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${why}`;
  const message = `commands "command-1" is forbidden: ${denial}`;
  const details = { causes: [{ message: denial }] };
  return apiErrorOf(code, { kind: "Status", code, message, details }, "POST /x");
}

describe("the intake", () => {
  let cluster: FakeCluster;
  let intake: Intake;
  let notices: string[];
  /** An intake of these events, or of one whose mapping has something else. */
  const intakeOf = (
    { events, ...event }: Partial<CreatingEvent> & { events?: IntakeFile["events"] } = {},
    more: Partial<ConstructorParameters<typeof Intake>[0]> = {},
  ) =>
    new Intake({
      file: { ...FILE, events: events ?? EVENTS.map((each) => ({ ...each, ...event })) },
      client: cluster,
      instance: "pod",
      onNotice: (notice) => notices.push(notice),
      ...more,
    });
  beforeEach(() => {
    cluster = new FakeCluster();
    notices = [];
    intake = intakeOf();
  });
  const counted = async (result: string) => {
    const [metric] = await intake.registry.getMetricsAsJSON();
    return metric?.values.find(({ labels }) => labels["result"] === result)?.value;
  };

  it("makes an object of an event, once, no matter who takes it and however often", async () => {
    assert.equal(await intake.take(SUBJECT, eventOf({})), "created");
    assert.equal(await intake.take(SUBJECT, eventOf({})), "known");
    assert.equal(await intakeOf().take(SUBJECT, eventOf({})), "known");
    const [object, ...others] = cluster.of("commands");
    assert.deepStrictEqual(others, []);
    assert.deepStrictEqual(object?.["spec"], { text: "go" });
    assert.equal(object?.metadata.namespace, "shop");
    assert.deepStrictEqual(object?.metadata.labels, { [EVENT_LABEL]: "command" });
    assert.deepStrictEqual([...cluster.managers], [intakeManagerOf(OPERATOR)]);
    assert.deepStrictEqual(cluster.notes, []);
    assert.equal(await counted("known"), 1);
  });

  it("lets the first of two events with one id win, and warns without the content of either", async () => {
    await intake.take(SUBJECT, eventOf({ text: "first-s3cret" }));
    assert.equal(await intake.take(SUBJECT, eventOf({ text: "other-s3cret" })), "contradicted");
    assert.equal(await intake.take(SUBJECT, eventOf({ text: "other-s3cret" })), "contradicted");
    assert.deepStrictEqual(cluster.of("commands")[0]?.["spec"], { text: "first-s3cret" });
    assert.equal(cluster.notes.length, 1);
    assert.match(
      cluster.notes[0] ?? "",
      /^an event of command with the id "1" came again with other content, or its mapping has changed since\. Command /,
    );
    assert.ok(!JSON.stringify([cluster.of("events"), notices]).includes("s3cret"));
  });

  it("treats an object of others with the name of an event's object as other content, even with the event's marks", async () => {
    await intake.take(SUBJECT, eventOf({}));
    const [object] = cluster.of("commands");
    assert.ok(object);
    const { annotations = {}, managedFields = [] } = object.metadata;
    for (const theirs of [
      { annotations: {}, managedFields },
      { annotations, managedFields: [{ manager: "kubectl", operation: "Update" as const }] },
    ]) {
      Object.assign(object.metadata, theirs);
      assert.equal(await intake.take(SUBJECT, eventOf({})), "contradicted");
    }
  });

  it("warns of an event that comes again while its object is being deleted, and makes another object when that is gone", async () => {
    await intake.take(SUBJECT, eventOf({}));
    const [object] = cluster.of("commands");
    Object.assign(object?.metadata ?? {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    assert.equal(await intake.take(SUBJECT, eventOf({})), "refused");
    assert.deepStrictEqual(cluster.notes, [
      `an event of command with the id "1" came again while Command ${object?.metadata.namespace}/${object?.metadata.name} is being deleted, and no other object is created`,
    ]);
    cluster.remove("commands");
    assert.equal(await intake.take(SUBJECT, eventOf({})), "created");
  });

  it("refuses what can never become an object, and warns of each by id and field", async () => {
    assert.equal(await intake.take(SUBJECT, eventOf({ id: 2, text: undefined })), "refused");
    assert.equal(await intake.take(SUBJECT, eventOf({ id: undefined, text: "s3cret" })), "refused");
    assert.equal(await intake.refuse(SUBJECT, { field: "the event", complaint: "is no JSON" }), "refused");
    assert.deepStrictEqual(cluster.of("commands"), []);
    assert.deepStrictEqual(cluster.notes, [
      'an event of command with the id "2" became no object: body.text is missing, and spec.text comes from it',
      "an event of command without a known id became no object: body.id is missing, and it is part of the id",
      "an event of command without a known id became no object: the event is no JSON",
    ]);
    const [warning] = cluster.of("events");
    assert.equal(warning?.["type"], "Warning");
    assert.equal(warning?.metadata.namespace, "default");
    assert.deepStrictEqual(warning?.["regarding"], {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name: "commands.shop.example.com",
      uid: "crd-uid",
    });
    assert.equal(await counted("refused"), 3);
  });

  const final: readonly (readonly [what: string, error: Error, field: RegExp])[] = [
    [
      "422",
      refusal(422, {
        message: "s3cret",
        details: { causes: [{ field: "spec.text", reason: "FieldValueInvalid" }] },
      }),
      /spec\.text is refused by the API server: FieldValueInvalid$/,
    ],
    [
      "an unknown field",
      refusal(400, { message: 'strict decoding error: unknown field "spec.text"' }),
      /spec\.text is not in the CRD's schema$/,
    ],
    [
      "422 with the words for a policy that cannot be applied in the event",
      apiErrorOf(
        422,
        {
          kind: "Status",
          message: 'Command "x" is invalid: spec.text: "s3cret denied request: failed to configure policy: "',
          details: { causes: [{ field: "spec.text", reason: "FieldValueInvalid" }] },
        },
        "POST /x",
      ),
      /spec\.text is refused by the API server: FieldValueInvalid$/,
    ],
    ["413", refusal(413), /HTTP 413$/],
    ["413 of a proxy", new ApiError(413, { message: "<html>s3cret" }, "POST /x"), /HTTP 413$/],
    [
      "a denial",
      refusal(403, {
        message: 'admission webhook "policy.example.com" denied the request: "s3cret" denied the request',
      }),
      /the object is refused: admission webhook "policy\.example\.com" denied the request$/,
    ],
    [
      "a denial as if the object existed",
      refusal(409, {
        reason: "AlreadyExists",
        message: 'admission webhook "names.example.com" denied the request: s3cret',
      }),
      /admission webhook "names\.example\.com" denied the request$/,
    ],
    ...[403, 413, 422].map(
      (code) =>
        [
          `a policy's denial with ${code}`,
          deniedByPolicy(code),
          /the object is refused: ValidatingAdmissionPolicy 'p' with binding 'b' denied request$/,
        ] as const,
    ),
  ];
  for (const [what, error, note] of final) {
    it(`refuses what the API server will never take: ${what}`, async () => {
      cluster.failures.push({ verb: "create", plural: "commands", error });
      assert.equal(await intake.take(SUBJECT, eventOf({})), "refused");
      assert.match(cluster.notes[0] ?? "", note);
      assert.ok(!JSON.stringify([cluster.notes, notices]).includes("s3cret"));
    });
  }

  it("sends an event again if a policy cannot be applied, because that says nothing about the event", async () => {
    const error = deniedByPolicy(422, "failed to configure binding: s3cret");
    cluster.failures.push({ verb: "create", plural: "commands", error });
    assert.equal(await intake.take(SUBJECT, eventOf({})), "postponed");
    assert.equal(await intake.take(SUBJECT, eventOf({})), "created");
    assert.deepStrictEqual(cluster.notes, []);
    assert.match(
      notices.join(),
      /^event \S+ is postponed: POST \/x: HTTP 500 ValidatingAdmissionPolicy 'p' with binding 'b' denied request$/,
    );
  });

  describe("whose CRD has another schema", () => {
    const schema: JsonObject = {
      type: "object",
      required: ["text"],
      properties: { text: { type: "string", maxLength: 3 } },
    };
    beforeEach(() => {
      intake = intakeOf({ schema });
      cluster.crd.schema = { ...schema, required: ["text", "stage"] };
    });

    for (const [what, error] of [
      ["an unknown field", refusal(400, { message: 'strict decoding error: unknown field "spec.text"' })],
      ["a missing field", refusal(422, { details: { causes: [{ field: "spec.stage" }] } })],
    ] as const)
      it(`leaves an event to the next intake that the API server refuses for ${what}`, async () => {
        cluster.failures.push({ verb: "create", plural: "commands", error });
        assert.equal(await intake.take(SUBJECT, eventOf({})), "postponed");
        assert.deepStrictEqual(cluster.notes, []);
        assert.match(notices.join(), /commands\.shop\.example\.com has another schema/);
      });

    it("leaves an event to the next intake that only the old schema refuses", async () => {
      assert.equal(await intake.take(SUBJECT, eventOf({ text: "too long" })), "postponed");
      assert.equal(
        await intakeOf({ schema: cluster.crd.schema ?? {} }).take(SUBJECT, eventOf({ text: "no" })),
        "refused",
      );
    });

    it("refuses an event an hour after the CRD was changed, though another client writes other parts: no other intake is coming", async () => {
      cluster.crd.time = "2025-12-31T23:59:59Z";
      assert.equal(await intake.take(SUBJECT, eventOf({ text: "too long" })), "refused");
      const fieldsV1 = { "f:spec": { "f:conversion": { "f:webhook": {} } } };
      cluster.crd.others.push({ manager: "injector", time: "2026-01-01T00:59:00Z", fieldsV1 });
      assert.equal(await intakeOf({ schema }).take(SUBJECT, eventOf({ text: "too long" })), "refused");
    });

    it("takes a schema that the API server has stored for the same", async () => {
      cluster.crd.schema = schema;
      const written = {
        ...schema,
        properties: { text: { nullable: false, maxLength: 3, type: "string" } },
        allOf: [],
      };
      assert.equal(
        await intakeOf({ schema: written }).take(SUBJECT, eventOf({ text: "too long" })),
        "refused",
      );
    });
  });

  it("names no key that a sender chose", async () => {
    const env = { type: "object", additionalProperties: { type: "string", maxLength: 3 } };
    const schema = {
      type: "object",
      properties: { env, list: { type: "array", items: env } },
      "x-kubernetes-preserve-unknown-fields": true,
    };
    const spec = { env: "body.env?", list: "body.list?", own: { name: "'x'", any: "body.any?" } };
    cluster.crd.schema = schema;
    const mapping = intakeOf({ schema, spec });
    const refusedField = async (body: object, field?: string) => {
      const error = refusal(422, { details: { causes: [{ field: field ?? "", reason: "Invalid" }] } });
      if (field !== undefined) cluster.failures.push({ verb: "create", plural: "commands", error });
      assert.equal(await mapping.take(SUBJECT, eventOf({ id: cluster.notes.length, ...body })), "refused");
      return /: (\S+) /.exec(cluster.notes.at(-1) ?? "")?.[1];
    };
    assert.equal(await refusedField({}, "spec.env.s3.cret"), "spec.env.*");
    assert.equal(await refusedField({}, "spec.list[0].s3cret"), "spec.list.*");
    assert.equal(await refusedField({}, "spec.list[0][s3cret]"), "spec.list.*");
    assert.equal(await refusedField({}, "spec.own.name"), "spec.own.name");
    assert.equal(await refusedField({}, "spec.own.any.s3cret"), "spec.own.any.*");
    assert.equal(await refusedField({ env: { s3cret: "long" } }), "spec.env.*");
    assert.equal(await refusedField({ list: [{ s3cret: "long" }] }), "spec.list.*");
    assert.ok(!JSON.stringify(cluster.notes).includes("cret"));
  });

  it("knows an object that it made while the operator had another name", async () => {
    for (const [id, former] of [
      { installation: "argosy", name: "releases" },
      { installation: "shop", name: "deploys" },
    ].entries()) {
      await intake.take(SUBJECT, eventOf({ id }));
      const made = cluster.of("commands").at(-1);
      Object.assign(made?.metadata ?? {}, {
        managedFields: [{ manager: intakeManagerOf(former), operation: "Update" }],
      });
      assert.equal(await intake.take(SUBJECT, eventOf({ id })), "known");
    }
  });

  const passing: readonly (readonly [what: string, error: Error])[] = [
    ["the API server is out of reach", new ApiUnreachableError("POST /x", new Error("ECONNREFUSED"))],
    ["it is busy", refusal(429)],
    ["it fails", refusal(500, { message: "etcdserver: leader changed" })],
    ["the token is not known yet", refusal(401)],
    ["there are no rights yet", refusal(403, { message: "commands is forbidden: User cannot create" })],
    ["a quota is full", refusal(403, { message: "exceeded quota" })],
    [
      "the namespace is being deleted",
      refusal(403, { details: { causes: [{ reason: "NamespaceTerminating" }] } }),
    ],
    ["the kind or the namespace does not exist", refusal(404)],
    ...[400, 422].map(
      (code) => [`a proxy answers ${code}`, new ApiError(code, { message: "<html>no" }, "POST /x")] as const,
    ),
    ["two write at once", refusal(409, { reason: "Conflict" })],
  ];
  for (const [what, error] of passing) {
    it(`postpones an event while ${what}, and takes it later`, async () => {
      cluster.failures.push({ verb: "create", plural: "commands", error });
      assert.equal(await intake.take(SUBJECT, eventOf({})), "postponed");
      assert.deepStrictEqual(cluster.notes, []);
      assert.equal(await intake.take(SUBJECT, eventOf({})), "created");
    });
  }

  it("postpones an event that it cannot warn of", async () => {
    for (const failure of [
      { verb: "create", plural: "events" },
      { verb: "get", plural: "customresourcedefinitions" },
    ]) {
      const fresh = intakeOf();
      cluster.failures.push({ ...failure, error: refusal(503) });
      assert.equal(await fresh.take(SUBJECT, eventOf({ id: null })), "postponed");
      assert.equal(await fresh.take(SUBJECT, eventOf({ id: null })), "refused");
    }
  });

  it("warns of a flood no faster than etcd can take, and in the end of each event", async () => {
    let now = 0;
    const flooded = intakeOf({}, { now: () => now });
    const waiting = new Set(Array.from({ length: 300 }, (_, id) => id));
    const pass = async () => {
      for (const id of [...waiting])
        if ((await flooded.take(SUBJECT, eventOf({ id, text: null }))) === "refused") waiting.delete(id);
    };
    await pass();
    assert.equal(cluster.notes.length, 200);
    for (let second = 0; second < 300; second++) {
      now += 1_000;
      await pass();
    }
    assert.equal(new Set(cluster.notes).size, 300);
  });

  describe("for a namespace that the event chooses", () => {
    const NO_RIGHT = refusal(403, {
      message: 'commands is forbidden: User "x" cannot create resource "commands"',
    });
    let now: number;
    let chosen: Intake;
    const intakeWith = (namespace: CreatingEvent["namespace"]) => intakeOf({ namespace }, { now: () => now });
    beforeEach(() => {
      now = 0;
      chosen = intakeWith({ from: "body.team", allowed: ["shop", "gone"] });
    });
    const refuseNext = () => cluster.failures.push({ verb: "create", plural: "commands", error: NO_RIGHT });
    const take = (intake: Intake) => {
      refuseNext();
      return intake.take(SUBJECT, eventOf({ team: "gone" }));
    };

    it("makes a second object if an event comes again for another namespace", async () => {
      cluster.namespaces.add("gone");
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "shop" })), "created");
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "gone" })), "created");
      assert.deepStrictEqual(
        cluster.of("commands").map(({ metadata: { namespace } }) => namespace),
        ["shop", "gone"],
      );
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "shop" })), "known");
      assert.deepStrictEqual(cluster.notes, []);
    });

    it("waits until the namespace has been gone for ten minutes, and then refuses the event", async () => {
      for (; now < 600_000; now += 60_000) assert.equal(await take(chosen), "postponed");
      assert.equal(await take(chosen), "refused");
      assert.deepStrictEqual(cluster.notes, [
        'an event of command with the id "1" became no object: body.team is the namespace gone, which is gone or is being deleted',
      ]);
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "shop" })), "created");
    });

    it("refuses the event after the same time if the namespace is being deleted, or goes during the wait", async () => {
      const error = refusal(403, { details: { causes: [{ reason: "NamespaceTerminating" }] } });
      cluster.namespaces.add("gone");
      cluster.going.add("gone");
      for (; now < 600_000; now += 60_000) {
        if (now === 300_000) cluster.namespaces.delete("gone");
        cluster.failures.push({ verb: "create", plural: "commands", error });
        assert.equal(await chosen.take(SUBJECT, eventOf({ team: "gone" })), "postponed");
      }
      cluster.namespaces.add("gone");
      cluster.failures.push({ verb: "create", plural: "commands", error });
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "gone" })), "refused");
      assert.match(cluster.notes[0] ?? "", /is the namespace gone, which is gone or is being deleted$/);
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "shop" })), "created");
    });

    it("waits as long as it takes for a right, for a constant namespace, and for one that comes and goes", async () => {
      const constant = intakeWith("gone");
      for (; now < 1_200_000; now += 60_000) assert.equal(await take(constant), "postponed");
      cluster.namespaces.add("gone");
      for (now = 0; now < 1_200_000; now += 60_000) assert.equal(await take(chosen), "postponed");
      cluster.namespaces.delete("gone");
      assert.equal(await take(chosen), "postponed");
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "gone" })), "created");
      now += 600_000;
      refuseNext();
      assert.equal(await chosen.take(SUBJECT, eventOf({ team: "gone", id: 2 })), "postponed");
      assert.deepStrictEqual(cluster.notes, []);
    });

    it("waits ten minutes again if the last delivery is ten minutes old: the namespace may have existed since", async () => {
      for (; now <= 600_000; now += 60_000) await take(chosen);
      assert.equal(cluster.notes.length, 1);
      now += 600_000;
      assert.equal(await take(chosen), "postponed");
      now += 599_999;
      assert.equal(await take(chosen), "postponed");
      now += 1;
      assert.equal(await take(chosen), "refused");
    });
  });

  it("says of each event that waits once a minute why, however many others wait", async () => {
    let now = 0;
    const clocked = intakeOf({}, { now: () => now });
    const pass = async () => {
      for (const subject of ["one", "other"]) assert.equal(await clocked.take(subject, {}), "postponed");
    };
    for (; now < 60_000; now += 1_000) await pass();
    assert.equal(notices.length, 2);
    await pass();
    assert.equal(notices.length, 4);
  });

  it("postpones an event that another intake knows", async () => {
    assert.equal(await intake.take("deploys-new-1", eventOf({})), "postponed");
    assert.deepEqual(notices, ["event deploys-new-1 is postponed: this intake does not know the event"]);
    assert.equal(await intake.take("x".repeat(10_000), eventOf({})), "postponed");
    assert.ok((notices[1]?.length ?? 0) < 200, notices[1]);
  });

  it("refuses what is nested so deeply that nothing can be made of it", async () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) nested = [nested];
    assert.equal(await intake.take(SUBJECT, eventOf({ text: nested })), "refused");
  });

  describe("with an event that wakes an object", () => {
    const EVENT = {
      subject: "deploys-done-1",
      name: "done",
      type: "webhook",
      when: { "body.kind": "done" },
      wake: { namespace: { from: "body.team" }, name: "body.name" },
      kind: "Command",
      runner: "deploys-runner.argosy.svc",
    };
    const done = (more: object = {}) => ({ body: { kind: "done", team: "shop", name: "one", ...more } });
    let asked: string[];
    const wakes = (result: "forwarded" | "absent" | "invalid" | "leaderless") =>
      intakeOf(
        { events: [EVENT] },
        {
          client: new Proxy(cluster, { get: () => assert.fail("it needs nothing of the API server") }),
          wake: async ({ runner }, { namespace, name }) => {
            asked.push(`${runner} ${namespace}/${name}`);
            return result;
          },
        },
      );
    beforeEach(() => {
      asked = [];
    });

    const answers = [
      ["forwarded", "woken", []],
      ["absent", "absent", ["an event of done woke nothing: there is no Command shop/one"]],
      [
        "invalid",
        "refused",
        ["an event of done woke no object: the object is in no namespace of the operator"],
      ],
      [
        "leaderless",
        "postponed",
        [
          "event deploys-done-1 is postponed: no runner of the operator takes it at deploys-runner.argosy.svc",
        ],
      ],
    ] as const;
    for (const [answer, result, told] of answers) {
      it(`is ${result} if its runner's answer is ${answer}, counts that, and says once what is wrong`, async () => {
        intake = wakes(answer);
        for (let time = 1; time <= 3; time++) {
          assert.equal(await intake.take(EVENT.subject, done()), result);
          assert.equal(await counted(result), time);
        }
        assert.deepEqual(
          asked,
          Array.from({ length: 3 }, () => "deploys-runner.argosy.svc shop/one"),
        );
        assert.deepEqual(notices, told);
      });
    }

    it("asks no runner about an event that does not count or names no object, and names the field", async () => {
      intake = wakes("forwarded");
      assert.equal(await intake.take(EVENT.subject, done({ kind: "begun" })), "skipped");
      assert.equal(await intake.take(EVENT.subject, done({ name: "s3cret\n" })), "refused");
      assert.equal(
        await intake.refuse(EVENT.subject, { field: "the event", complaint: "is no JSON" }),
        "refused",
      );
      assert.deepEqual(asked, []);
      assert.deepEqual(notices, [
        "an event of done woke no object: body.name is not the name of an object",
        "an event of done woke no object: the event is no JSON",
      ]);
    });

    it("writes fewer lines than events for a flood of names that no object has", async () => {
      intake = wakes("absent");
      for (let at = 0; at < 1_000; at++) await intake.take(EVENT.subject, done({ name: `invented-${at}` }));
      assert.equal(await counted("absent"), 1_000);
      assert.ok(notices.length < 250, `${notices.length}`);
    });
  });

  describe("over HTTP", () => {
    let listener: HttpListener;
    let token: () => string;
    beforeEach(async () => {
      token = () => "t0ken";
      listener = await startIntakeServer({ host: "127.0.0.1", port: 0, intake, token: () => token() });
    });
    afterEach(() => listener.close());

    const post = (
      body: string,
      { path = "/events", method = "POST", headers = {} as Record<string, string> } = {},
    ) =>
      new Promise<{ code: number; text: string }>((resolve, reject) => {
        const all = { [TOKEN_HEADER]: "t0ken", [SUBJECT_HEADER]: SUBJECT, ...headers };
        const request = open(
          { port: listener.port, host: "127.0.0.1", path, method, headers: all },
          (response) => {
            let text = "";
            response.on("data", (chunk) => {
              text += chunk;
            });
            response.on("end", () => resolve({ code: response.statusCode ?? 0, text }));
          },
        );
        request.on("error", reject);
        request.end(body);
      });
    const sent = (data: unknown) => JSON.stringify({ data });

    it("answers 204 for what is done with, 503 for what is not, and never with a body", async () => {
      assert.deepStrictEqual(await post(sent(eventOf({}))), { code: 204, text: "" });
      assert.deepStrictEqual(await post(sent(eventOf({ id: null }))), { code: 204, text: "" });
      assert.deepStrictEqual(await post(sent(eventOf({ kind: "other" }))), { code: 204, text: "" });
      cluster.failures.push({ verb: "create", plural: "commands", error: refusal(503) });
      assert.deepStrictEqual(await post(sent(eventOf({ id: 5 }))), { code: 503, text: "" });
      assert.equal(cluster.of("commands").length, 1);
      assert.equal(cluster.notes.length, 1);
    });

    it("takes nothing without the token, and another token without a restart", async () => {
      for (const wrong of ["", "T0ken", "t0ken2", "Bearer t0ken"]) {
        assert.equal((await post(sent(eventOf({})), { headers: { [TOKEN_HEADER]: wrong } })).code, 401);
      }
      token = () => "new";
      assert.equal((await post(sent(eventOf({})))).code, 401);
      assert.equal((await post(sent(eventOf({})), { headers: { [TOKEN_HEADER]: "new" } })).code, 204);
      token = () => "";
      assert.equal((await post(sent(eventOf({})), { headers: { [TOKEN_HEADER]: "" } })).code, 401);
      token = () => {
        throw new Error("ENOENT");
      };
      assert.equal((await post(sent(eventOf({})))).code, 401);
      assert.equal(cluster.of("commands").length, 1);
    });

    describe("while creations hang", () => {
      let begun: () => number;
      let release: () => void;
      const send = (name: string, id: number) =>
        post(sent(eventOf({ id })), { headers: { [SUBJECT_HEADER]: name } });

      /** Begins an intake of the names a to i, of which some hang until they are released. */
      const begin = async (hanging: string) => {
        const begins: string[] = [];
        const end = new Promise<void>((resolve) => {
          release = resolve;
        });
        begun = () => begins.length;
        const create: FakeCluster["create"] = async (resource, manifest, options) => {
          const name = manifest.metadata.labels?.[EVENT_LABEL] ?? "";
          if (hanging.includes(name)) {
            begins.push(name);
            await end;
          }
          return cluster.create(resource, manifest, options);
        };
        const events = [..."abcdefghi"].flatMap((name) =>
          EVENTS.map((event) => ({ ...event, subject: name, name })),
        );
        intake = intakeOf({ events }, { client: { ...cluster, create } });
        await listener.close();
        listener = await startIntakeServer({ host: "127.0.0.1", port: 0, intake, token: () => token() });
      };

      it("takes the events of other names, and of one name only one at a time", async () => {
        await begin("a");
        const first = send("a", 1);
        await soon(() => assert.equal(begun(), 1));
        const others = Array.from({ length: 7 }, (_, index) => send("a", index));
        assert.equal((await send("b", 1)).code, 204);
        assert.deepStrictEqual(new Set((await Promise.all(others)).map(({ code }) => code)), new Set([503]));
        assert.equal(await counted("postponed"), 7);
        assert.deepStrictEqual(notices, [
          "event a is postponed: an earlier event of this name is still being handled",
        ]);
        release();
        assert.equal((await first).code, 204);
        assert.equal((await send("a", 2)).code, 204);
      });

      it("has no more than eight events in memory", async () => {
        await begin("abcdefgh");
        const eight = [..."abcdefgh"].map((name) => send(name, 1));
        await soon(() => assert.equal(begun(), 8));
        assert.equal((await send("i", 1)).code, 503);
        assert.deepStrictEqual(notices, ["event i is postponed: events of 8 other names are being handled"]);
        release();
        for (const each of eight) assert.equal((await each).code, 204);
        assert.equal((await send("i", 1)).code, 204);
      });
    });

    it("warns of what is too large, is no JSON or is no event", async () => {
      const large = sent(eventOf({ text: "x".repeat(2 * MOST_EVENT_BYTES) }));
      for (const body of [large, "{", '"text"', ""]) assert.equal((await post(body)).code, 204);
      assert.deepStrictEqual(cluster.of("commands"), []);
      assert.deepStrictEqual(
        cluster.notes.map((note) => note.replace(/.*: /, "")),
        [
          `the event has more than ${MOST_EVENT_BYTES} bytes`,
          "the event is no JSON",
          "the event is not what a sensor sends",
        ],
      );
    });

    it("knows one path and one method", async () => {
      assert.equal((await post("", { path: "/" })).code, 404);
      assert.equal((await post("", { method: "PUT" })).code, 405);
    });
  });
});

describe("parseIntakeFile", () => {
  it("reads what the manifests give, and nothing else", () => {
    assert.deepStrictEqual(parseIntakeFile(JSON.stringify(FILE)), FILE);
    for (const text of ["{", "[]", "{}", '{"installation":"a"}']) assert.throws(() => parseIntakeFile(text));
  });
});

describe("isExpired", () => {
  const day = 86_400;
  const operator = { ...OPERATOR, eventTtls: { command: day } };
  const object = (metadata: object = {}, status: object = {}): KubernetesObject => ({
    apiVersion: "shop.example.com/v1",
    kind: "Command",
    metadata: {
      name: "command-0123456789abcdef0123",
      uid: "u",
      resourceVersion: "1",
      generation: 2,
      creationTimestamp: "2025-12-31T23:59:59Z",
      labels: { [EVENT_LABEL]: "command" },
      managedFields: [{ manager: intakeManagerOf(OPERATOR), operation: "Update" }],
      ...metadata,
    },
    status: { observedGeneration: 2, conditions: [ready("True")], ...status },
  });
  const ready = (status: string) => ({
    type: "Ready",
    status,
    reason: "Ready",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  const end = Date.parse("2026-01-02T00:00:00Z");

  it("is when an object has been ready for so long, and not before", () => {
    assert.equal(isExpired(object(), operator, end), true);
    assert.equal(isExpired(object(), operator, end - 1), false);
  });

  it("is not earlier if the clock of the runner that reported Ready was behind", () => {
    const young = object({ creationTimestamp: "2026-01-01T01:00:00Z" });
    assert.equal(isExpired(young, operator, end), false);
    assert.equal(isExpired(young, operator, end + 3_600_000), true);
  });

  it("is for an object that the operator's intake made under another name of the operator", () => {
    const former = intakeManagerOf({ installation: "argosy", name: "releases" });
    const made = object({ managedFields: [{ manager: former, operation: "Update" }] });
    assert.equal(isExpired(made, operator, end), true);
    assert.equal(isExpired(made, { ...operator, formerNames: [] }, end), false);
  });

  for (const [what, other, by] of [
    ["that is not ready", object({}, { conditions: [ready("False")] }), operator],
    ["whose newest generation is not observed", object({ generation: 3 }), operator],
    ["without a status", { ...object(), status: undefined } as KubernetesObject, operator],
    ["that is being deleted", object({ deletionTimestamp: "2026-01-01T00:00:00Z" }), operator],
    ["that a user copied", object({ managedFields: [{ manager: "kubectl" }] }), operator],
    ["with another name", object({ name: "mine" }), operator],
    ["of no event", object({ labels: {} }), operator],
    ["of an event that no object has", object({ labels: { [EVENT_LABEL]: "constructor" } }), operator],
    ["of an event that keeps its objects", object(), OPERATOR],
    ["of another operator", object(), { ...operator, name: "other" }],
  ] as const) {
    it(`is never for an object ${what}`, () => assert.equal(isExpired(other, by, end + 1e12), false));
  }
});
