import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { kubernetesVersion } from "../../cli/controlPlane/versions";
import { flawsOfFields, KNOWN_RELEASE } from "../../cli/fixtures/builtInFields";
import { isRecord } from "../../runtime/base/json";
import { BUILT_IN_KINDS } from "../../runtime/base/kinds";
import { apiVersionOf, groupOf, type Json, type JsonObject, type Manifest } from "../../runtime/base/objects";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { sharedCluster } from "./support/cluster";

/** How many broken forms of each manifest the API server is asked about. */
const MOST_TRIED = 12;

/** A schema of OpenAPI 3, as far as the API server's own kinds need it. */
interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  /** Its name, if it has one. */
  readonly $name?: string;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly "x-kubernetes-group-version-kind"?: readonly { group: string; version: string; kind: string }[];
}

type Schemas = Readonly<Record<string, Schema>>;

/** A field at the end of a way: the value that it has there, a wrong one, and an object with such a value. */
interface Leaf {
  readonly way: string;
  /** Undefined: none is right. */
  readonly good: Json | undefined;
  readonly wrong: Json;
  readonly around: (value: Json) => JsonObject;
}

/**
 * All leaves below a type, and below each type an unknown field.
 * @param known the types whose fields have been given before
 */
function* leavesOf(
  schema: Schema,
  schemas: Schemas,
  known: Set<string>,
  way = "",
  around: Leaf["around"] = (value) => value as JsonObject,
): Generator<Leaf> {
  const name = (schema.$ref ?? schema.allOf?.[0]?.$ref)?.split("/").at(-1);
  const ends = (good: Json, wrong: Json): Leaf => ({ way, good, wrong, around });
  if (name?.endsWith(".Quantity")) yield ends(1, true);
  else if (name?.endsWith(".IntOrString")) yield ends("a", true);
  else if (name && /\.(Time|MicroTime)$/.test(name)) yield ends("2026-01-31T03:00:00Z", 5);
  else if (name) yield* leavesOf({ ...schemas[name], $name: name }, schemas, known, way, around);
  else if (schema.type === "array" && schema.items) {
    yield ends([], {});
    yield* leavesOf(schema.items, schemas, known, `${way}[0]`, (value) => around([value] as Json));
  } else if (schema.properties) {
    yield ends({}, []);
    yield {
      way: `${way}.unknown`,
      good: undefined,
      wrong: null,
      around: (value) => around({ unknown: value }),
    };
    if (schema.$name !== undefined && known.has(schema.$name)) return;
    known.add(schema.$name ?? "");
    for (const [key, each] of Object.entries(schema.properties))
      yield* leavesOf(each, schemas, known, `${way}.${key}`, (value) => around({ [key]: value }));
  } else if (schema.additionalProperties) {
    yield ends({}, []);
    yield* leavesOf(schema.additionalProperties, schemas, known, `${way}.a`, (value) => around({ a: value }));
  } else if (schema.type === "string")
    yield ends(schema.format === "byte" ? "YQ==" : "a", schema.format === "byte" ? "Y" : 5);
  else if (schema.type === "boolean") yield ends(true, "true");
  else if (schema.type === "integer") yield ends(1, 1.5);
  else if (schema.type === "number") yield ends(1.5, "1.5");
}

describe("argosy test knows the fields of Kubernetes' own kinds as the API server does", function () {
  this.timeout(120_000);

  before(async function () {
    this.timeout(0);
    await sharedCluster();
  });

  it("each field with its type, and no other", async () => {
    const { api } = await sharedCluster();
    const index = await api.client.read<{ paths: Record<string, { serverRelativeURL: string }> }>(
      "/openapi/v3",
    );
    // Another release has further fields, and lacks some.
    const isNewer = !kubernetesVersion.startsWith(`v${KNOWN_RELEASE}.`);
    const known = new Set<string>();
    const differences: string[] = [];
    let [kinds, fields] = [0, 0];
    for (const [place, { serverRelativeURL }] of Object.entries(index.paths)) {
      const apiVersion = place.replace(/^apis?\//, "");
      const group = groupOf(apiVersion);
      if (!BUILT_IN_KINDS[group] || !/^apis?\/(.+\/)?v\w+$/.test(place)) continue;
      const { components } = await api.client.read<{ components: { schemas: Schemas } }>(serverRelativeURL);
      for (const [kind, schema] of kindsIn(components.schemas, apiVersion)) {
        kinds += 1;
        const flawsOf = (content: JsonObject) =>
          flawsOfFields({ metadata: { name: "a" }, ...content, apiVersion, kind } as unknown as Manifest);
        for (const { way, good, wrong, around } of leavesOf(schema, components.schemas, known)) {
          if (["", ".apiVersion", ".kind"].includes(way)) continue;
          fields += 1;
          const ofGood = good === undefined ? [] : await flawsOf(around(good));
          if (isNewer && ofGood.join().includes("has no such field")) continue;
          if (ofGood.length > 0) differences.push(`${kind}: ${ofGood.join()}`);
          const ofWrong = await flawsOf(around(wrong));
          if (!ofWrong[0]?.startsWith(`${way}: `))
            differences.push(`${kind}: ${way} may be ${JSON.stringify(wrong)}`);
        }
      }
    }
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(kinds > 50 && fields > 2_500, `${kinds} kinds, ${fields} fields`);
  });

  it("the API server accepts what has no flaw, and refuses each value that is one", async () => {
    const { api } = await sharedCluster();
    const namespace = await api.newNamespace("fields");
    const differences: string[] = [];
    const wrong = new Set<string>();
    for (const manifest of manifests()) {
      const resource = builtIn(manifest.apiVersion, manifest.kind);
      const verdictOn = async (each: Manifest) => {
        const placed = { ...each, metadata: { ...each.metadata, ...(resource.namespaced && { namespace }) } };
        const apply = api.client.apply(resource, placed, {
          fieldManager: "fields",
          force: true,
          dryRun: true,
        });
        return apply.then(
          () => undefined,
          ({ message }: Error) => message,
        );
      };
      const flaws = await flawsOfFields(manifest);
      const refusal = await verdictOn(manifest);
      if (flaws.length > 0 || refusal !== undefined)
        differences.push(`${manifest.kind}: ${[...flaws, refusal].join()}`);
      const all = [...brokenOf(manifest)];
      const each = Math.ceil(all.length / MOST_TRIED);
      for (const broken of all.filter((_, index) => index % each === 0)) {
        const [flaw] = await flawsOfFields(broken as Manifest);
        // Several kinds have pods.
        if (flaw === undefined || wrong.has(flaw)) continue;
        wrong.add(flaw);
        if ((await verdictOn(broken as Manifest)) === undefined)
          differences.push(`${manifest.kind}: accepted in spite of ${flaw}`);
      }
    }
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(wrong.size > 100, `${wrong.size}`);
  });
});

/** The kinds of one version that objects may be of, each with its schema. */
function kindsIn(schemas: Schemas, apiVersion: string): [kind: string, schema: Schema][] {
  const { namespaced = [], cluster = [] } = BUILT_IN_KINDS[groupOf(apiVersion)] ?? {};
  return Object.values(schemas).flatMap((schema) =>
    (schema["x-kubernetes-group-version-kind"] ?? [])
      .filter((each) => apiVersionOf(each) === apiVersion && [...namespaced, ...cluster].includes(each.kind))
      .map(({ kind }): [string, Schema] => [kind, schema]),
  );
}

/** One manifest of each kind that handlers return. */
function manifests(): Manifest[] {
  const file = path.join(__dirname, "support/builtInKinds.yaml");
  const text = readFileSync(file, "utf8")
    .replaceAll("GROUP", "fields.example.com")
    .replaceAll("HEALTHPORT", "30081")
    .replaceAll("NODEPORT", "30082")
    .replaceAll("CLUSTERIP", "10.0.0.14");
  return (parse(text) as Manifest[]).map((manifest) => {
    const name = manifest.kind === "CustomResourceDefinition" ? "things.fields.example.com" : "fields";
    return { ...manifest, metadata: { ...manifest.metadata, name } };
  });
}

/** The value with something else in one place, for each place in it: a value of another type, and in each map a further field. */
function* brokenOf(value: unknown): Generator<unknown> {
  if (typeof value === "number") yield* ["1x", 1.5];
  else if (typeof value === "boolean") yield "true";
  else if (typeof value === "string") yield 5;
  else if (Array.isArray(value)) {
    yield { a: 1 };
    for (const [index, each] of value.entries())
      for (const broken of brokenOf(each)) yield value.map((kept, at) => (at === index ? broken : kept));
  } else if (isRecord(value)) {
    yield { ...value, unknown: "1" };
    for (const [key, each] of Object.entries(value)) {
      if (["apiVersion", "kind", "name", "namespace"].includes(key)) continue;
      for (const broken of brokenOf(each)) yield { ...value, [key]: broken };
    }
  }
}
