import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { isRecord } from "../../runtime/base/json";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import type { Handler } from "../../tools/chaos/kills/scenarios";
import { type Act, SCENARIOS, THINGS, thing } from "../../tools/chaos/kills/scenarios";
import { runScenario } from "./support/net/runScenario";
import { withoutHistory } from "./support/net/withoutHistory";

const EXAMPLES = path.resolve(__dirname, "../../examples");

/** In these scenarios there are objects of others at the end. */
const OF_OTHERS = ["adoption", "a used Secret", "a name is taken", "damage", "deleted without its children"];

/** A handler whose children have the whole spec as it is, and each field of it as text. */
const mirror: Handler = ({ object }) => {
  const { name } = object.metadata;
  const content = (object["spec"] as JsonObject)["content"] as JsonObject;
  const data = Object.fromEntries(
    Object.entries(content).map(([key, value]) => [key, JSON.stringify(value)]),
  );
  return {
    children: [
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, labels: { has: Object.keys(content).sort().join("-") } },
        data,
      },
      { ...THINGS, kind: "Part", metadata: { name }, spec: content },
    ],
    status: { content },
  };
};

/** A value that fits a schema, as far as types go. */
function sampleOf(schema: JsonObject): unknown {
  const { type, properties, items, additionalProperties, enum: values } = schema;
  if (Array.isArray(values)) return values[0];
  if (isRecord(properties))
    return Object.fromEntries(
      Object.entries(properties).map(([key, inner]) => [key, sampleOf(inner as JsonObject)]),
    );
  if (type === "array") return [sampleOf((items ?? {}) as JsonObject)];
  if (type === "object")
    return { key: isRecord(additionalProperties) ? sampleOf(additionalProperties as JsonObject) : "any" };
  return type === "integer" || type === "number" ? 1 : type === "boolean" ? true : "text";
}

/** The ways to all fields of a value. */
function waysIn(value: unknown, way: readonly string[] = []): (readonly string[])[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...way, key], ...waysIn(inner, [...way, key])]);
}

function without(value: unknown, [key = "", ...rest]: readonly string[]): unknown {
  const { [key]: inner, ...others } = value as JsonObject;
  return rest.length === 0 ? others : { ...others, [key]: without(inner, rest) };
}

/** The specs that the fields of a CRD give: all fields, and all but one, by the names of objects. */
function specsOf(example: string) {
  const crd = parse(readFileSync(path.join(EXAMPLES, example, "crd.yaml"), "utf8"));
  const schema = crd.spec.versions[0].schema.openAPIV3Schema.properties.spec ?? { type: "object" };
  const full = sampleOf(schema);
  return waysIn(full).map((way, index) => ({ name: `f${index}`, full, less: without(full, way) }));
}

/** Users apply these specs. */
function applied(specs: readonly { readonly name: string; readonly content: unknown }[]): Act {
  return ({ objects, namespace }) =>
    Promise.all(
      specs.map(({ name, content }) =>
        objects.apply({ ...THINGS, metadata: { name, namespace }, spec: { content } } as Manifest),
      ),
    );
}

describe("what is wanted now decides, and not what was wanted before:", () => {
  const examples = readdirSync(EXAMPLES).filter((each) => existsSync(path.join(EXAMPLES, each, "crd.yaml")));
  for (const example of examples) {
    it(`each field of ${example} comes and goes`, async () => {
      const specs = specsOf(example);
      const come = applied(specs.map(({ name, full }) => ({ name, content: full })));
      const go = applied(specs.map(({ name, less }) => ({ name, content: less })));
      for (const [first, last] of [[come, go] as const, [go, come] as const]) {
        const scenario = { name: example };
        const { end: fresh } = await runScenario({ ...scenario, acts: [last] }, { handler: mirror });
        const { end } = await runScenario({ ...scenario, acts: [last, first, last] }, { handler: mirror });
        assert.deepEqual(withoutHistory(end), withoutHistory(fresh));
      }
    });
  }

  const good = thing(() => ({
    children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { v: "1" } }],
    status: { size: 1 },
  }));
  const bad: Readonly<Record<string, JsonObject>> = {
    "an error": { error: { message: "no" } },
    "a permanent error": { error: { message: "no", permanent: true } },
    "a kind that is not declared": { children: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }] },
    "a child twice": {
      children: ["a", "a"].map((name) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } })),
    },
    "a name that no object has": {
      children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "A/b" } }],
    },
    "no children": { children: null },
    "a circle of children": {
      children: ["a", "b"].map((name) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, annotations: { "argosy.dev/after": `ConfigMap/${name === "a" ? "b" : "a"}` } },
      })),
    },
  };
  for (const [what, answer] of Object.entries(bad)) {
    it(`an answer with ${what} leaves nothing when it is over`, async () => {
      const { end: fresh } = await runScenario({ name: what, acts: [good] });
      for (const acts of [
        [thing(() => answer), good],
        [good, thing(() => answer), good],
      ]) {
        const { end, world } = await runScenario({ name: what, acts, isPatient: true });
        assert.deepEqual(withoutHistory(end), withoutHistory(fresh));
        const reasons = world.api.log.flatMap(({ after }) =>
          after?.kind === "Event" && after["type"] === "Warning" ? [after["reason"]] : [],
        );
        assert.ok(reasons.length > 0, "nothing was said");
      }
    });
  }

  for (const scenario of SCENARIOS.filter(({ name, remembers }) => !remembers && !OF_OTHERS.includes(name))) {
    it(`${scenario.name}, and then something else`, async () => {
      const { end: fresh } = await runScenario({ ...scenario, acts: [good] });
      const { end } = await runScenario({ ...scenario, acts: [...scenario.acts, good] });
      assert.deepEqual(withoutHistory(end), withoutHistory(fresh));
    });
  }
});
