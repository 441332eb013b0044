import fc from "fast-check";
import type { Json, JsonObject } from "../../../runtime/base/objects";
import { anyCharacter } from "./anyCharacter";

/** Texts by which an attacker would have a text be more than text. */
export const HOSTILE_TEXTS: readonly string[] = [
  "",
  " ",
  // Argo's two kinds of expressions, Go's templates, and what a Sensor would do with them.
  "{{workflow.parameters.name}}",
  "{{=sprig.env('HOME')}}",
  "{{= 1 + 1 }}",
  '{{ .Input | toJson }}{{ env "PATH" }}',
  '{{"{{"}}',
  // Shells, and the kubelet's expansion.
  "$(touch /tmp/pwned)",
  "`id`",
  "; rm -rf / #",
  "$(ARGOSY_NAMESPACE)",
  "'\"\\",
  "-rf",
  "--",
  // Lua and YAML.
  "]] os.execute('id') --[[",
  "!!js/function 'x'",
  "&a [*a]",
  "a: b\n---\nkind: Secret",
  // Paths.
  ".",
  "..",
  "../../api/v1/secrets",
  "/etc/passwd",
  "%2f",
  "%2e%2e%2f",
  "..%2f..",
  "a/b",
  "a\\b",
  "a?b=c",
  "a#b",
  // Terminals, logs and eyes.
  "\u001b[2J\u001b[31mred",
  "\u001b]0;title\u0007",
  "\u009b31m",
  "\u0000",
  "\u0007\b\r",
  'line\n{"level":"error","message":"forged"}',
  "a\r\nb",
  "\u2028\u2029",
  "\u202egnp.exe",
  "\u2066x\u2069",
  "\ufeff",
  "\ud800",
  "\udc00x",
  "🚢".repeat(10),
  "x".repeat(300),
  "a".repeat(5_000),
  // Names that objects of JavaScript have by themselves.
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  // Ours.
  "argosy.dev/adopt",
  "argosy.dev/owner-uid",
  "argosy.dev/child-of",
  "widget-uid",
  "argosy/argosy.shop",
];

/** Keys that mean something to a reader of an answer, an object or a definition. */
const KEYS: readonly string[] = [
  ..."id children status finalized requeueAfterSeconds error message permanent retryAfterSeconds".split(" "),
  ..."apiVersion kind metadata spec data name namespace uid labels annotations ownerReferences".split(" "),
  ..."finalizers managedFields generation deletionTimestamp conditions type reason observedGeneration".split(
    " ",
  ),
  ..."crd handler image command update plural execution concurrency env rules tasks nodes plugin".split(" "),
];

/** Any text, and oftener than by chance one that is meant badly. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.string({ maxLength: 10 }),
);

/** A key of an object. */
const hostileKey: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 1, arbitrary: hostileText },
);

/** Numbers at the edges of what JSON and Kubernetes can carry. */
const hostileNumber: fc.Arbitrary<number> = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -1, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324),
);

/** Any JSON value, with keys and texts of the above. `__proto__` is a key like any other in it. */
export const hostileJson: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    hostileNumber,
    hostileText,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(hostileKey, tie("value")), { maxLength: 5 }).map((entries) => objectOf(entries)),
  ),
})).value;

/** Any JSON object. */
export const hostileObject: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(hostileKey, hostileJson), { maxLength: 6 })
  .map(objectOf);

/** An object of these fields, each either sound or hostile, with a few more. */
export function mostly(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<JsonObject> {
  const shapes = Object.fromEntries(
    Object.entries(fields).map(([key, sound]) => [
      key,
      fc.oneof({ weight: 5, arbitrary: sound }, { weight: 1, arbitrary: hostileJson }),
    ]),
  );
  const few = fc.array(fc.tuple(hostileKey, hostileJson), { maxLength: 1 }).map(objectOf);
  return fc
    .tuple(fc.record(shapes, { requiredKeys: [] }), few, fc.boolean())
    .map(([sound, more, add]) => ({ ...(sound as JsonObject), ...(add && more) }));
}

/** By definition and not by assignment, which would make a prototype of `__proto__`: as JSON.parse does. */
function objectOf(entries: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(entries);
}
