import assert from "node:assert/strict";
import Ajv from "ajv";
import { regexOf } from "../../definition/patterns";
import { flawsOf, statusChecker } from "../../runtime/base/contentSchema";
import type { JsonObject } from "../../runtime/base/objects";

/** What is wrong with a status, or "none"; the schema is given by its properties. */
function problem(status: JsonObject, properties: JsonObject, more: JsonObject = {}): string {
  return statusChecker({ type: "object", properties, ...more })(status) ?? "none";
}

const unknown = (field: string) => `status.${field} is not in the CRD's schema`;

const REPLICAS = { replicas: { type: "integer", minimum: 0 } };

describe("statusChecker", () => {
  it("takes any status where the author gave no schema", () => {
    assert.equal(statusChecker(undefined)({ anything: [1, null] }), undefined);
  });

  it("takes what the schema knows, and names what it does not", () => {
    assert.equal(problem({ replicas: 1 }, REPLICAS), "none");
    assert.equal(problem({}, REPLICAS), "none");
    assert.equal(problem({ replica: 1 }, REPLICAS), unknown("replica"));
    assert.equal(problem({ replicas: "1" }, REPLICAS), "status.replicas must be integer");
    assert.equal(problem({ replicas: -1 }, REPLICAS), "status.replicas must be >= 0");
  });

  it("looks into objects, lists and maps", () => {
    const inner = { type: "object", properties: REPLICAS };
    const properties = {
      one: inner,
      many: { type: "array", items: inner },
      named: { type: "object", additionalProperties: inner },
    };
    const good = { replicas: 1 };
    assert.equal(problem({ one: good, many: [good, good], named: { a: good } }, properties), "none");
    const bad = { replicas: 1, ready: 1 };
    assert.equal(problem({ one: bad }, properties), unknown("one.ready"));
    assert.equal(problem({ many: [good, bad] }, properties), unknown("many.1.ready"));
    assert.equal(problem({ named: { a: bad } }, properties), unknown("named.a.ready"));
  });

  it("takes no field where the schema names none: the API server would drop each", () => {
    const bare = { type: "object" };
    assert.equal(statusChecker(bare)({ url: "x" }), unknown("url"));
    assert.equal(statusChecker(bare)({}), undefined);
    assert.equal(problem({ info: { a: 1 } }, { info: bare }), unknown("info.a"));
    const open = { ...bare, additionalProperties: true };
    assert.equal(problem({ info: { a: 1 } }, { info: open }), "none");
  });

  it("takes any field where unknown ones are preserved, and still checks those it knows", () => {
    const open = { "x-kubernetes-preserve-unknown-fields": true };
    assert.equal(problem({ any: 1 }, REPLICAS, open), "none");
    assert.equal(problem({ replicas: "1" }, REPLICAS, open), "status.replicas must be integer");
    assert.equal(problem({ any: { thing: [1] } }, { any: open }), "none");
  });

  it("takes a number or a text for int-or-string", () => {
    const port = { port: { "x-kubernetes-int-or-string": true } };
    assert.equal(problem({ port: 80 }, port), "none");
    assert.equal(problem({ port: "http" }, port), "none");
    assert.equal(problem({ port: true }, port), "status.port must be integer or string");
  });

  it("takes null only where the schema is nullable", () => {
    const nullable = { at: { type: "string", nullable: true } };
    assert.equal(problem({ at: null }, nullable), "none");
    assert.equal(
      problem({ at: null }, { at: { nullable: true, "x-kubernetes-preserve-unknown-fields": true } }),
      "none",
    );
    // The API server takes it for a missing field. No entry of a list can be missing.
    const text = { type: "string" };
    assert.equal(problem({ at: null }, { at: text }), "none");
    assert.match(problem({ at: null }, { at: text }, { required: ["at"] }), /must have required property/);
    const list = { list: { type: "array", items: text } };
    assert.equal(problem({ list: [null] }, list), "status.list.0 must be string");
  });

  it("takes only what an enum names", () => {
    const phase = { phase: { type: "string", enum: ["Up", "Down"] } };
    assert.equal(problem({ phase: "Up" }, phase), "none");
    assert.equal(problem({ phase: "Away" }, phase), 'status.phase must be "Up" or "Down"');
  });

  it("leaves Argosy's own fields alone, whatever the schema says of them", () => {
    const status = { observedGeneration: "x", conditions: [{ type: "Mine" }], replicas: 1 };
    assert.equal(problem(status, REPLICAS), "none");
    assert.equal(problem({ replicas: 1 }, REPLICAS, { required: ["conditions"] }), "none");
    assert.match(problem({}, REPLICAS, { required: ["conditions", "replicas"] }), /'replicas'/);
  });

  it("tells every problem that it finds first, in one sentence", () => {
    assert.match(problem({ replicas: "x", y: 1 }, REPLICAS), /^status\.[^;]+$/);
  });

  it("takes every keyword as a CRD has it, where it differs from JSON Schema's", () => {
    const exclusive = {
      type: "integer",
      minimum: 0,
      exclusiveMinimum: true,
      maximum: 9,
      exclusiveMaximum: false,
    };
    assert.equal(problem({ n: 9 }, { n: exclusive }), "none");
    assert.match(problem({ n: 0 }, { n: exclusive }), /status\.n must be > 0/);
    // RE2 knows more than JavaScript, and the API server checks it anyway.
    assert.equal(problem({ at: "x" }, { at: { type: "string", pattern: "(?i)^\\Ax\\-y\\z" } }), "none");
    assert.equal(
      problem({ at: "x" }, { at: { type: "string", format: "date-time" } }),
      'status.at must match format "date-time"',
    );
    assert.equal(problem({ at: "x" }, { at: { type: "string", format: "email" } }), "none");
    const set = { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" };
    assert.match(problem({ set: ["a", "a"] }, { set }), /^status\.set must NOT have duplicate items/);
    const keyed = { properties: { name: { type: "string" } }, type: "object" };
    const map = {
      type: "array",
      items: keyed,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    };
    assert.equal(problem({ map: [{ name: "a" }, { name: "b" }] }, { map }), "none");
    assert.equal(
      problem({ map: [{ name: "a" }, { name: "a" }] }, { map }),
      "status.map must NOT have two entries with the same keys",
    );
  });

  it("checks patterns only where it is asked for, because one may keep JavaScript busy for ever", () => {
    const endless = { at: { type: "string", pattern: "^(a+)+$" } };
    const at = `${"a".repeat(60)}b`;
    assert.equal(problem({ at }, endless), "none");
    const checked = (pattern: string, text: string) =>
      statusChecker(
        { type: "object", properties: { at: { type: "string", pattern } } },
        regexOf,
      )({
        at: text,
      });
    assert.match(checked("^[a-z]+$", "A") ?? "", /^status\.at must match pattern/);
    assert.equal(checked("b", "abc"), undefined);
    // Of these, only the API server knows what they mean.
    assert.equal(checked("(?i)^a$", "b"), undefined);
    assert.equal(checked("[\\S]", " "), undefined);
    // RE2 knows other line ends and other blanks.
    assert.equal(checked("^.[.]\\S$", "\u2028.\u2028"), undefined);
    assert.match(checked("\\s|[a\\s]", "\u2028") ?? "", /pattern/);
    assert.match(checked("^.$", "\n") ?? "", /pattern/);
  });

  it("takes the own fields of an embedded object, which its schema need not mention, and no others", () => {
    const spec = { type: "object", properties: { size: { type: "integer" } } };
    const embedded = { "x-kubernetes-embedded-resource": true };
    const last = { last: { type: "object", ...embedded, properties: { spec } } };
    const object = {
      apiVersion: "example.com/v1",
      kind: "Backup",
      metadata: { name: "a", labels: { b: "c" } },
    };
    assert.equal(problem({ last: { ...object, spec: { size: 1 } } }, last), "none");
    assert.equal(problem({ last: { ...object, kind: 1 } }, last), "status.last.kind must be string");
    assert.match(problem({ last: { kind: "Backup" } }, last), /required property 'apiVersion'/);
    assert.equal(problem({ last: { ...object, data: {} } }, last), unknown("last.data"));
    const kind = { type: "string", enum: ["Backup"], default: "Backup" };
    const name = { type: "string", maxLength: 3 };
    const metadata = { type: "object", properties: { name } };
    const named = { last: { ...last.last, properties: { kind, metadata } } };
    const { kind: _, ...bare } = object;
    assert.equal(problem({ last: bare }, named), "none");
    assert.match(problem({ last: { ...object, kind: "Restore" } }, named), /^status\.last\.kind must be/);
    assert.match(
      problem({ last: { ...bare, metadata: { name: "abcd", labels: {} } } }, named),
      /^status\.last\.metadata\.name must NOT have more than 3/,
    );
    const open = { last: { type: "object", ...embedded, "x-kubernetes-preserve-unknown-fields": true } };
    assert.equal(problem({ last: { ...object, data: {} } }, open), "none");
  });

  it("takes a missing field that is required and has a default, which the API server fills in first", () => {
    const properties = { name: { type: "string" }, phase: { type: "string", default: "New" } };
    const nodes = {
      nodes: { type: "array", items: { type: "object", required: ["name", "phase"], properties } },
    };
    const status = { nodes: [{ name: "a" }] };
    assert.equal(problem(status, nodes), "none");
    assert.deepEqual(status, { nodes: [{ name: "a" }] });
    assert.match(problem({ nodes: [{}] }, nodes), /'name'/);
  });

  it("checks what allOf, anyOf, oneOf and not restrict, without closing the fields there", () => {
    const replicas = { type: "integer" };
    const more = { anyOf: [{ properties: { replicas: { minimum: 0, exclusiveMinimum: true } } }] };
    assert.equal(problem({ replicas: 1, ready: 2 }, { replicas, ready: replicas }, more), "none");
    assert.match(problem({ replicas: 0 }, { replicas }, more), /status\.replicas must be > 0/);
  });

  it("leaves to the API server what oneOf and not say by patterns and formats, and checks the rest of them", () => {
    const address = { oneOf: [{ format: "hostname" }, { format: "uri" }] };
    const deep = { not: { properties: { name: { pattern: "^kube-" } } } };
    const host = { type: "string" };
    for (const schema of [
      { ...host, ...address },
      { ...host, not: { pattern: "^kube-" } },
      { ...host, allOf: [{ not: { anyOf: [{ format: "hostname" }, { maxLength: 2 }] } }] },
      { type: "object", properties: { name: host }, ...deep },
    ])
      assert.equal(
        problem({ a: schema.type === "object" ? { name: "x" } : "1.2.3.4" }, { a: schema }),
        "none",
      );
    const size = { type: "integer", oneOf: [{ maximum: 5 }, { minimum: 3 }] };
    assert.equal(problem({ size: 2 }, { size }), "none");
    assert.match(problem({ size: 4 }, { size }), /status\.size must match exactly one schema in oneOf/);
    const some = {
      ...host,
      oneOf: [{ maxLength: 2 }, { minLength: 4, format: "hostname" }],
      anyOf: [{ minLength: 2 }],
    };
    assert.equal(problem({ some: "ab" }, { some }), "none");
    assert.match(problem({ some: "abc" }, { some }), /status\.some must NOT have/);
    assert.match(problem({ some: "a" }, { some }), /status\.some must NOT have/);
    assert.match(problem({ b: "ab" }, { b: { ...host, not: { maxLength: 2 } } }), /must NOT be valid/);
  });

  it("does not take what every object of JavaScript inherits for a field", () => {
    const text = { type: "string" };
    const properties = { constructor: text, valueOf: text, toString: text };
    assert.equal(problem({}, properties), "none");
    assert.equal(
      problem({ constructor: 1 } as unknown as JsonObject, properties),
      "status.constructor must be string",
    );
    assert.match(problem({ a: {} }, { a: { type: "object", required: ["valueOf"] } }), /valueOf/);
  });

  it("does not take a field for a keyword that bears its name", () => {
    const properties = {
      properties: { type: "string" },
      pattern: { type: "string" },
      items: { type: "integer" },
    };
    assert.equal(problem({ properties: "a", pattern: "b", items: 1 }, properties), "none");
    assert.match(problem({ items: "b" }, properties), /status\.items must be integer/);
  });
});

describe("a compiled schema", () => {
  const schema = { type: "object", properties: { size: { type: "integer", default: 3 } } };

  it("is compiled once, and leaves the value without its defaults", () => {
    const own: JsonObject = { ...schema, required: ["size", "conditions"] };
    const value = {};
    const compile = Ajv.prototype.compile;
    let times = 0;
    Ajv.prototype.compile = function (this: Ajv, ...given: Parameters<typeof compile>) {
      times += 1;
      return compile.apply(this, given);
    } as typeof compile;
    try {
      for (let time = 0; time < 3; time++) {
        assert.deepEqual(flawsOf(value, schema), []);
        assert.equal(statusChecker(own)(value), undefined);
      }
    } finally {
      Ajv.prototype.compile = compile;
    }
    assert.equal(times, 2);
    assert.deepEqual(value, {});
  });

  it("is an error each time if it is no schema", () => {
    const wrong = { type: "nothing" };
    for (let time = 0; time < 2; time++) assert.throws(() => flawsOf({}, wrong), /schema is invalid/);
  });
});
