import fc from "fast-check";
import type { Json, JsonObject } from "../../../runtime/base/objects";
import { isJsonObject } from "../../../runtime/base/objects";

/** Texts of every kind that a schema may take or refuse. */
const TEXTS = [
  ...["", "a", "ab", "abc", "A", "a-b", "x y", "1", "12", "\u00e9", "\u{1f600}", "a\nb", "a\u2028b"],
  ...[
    "2024-02-29",
    "2023-02-29",
    "2024-02-29T10:00:00Z",
    "2024-02-29T24:00:00Z",
    "2024-02-29t10:00:00.5+02:00",
  ],
  ...["1.2.3.4", "01.2.3.4", "256.1.1.1", "::1", "::ffff:1.2.3.4", "fe80::1%a", "10.0.0.0/8", "::/129"],
  ...["YQ==", "YQ=", "6f1c2b58-7a0e-4d7c-9b2d-0f1e2d3c4b5a", "6f1c2b587a0e4d7c9b2d0f1e2d3c4b5a"],
];
const PATTERNS = [
  "^[a-z]+$",
  "b",
  "^a.b$",
  "\\s",
  "^\\w*$",
  "^(a|ab)(c|)$",
  "\\d{2}",
  "^\\p{L}+$",
  "[^a]",
  "^$",
];
const FORMATS = [
  "date",
  "date-time",
  "byte",
  "ipv4",
  "ipv6",
  "cidr",
  "uuid",
  "password",
  "int32",
  "unheard-of",
];
const NAMES = ["a", "b", "c"];

const sometimes = (part: JsonObject) => fc.constantFrom<JsonObject>({}, {}, {}, part);
const nullable = sometimes({ nullable: true });
const merged = (...parts: fc.Arbitrary<JsonObject>[]) =>
  fc.tuple(...parts).map((all): JsonObject => Object.assign({}, ...all) as JsonObject);

const length = fc.oneof(
  fc.constant({}),
  fc.nat(3).map((most): JsonObject => ({ maxLength: most })),
  fc.nat(3).map((least): JsonObject => ({ minLength: least })),
);
const pattern = fc.constantFrom(...PATTERNS).map((each): JsonObject => ({ pattern: each }));
const format = fc.constantFrom(...FORMATS).map((each): JsonObject => ({ format: each }));
const junction = fc
  .tuple(
    fc.constantFrom("anyOf", "allOf", "oneOf"),
    fc.array(fc.oneof(length, pattern), { minLength: 1, maxLength: 2 }),
  )
  .map(([word, parts]): JsonObject => ({ [word]: parts }));
const text = fc.oneof(
  merged(fc.constant({ type: "string" }), length, nullable),
  merged(fc.constant({ type: "string" }), pattern),
  merged(fc.constant({ type: "string" }), format),
  merged(fc.constant({ type: "string" }), junction),
  fc.constant<JsonObject>({ type: "string", default: "d" }),
  fc.constant<JsonObject>({ type: "string", nullable: true, default: "d" }),
  merged(fc.constant<JsonObject>({ type: "string", enum: ["a", "ab"] }), nullable),
  fc.constant<JsonObject>({ type: "string", not: { enum: ["a"] } }),
);
const number = fc.oneof(
  merged(
    fc.constantFrom({ type: "integer" }, { type: "number" }, { type: "integer", format: "int32" }),
    fc.constantFrom<JsonObject>(
      {},
      { minimum: 1 },
      { maximum: 2, exclusiveMaximum: true },
      { multipleOf: 2 },
      { default: 7 },
    ),
    nullable,
  ),
  // With type: number, the API server also takes 2.5 for the 2 of an enum.
  fc.constant<JsonObject>({ type: "integer", enum: [1, 2] }),
);
const scalar = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: number },
  fc.constant<JsonObject>({ type: "boolean" }),
  merged(fc.constant({ "x-kubernetes-int-or-string": true }), nullable),
  merged(fc.constant({ "x-kubernetes-preserve-unknown-fields": true }), nullable),
);

const KEPT: JsonObject = { "x-kubernetes-preserve-unknown-fields": true };

/** A small structural schema, as a CRD may have it. */
export const anySchema: fc.Arbitrary<JsonObject> = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 3, arbitrary: scalar },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.dictionary(fc.constantFrom(...NAMES), tie("schema"), { minKeys: 1, maxKeys: 3 }),
          fc.subarray(NAMES),
          sometimes(KEPT),
          nullable,
        )
        .map(([properties, required, kept, more]): JsonObject => {
          const known = required.filter((name) => Object.hasOwn(properties, name));
          return { type: "object", properties, ...(known[0] && { required: known }), ...kept, ...more };
        }),
    },
    tie("schema").map((values): JsonObject => ({ type: "object", additionalProperties: values })),
    fc
      .tuple(tie("schema"), sometimes({ maxItems: 1 }))
      .map(([items, more]): JsonObject => ({ type: "array", items, ...more })),
    fc.constant<JsonObject>({
      type: "array",
      items: { type: "string" },
      "x-kubernetes-list-type": "set",
    }),
    fc.constant<JsonObject>({
      type: "array",
      items: {
        type: "object",
        required: ["a"],
        properties: { a: { type: "string" }, b: { type: "integer" } },
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["a"],
    }),
    fc.tuple(tie("schema"), fc.constantFrom<JsonObject>({}, { default: "Pod" }, { enum: ["Pod"] })).map(
      ([spec, kind]): JsonObject => ({
        type: "object",
        "x-kubernetes-embedded-resource": true,
        properties: {
          spec,
          kind: { type: "string", ...kind },
          metadata: { type: "object", properties: { name: { type: "string", maxLength: 2 } } },
        },
      }),
    ),
  ),
})).schema;

const noise: fc.Arbitrary<Json> = fc.oneof(
  fc.constant(null),
  fc.constantFrom<Json>("a", 1, 1.5, true, [], {}, [null], { a: null }, { d: 1 }),
);

/** A value that may fit a schema, with nulls and mistakes here and there. */
export function anyValue(schema: JsonObject, depth = 0): fc.Arbitrary<Json> {
  const fitting = valueThatFits(schema, depth);
  // The API server takes a list for each text with a format (kube-openapi, pkg/validation/validate/type.go).
  const wrong = schema.format === undefined ? noise : noise.filter((value) => !Array.isArray(value));
  return fc.oneof({ weight: 12, arbitrary: fitting }, { weight: 2, arbitrary: fc.constant(null) }, wrong);
}

function valueThatFits(schema: JsonObject, depth: number): fc.Arbitrary<Json> {
  const { type, properties, items, additionalProperties } = schema;
  const inner = (each: Json | undefined) => anyValue(isJsonObject(each) ? each : {}, depth + 1);
  if (schema["x-kubernetes-embedded-resource"] === true) {
    const { spec } = properties as JsonObject;
    const metadata = fc.constantFrom<Json>(
      {},
      { name: "a" },
      { name: "abc" },
      { labels: { a: "b" } },
      { labels: { a: 1 } },
      { labels: null },
    );
    return fc.record<JsonObject>(
      {
        apiVersion: fc.constantFrom<Json>("v1", "v1", "v1", ""),
        kind: fc.constantFrom<Json>("Pod", "Pod", "Job"),
        metadata,
        spec: inner(spec),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Json>;
  }
  if (isJsonObject(properties)) {
    const fields = Object.entries(properties).map(([name, each]) => [name, inner(each)] as const);
    return fc.record(Object.fromEntries(fields), { requiredKeys: [] }) as fc.Arbitrary<Json>;
  }
  if (type === "array") return fc.array(inner(items), { maxLength: 3 }) as fc.Arbitrary<Json>;
  if (additionalProperties !== undefined)
    return fc.dictionary(fc.constantFrom(...NAMES), inner(additionalProperties), {
      maxKeys: 2,
      noNullPrototype: true,
    }) as fc.Arbitrary<Json>;
  if (type === "string") return fc.constantFrom<Json>(...TEXTS);
  if (type === "integer") return fc.constantFrom<Json>(0, 1, 2, 3, 4, -1, 1.5, 2147483648);
  if (type === "number") return fc.constantFrom<Json>(0, 1, 2, 2.5, -1);
  if (type === "boolean") return fc.boolean();
  return noise;
}
