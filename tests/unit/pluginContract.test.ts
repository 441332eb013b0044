import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import {
  completePlatformArgs,
  OPERATORS_ARGUMENTS,
  PLATFORM_ARGUMENTS,
} from "../../components/completeArguments";
import { platformOf } from "../../components/platform";
import { OVERRIDES } from "../../definition/schema";

const ROOT = path.resolve(__dirname, "../..");

/** Arguments of the components that other languages do not have, by their paths. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  transform: "functions cannot leave a process",
  "platform.transform": "functions cannot leave a process",
  "platform.cluster": "Operators refuse it: the platform is in the cluster of its operators",
};

/** Arguments that other languages have, and the components have not. */
const ADDED: Readonly<Record<string, string>> = {
  platformStack:
    "the component takes the awaited result of platformOfStack, and no other language can await it",
};

/** Arguments that have another type for other languages. */
const OTHER_TYPES: Readonly<Record<string, string>> = {
  "overrides.*.namespaces":
    '"all" or a list, and Pulumi\'s schema has no such union: "all" is for operator.yaml',
};

/** What an argument takes. */
interface Argument {
  readonly type: string;
  /** The words of which it takes one. */
  readonly words?: readonly string[];
  readonly isOptional: boolean;
  /** Whether it takes a value that is only known later. */
  readonly isLater: boolean;
  /** What it is if it is left out, if that is a scalar. */
  readonly default?: string;
  readonly description?: string;
}

type Arguments = Map<string, Argument>;

/** The arguments that no zod schema describes by itself. */
const ARGUMENTS = OPERATORS_ARGUMENTS.extend({
  handlers: z.string(),
  overrides: z.record(z.string(), OVERRIDES).optional(),
  platform: PLATFORM_ARGUMENTS.optional(),
});

/** Adds what a schema of a component takes, with all that is below it. */
function addArguments(schema: z.core.$ZodType, at: string, found: Arguments, outer: Partial<Argument> = {}) {
  const inside = (inner: unknown, more: Partial<Argument> = {}) =>
    addArguments(inner as z.core.$ZodType, at, found, { ...outer, ...more });
  const { def } = schema._zod;
  const is = (type: string, more: Partial<Argument> = {}) =>
    found.set(at, { type, isOptional: false, isLater: false, ...outer, ...more });
  const below = (key: string) => (at === "" ? key : `${at}.${key}`);
  const innerType = "innerType" in def ? def.innerType : undefined;
  switch (def.type) {
    case "optional":
    case "prefault":
      return void inside(innerType, { isOptional: true });
    case "default": {
      const { defaultValue } = def as z.core.$ZodDefaultDef;
      const scalar = typeof defaultValue === "object" ? {} : { default: JSON.stringify(defaultValue) };
      return void inside(innerType, { isOptional: true, ...scalar });
    }
    case "pipe":
      return void inside((def as z.core.$ZodPipeDef).out, { isLater: true });
    case "object":
      is("object");
      for (const [key, field] of Object.entries((def as z.core.$ZodObjectDef).shape))
        addArguments(field, below(key), found);
      return;
    case "record":
      is("map");
      return addArguments((def as z.core.$ZodRecordDef).valueType, below("*"), found);
    case "array":
      is("list");
      return addArguments((def as z.core.$ZodArrayDef).element, below("[]"), found);
    case "enum":
      return void is("string", { words: Object.values((def as z.core.$ZodEnumDef).entries).map(String) });
    case "number":
      return void is("integer");
    case "custom":
      // An object of JSON.
      is("map");
      return void found.set(below("*"), { type: "any", isOptional: false, isLater: false });
    default:
      return void is(def.type);
  }
}

interface Property {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: Property;
  readonly additionalProperties?: Property;
  readonly optional?: true;
  readonly plain?: true;
  readonly description?: string;
}

interface Types {
  readonly [token: string]: {
    readonly enum?: readonly { readonly value: string }[];
    readonly properties?: Readonly<Record<string, Property>>;
  };
}

const SCHEMA = JSON.parse(readFileSync(path.join(ROOT, "plugin/schema.json"), "utf8")) as {
  readonly types: Types;
  readonly resources: Readonly<
    Record<string, { readonly inputProperties: Readonly<Record<string, Property>> }>
  >;
};

/** Adds what a property of Pulumi's schema takes, with all that is below it. */
function addProperty(property: Property, at: string, found: Arguments): void {
  const { type, $ref, items, additionalProperties, optional, plain, description } = property;
  const isAny = $ref === "pulumi.json#/Any";
  const named = isAny ? undefined : SCHEMA.types[$ref?.replace("#/types/", "") ?? ""];
  const words = named?.enum?.map(({ value }) => value);
  found.set(at, {
    type: isAny
      ? "any"
      : items
        ? "list"
        : additionalProperties
          ? "map"
          : words
            ? "string"
            : (type ?? "object"),
    ...(words && { words }),
    isOptional: optional === true,
    isLater: plain !== true && !isAny,
    ...(description !== undefined && { description }),
  });
  if (items) addProperty(items, `${at}.[]`, found);
  if (additionalProperties) addProperty(additionalProperties, `${at}.*`, found);
  for (const [key, each] of Object.entries(named?.properties ?? {})) addProperty(each, `${at}.${key}`, found);
}

/** Whether a path is one of these, or below one. */
function isBelow(paths: Readonly<Record<string, string>>, at: string): boolean {
  return Object.keys(paths).some((each) => at === each || at.startsWith(`${each}.`));
}

describe("the contract of the plugin", () => {
  const ours: Arguments = new Map();
  const theirs: Arguments = new Map();
  before(() => {
    addArguments(ARGUMENTS, "", ours);
    ours.delete("");
    const { inputProperties = {} } = SCHEMA.resources["argosy:index:Operators"] ?? {};
    for (const [name, property] of Object.entries(inputProperties)) addProperty(property, name, theirs);
  });

  it("has every argument of the components, or a reason why not", () => {
    const missing = [...ours.keys()].filter((at) => !theirs.has(at) && !isBelow(OTHER_TYPES, at));
    assert.deepEqual(
      missing.filter((at) => !isBelow(LEFT_OUT, at)),
      [],
    );
    assert.deepEqual(
      [...theirs.keys()].filter((at) => !ours.has(at) && !isBelow({ ...ADDED, ...OTHER_TYPES }, at)),
      [],
    );
    assert.ok(ours.size > 200, "the arguments of the components were not found");
  });

  it("has no reason for an argument that is not there", () => {
    for (const at of Object.keys({ ...LEFT_OUT, ...OTHER_TYPES })) assert.ok(ours.has(at), at);
    for (const at of Object.keys(LEFT_OUT)) assert.ok(!theirs.has(at), at);
    for (const at of Object.keys(ADDED)) assert.ok(theirs.has(at) && !ours.has(at), at);
    for (const at of Object.keys(OTHER_TYPES)) assert.notEqual(theirs.get(at)?.type, ours.get(at)?.type, at);
  });

  it("has the types of the components, and takes what is only known later where they do", () => {
    const typesOf = (args: Arguments) =>
      [...args.entries()]
        .filter(([at]) => ours.has(at) && theirs.has(at) && !isBelow(OTHER_TYPES, at))
        // Of an entry of a map or a list nothing is left out, and what its Pulumi type says of that means nothing.
        .map(([at, { type, words, isOptional, isLater }]) => [
          at,
          { type, words, isOptional: /(\*|\[\])$/.test(at) ? false : isOptional, isLater },
        ]);
    assert.deepEqual(Object.fromEntries(typesOf(theirs)), Object.fromEntries(typesOf(ours)));
  });

  it("says the defaults that the components have", () => {
    let told = 0;
    for (const [at, argument] of ours) {
      if (argument.default === undefined || isBelow(LEFT_OUT, at)) continue;
      told += 1;
      const { description = "" } = theirs.get(at) ?? {};
      const [, says = ""] = /Default: (.*?)\.(?:\s|$)/s.exec(description) ?? [];
      assert.ok(says.endsWith(argument.default), `${at}: ${argument.default}, and it says: ${description}`);
    }
    assert.ok(told > 10);
  });

  it("gives a platform with all that a platform tells", () => {
    const archive = { host: "db", database: "argo", secret: "db" };
    const monitoring = { namespace: "monitoring" };
    const platform = platformOf(completePlatformArgs({ initlessPods: true, archive, monitoring }, "test"));
    const { properties = {} } = SCHEMA.types["argosy:index:ExistingPlatform"] ?? {};
    assert.deepEqual(Object.keys(properties).sort(), Object.keys(platform).sort());
  });
});
