import assert from "node:assert/strict";
import fc from "fast-check";
import { readJson, writeJson } from "../../runtime/base/json";
import type { JsonObject } from "../../runtime/base/objects";
import {
  type EventMapping,
  type EventObject,
  eventMapper,
  MOST_SPEC_BYTES,
  type Refusal,
  stepsOf,
  valueAt,
  type WakeMapping,
} from "../../runtime/operator/mapEvent";

const MAPPING: EventMapping = {
  name: "deploy-command",
  type: "github",
  id: ["body.comment.id", "body.action"],
  when: { "body.action": ["created", "edited"], "body.X-GitHub-Event": "issue_comment" },
  namespace: "deploys",
  spec: { repository: "body.repository.full_name", text: "body.comment.body", source: "'GitHub'" },
};
const EVENT = {
  headers: { "X-Github-Event": ["issue_comment"] },
  body: {
    "X-GitHub-Event": "issue_comment",
    action: "created",
    comment: { id: 7, body: "/deploy stage" },
    repository: { full_name: "octo-org/shop" },
  },
};

function map(data: unknown, changes: Partial<EventMapping> = {}, schema?: JsonObject) {
  return eventMapper({ ...MAPPING, ...changes }, schema)(data);
}

function objectOf(...args: Parameters<typeof map>): EventObject {
  const mapped = map(...args);
  assert.equal(mapped.kind, "object", JSON.stringify(mapped));
  return (mapped as { object: EventObject }).object;
}

function refusalOf(...args: Parameters<typeof map>): Refusal {
  const mapped = map(...args);
  assert.equal(mapped.kind, "refused", JSON.stringify(mapped));
  return (mapped as { refusal: Refusal }).refusal;
}

describe("stepsOf", () => {
  it("reads fields, places in lists, and fields with any name", () => {
    assert.deepStrictEqual(stepsOf('header.X-Event-Id[0].a["b.c"].d'), [
      "header",
      "X-Event-Id",
      0,
      "a",
      "b.c",
      "d",
    ]);
    assert.deepStrictEqual(stepsOf('["a \\"b\\""].c'), ['a "b"', "c"]);
  });

  for (const path of [
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "a b",
    "[0]",
    "a[-1]",
    "a[x]",
    "a[0]b",
    "a[",
    "{{a}}",
    "a.0",
  ]) {
    it(`refuses ${JSON.stringify(path)}`, () => assert.equal(stepsOf(path), undefined));
  }

  it("finds in any value what is at any path of it", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 8 }), fc.jsonValue(), (keys, leaf) => {
        const value = keys.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), leaf);
        const path = keys.map((key) => `["${key.replace(/[\\"]/g, "\\$&")}"]`).join("");
        assert.deepStrictEqual(valueAt(value, path), leaf ?? undefined);
      }),
    );
  });

  it("finds nothing that is not the value's own", () => {
    for (const path of ["constructor", "__proto__.toString", "a.length", "toString"]) {
      assert.equal(valueAt({ a: "text" }, path), undefined);
    }
  });
});

describe("eventMapper", () => {
  it("makes an object of an event", () => {
    const { name, ...object } = objectOf(EVENT);
    assert.match(name, /^deploy-command-[0-9a-f]{20}$/);
    assert.deepStrictEqual(object, {
      namespace: "deploys",
      spec: { repository: "octo-org/shop", text: "/deploy stage", source: "GitHub" },
      id: ["7", "created"],
    });
  });

  it("gives the same name for the same id whatever else differs, and another for any other id", () => {
    const id = fc.array(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 2, maxLength: 2 });
    const nameFor = ([a, b]: string[], text = "x") =>
      objectOf({ a, b, text }, { id: ["a", "b"], when: {}, spec: { text: "text" } }).name;
    fc.assert(
      fc.property(id, id, fc.string({ minLength: 1 }), (one, other, text) => {
        assert.equal(nameFor(one) === nameFor(other), JSON.stringify(one) === JSON.stringify(other));
        assert.equal(nameFor(one), nameFor(one, text));
      }),
    );
    // Two fields are not one with a separator.
    assert.notEqual(nameFor(["a/b", "c"]), nameFor(["a", "b/c"]));
  });

  it("tells events of other sources and of other names apart", () => {
    const names = [{}, { type: "webhook" }, { name: "deploy" }].map(
      (changes) => objectOf(EVENT, changes).name,
    );
    assert.equal(new Set(names.map((name) => name.slice(-20))).size, 3);
  });

  it("keeps integers of 64 bits apart", () => {
    const nameOf = (id: string) => {
      const event = readJson(`{"id": ${id}}`);
      return objectOf(event, { id: ["id"], when: {}, spec: { id: "id" } });
    };
    const [one, other] = [nameOf("9223372036854775806"), nameOf("9223372036854775807")];
    assert.notEqual(one.name, other.name);
    assert.equal(writeJson(one.spec), '{"id":9223372036854775806}');
  });

  it("skips what does not meet `when`, even if a field is missing", () => {
    const ping = { body: { zen: "Keep it logically awesome." } };
    for (const event of [ping, { body: { ...EVENT.body, action: "deleted" } }, null, [], "text"]) {
      assert.deepStrictEqual(map(event), { kind: "skipped" });
    }
  });

  it("compares numbers and booleans with what a form or a header says as text", () => {
    const when = { draft: false, number: 3 };
    const rest = { id: ["number"], spec: { n: "number" } };
    assert.equal(map({ draft: "false", number: "3" }, { ...rest, when }).kind, "object");
    assert.equal(map({ draft: false, number: 3 }, { ...rest, when }).kind, "object");
    assert.equal(map({ draft: true, number: 3 }, { ...rest, when }).kind, "skipped");
  });

  for (const [what, id] of [
    ["no id", undefined],
    ["null", null],
    ["an empty text", ""],
    ["an object", {}],
    ["a list", [1]],
    ["a long text", "x".repeat(513)],
  ] as const) {
    it(`refuses an event with ${what} where its id should be`, () => {
      const {
        field,
        complaint,
        id: known,
      } = refusalOf({ id, text: "secret" }, { id: ["id"], when: {}, spec: {} });
      assert.equal(field, "id");
      assert.match(complaint, /part of the id$/);
      assert.equal(known, undefined);
    });
  }

  it("refuses an event without a field that the object is made of, and names both and the id", () => {
    const { comment: _, ...body } = EVENT.body;
    const event = { body: { ...body, comment: { id: 7 } } };
    assert.deepStrictEqual(refusalOf(event), {
      field: "body.comment.body",
      complaint: "is missing, and spec.text comes from it",
      id: ["7", "created"],
    });
  });

  it("leaves out a field that may be missing", () => {
    const spec = {
      text: "body.comment.body?",
      list: ["body.none?", "body.action"],
      deep: { none: "body.none?" },
    };
    assert.deepStrictEqual(objectOf(EVENT, { spec }).spec, {
      text: "/deploy stage",
      list: ["created"],
      deep: {},
    });
  });

  it("takes a namespace of the event only if it is allowed", () => {
    const namespace = { from: "team", allowed: ["team-a", "team-b"] };
    const changes = { id: ["id"], when: {}, spec: {}, namespace };
    assert.equal(objectOf({ id: 1, team: "team-b" }, changes).namespace, "team-b");
    for (const team of ["kube-system", "team-a/x", undefined, ["team-a"], "TEAM-A"]) {
      assert.equal(refusalOf({ id: 1, team }, changes).field, "team");
    }
  });

  it("brings values to the types of the schema if nothing is lost", () => {
    const schema: JsonObject = {
      type: "object",
      properties: {
        count: { type: "integer" },
        share: { type: "number" },
        dry: { type: "boolean" },
        number: { type: "string" },
        port: { "x-kubernetes-int-or-string": true },
        user: { type: "object", properties: { login: { type: "string" }, id: { type: "integer" } } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        raw: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    };
    const spec = Object.fromEntries(Object.keys(schema["properties"] as JsonObject).map((key) => [key, key]));
    const event = {
      count: "3",
      share: "0.5",
      dry: "true",
      number: 4,
      port: "http",
      user: { login: "octocat", id: "5", email: "secret@example.com", name: null },
      labels: { a: 1, b: true },
      raw: { any: [1, { x: null }] },
    };
    assert.deepStrictEqual(objectOf(event, { id: ["count"], when: {}, spec }, schema).spec, {
      count: 3,
      share: 0.5,
      dry: true,
      number: "4",
      port: "http",
      user: { login: "octocat", id: 5 },
      labels: { a: "1", b: "true" },
      raw: { any: [1, { x: null }] },
    });
  });

  it("refuses what the schema does not take, and names the field and not the value", () => {
    const schema: JsonObject = {
      type: "object",
      required: ["stage"],
      properties: { stage: { type: "string", enum: ["test", "stage"] }, count: { type: "integer" } },
    };
    const changes = { id: ["id"], when: {}, spec: { stage: "stage?", count: "count?" } };
    for (const [event, field] of [
      [{ stage: "s3cret" }, "spec.stage"],
      [{ stage: "test", count: "s3cret" }, "spec.count"],
      [{ stage: "test", count: 1.5 }, "spec.count"],
      [{ count: 1 }, "spec"],
    ] as const) {
      const refusal = refusalOf({ id: 1, ...event }, changes, schema);
      assert.equal(refusal.field, field);
      assert.ok(!JSON.stringify(refusal).includes("s3cret"));
    }
  });

  it("takes the default of a required field", () => {
    const schema: JsonObject = { required: ["n"], properties: { n: { type: "integer", default: 3 } } };
    assert.deepStrictEqual(objectOf({ id: 1 }, { id: ["id"], when: {}, spec: {} }, schema).spec, {});
  });

  for (const sent of ["1e999", '"1e999"', "[1e999]"])
    it(`refuses ${sent}, which would become null, for the object and for the id`, () => {
      const size = { type: "object", properties: { size: sent.startsWith("[") ? {} : { type: "number" } } };
      const event = (id: string) => readJson(`{"id": ${id}, "size": ${sent}}`);
      const changes = { when: {}, id: ["id"], spec: { size: "size" } };
      assert.deepStrictEqual(refusalOf(event("7"), changes, size), {
        field: "spec",
        complaint: "contains a number that JSON cannot represent",
        id: ["7"],
      });
      assert.match(refusalOf(event("1e999"), changes, size).complaint, /^is neither a string nor a number/);
    });

  it("refuses an object that is too large", () => {
    const changes = { id: ["id"], when: {}, spec: { text: "text" } };
    const text = "ü".repeat(MOST_SPEC_BYTES / 2);
    assert.match(refusalOf({ id: 1, text }, changes).complaint, /more than 262144$/);
    assert.equal(map({ id: 1, text: text.slice(10) }, changes).kind, "object");
  });

  it("never throws, whatever an event is, and never makes a namespace or a field of its own", () => {
    const changes: Partial<EventMapping> = {
      id: ["a"],
      when: {},
      namespace: { from: "b", allowed: ["team-a"] },
      spec: { x: "a", y: { z: "c?" } },
    };
    const field = fc.oneof(fc.jsonValue(), fc.constant("team-a"));
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ a: field, b: field, c: field })), (event) => {
        const mapped = map(event, changes);
        if (mapped.kind !== "object") return;
        assert.equal(mapped.object.namespace, "team-a");
        assert.ok(["x,y", "x"].includes(Object.keys(mapped.object.spec).join()));
      }),
    );
  });

  it("does not take a text for a template or for a path", () => {
    const event = { id: 1, text: "{{=1+1}} {{body.other}} body.other 'quoted'", other: "secret" };
    const { spec } = objectOf(event, { id: ["id"], when: {}, spec: { text: "text" } });
    assert.deepStrictEqual(spec, { text: event.text });
  });
});

describe("an event that wakes an object", () => {
  const event = { body: { team: "team-a", name: "main", kind: "ready", n: 7 } };
  const wake = (wake: WakeMapping["wake"], data: unknown = event) =>
    eventMapper({ name: "done", type: "webhook", when: { "body.kind": "ready" }, wake }, undefined)(data);
  const named = (namespace: string | undefined, name: string) => ({
    kind: "wake",
    name: { ...(namespace !== undefined && { namespace }), name },
  });

  const names: readonly (readonly [what: string, wake: WakeMapping["wake"], name: object])[] = [
    ["of a constant namespace", { namespace: "shop", name: "body.name" }, named("shop", "main")],
    ["without a namespace", { name: "body.name" }, named(undefined, "main")],
    ["with a constant name", { namespace: "shop", name: "'main'" }, named("shop", "main")],
    ["with a number as its name", { namespace: "shop", name: "body.n" }, named("shop", "7")],
    ["of any namespace", { namespace: { from: "body.team" }, name: "body.name" }, named("team-a", "main")],
    [
      "of an allowed namespace",
      { namespace: { from: "body.team", allowed: ["team-a"] }, name: "body.name" },
      named("team-a", "main"),
    ],
  ];
  for (const [what, mapping, name] of names)
    it(`names one ${what}`, () => assert.deepEqual(wake(mapping), name));

  it("is skipped if it does not meet `when`", () => {
    assert.deepEqual(wake({ name: "body.name" }, { body: { name: "main" } }), { kind: "skipped" });
  });

  it("names an object that there could be, or none, and never puts its content into a refusal", () => {
    const fields = ["body.name", "body.team"];
    const text = fc.oneof(
      fc.jsonValue(),
      fc.string(),
      fc.constantFrom("../x", "A", "a/b", "a\nb", "x".repeat(254)),
    );
    fc.assert(
      fc.property(text, text, (name, team) => {
        const data = { body: { kind: "ready", name, team } };
        const mapped = wake({ namespace: { from: "body.team" }, name: "body.name" }, data);
        if (mapped.kind === "wake") {
          assert.match(
            `${mapped.name.namespace} ${mapped.name.name}`,
            /^[-.a-z0-9]{1,253} [-.a-z0-9]{1,253}$/,
          );
        } else {
          assert.ok(mapped.kind === "refused");
          assert.ok(fields.includes(mapped.refusal.field));
          assert.match(mapped.refusal.complaint, /^is (missing|not the name of an? (object|namespace)$)/);
        }
      }),
    );
  });
});
