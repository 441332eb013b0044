// The keys of a stack's configuration, and the arguments that they give.
import { isDeepStrictEqual } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { fields, oneOf, pattern } from "../../definition/checks";
import { didYouMean } from "../../definition/nearest";
import type { Report } from "../../definition/problems";
import { isRecord } from "../../runtime/program";
import { ConfigurationError } from "../errors";
import { about } from "../manifests/about";
import { type Argument, type ArgumentType, argumentOf } from "./argumentModel";
import type { ArgoPlatformArgs, OperatorsArgs } from "./arguments";
import { checkArguments, OPERATORS_ARGUMENTS, PLATFORM_ARGUMENTS } from "./completeArguments";

/**
 * The configuration of a stack. Each key except two is an argument of the components. The argument's schema defines the key's form and
 * default, and the argument's documentation is that of the key.
 */

/** The two keys that are not arguments. */
const OWN_KEYS = {
  parts: oneOf(["all", "platform", "operators"], 'The default is "all".')
    .default("all")
    .describe(
      'The parts of this stack: "all", or if two teams share the work, "platform" (Argo, namespaces) in one stack and "operators" in ' +
        "another.",
    )
    .meta(about({ key: "parts" })),
  platformStack: pattern(
    /^[^/\s]+(\/[^/\s]+){0,2}$/,
    "the name of a stack",
    'Give "organization/project/stack", as pulumi stack ls --all shows it.',
  )
    .optional()
    .describe('With parts "operators", the stack that has the platform, as "organization/project/stack".')
    .meta(about({ key: "platformStack" })),
};

/** A key as Pulumi.yaml declares it. */
export interface KeyDeclaration {
  readonly type: "string" | "integer" | "boolean" | "array" | "object";
  /** The type of the entries. Only for an array. */
  readonly items?: { readonly type: string };
  readonly default: unknown;
  readonly description: string;
}

/** The arguments of `configuredOperators`. */
export interface ConfiguredOperatorsArgs extends Omit<OperatorsArgs, "platform"> {
  /** Arguments for the platform. @default a platform with all defaults */
  readonly platform?: ArgoPlatformArgs;
  /** Keys of the project's configuration that the program reads itself. Any other unknown key is refused. @default [] */
  readonly ownKeys?: readonly string[];
}

/** A stack's configuration, with the arguments of its program. */
export interface Configuration {
  /**
   * The parts of this stack: "all", or if two teams share the work, "platform" (Argo, namespaces) in one stack and "operators" in
   * another.
   */
  readonly parts: "all" | "platform" | "operators";
  /** With parts "operators", the stack that has the platform, as "organization/project/stack". */
  readonly platformStack?: string;
  /** The program's arguments, and those that keys give. */
  readonly args: Omit<ConfiguredOperatorsArgs, "ownKeys">;
}

const ALL_ARGUMENTS = fields(
  { ...OWN_KEYS, ...OPERATORS_ARGUMENTS.shape, platform: PLATFORM_ARGUMENTS.prefault({}) },
  "",
);

/** The arguments that have keys, by their keys, each with its path in the arguments. */
const KEYED: ReadonlyMap<string, Keyed> = new Map(keyedIn(argumentOf("", ALL_ARGUMENTS), []));

interface Keyed {
  readonly path: readonly string[];
  readonly argument: Argument;
}

/** An argument that a platform and its operators both have is given to the operators. */
function keyedIn(argument: Argument, path: readonly string[]): (readonly [key: string, keyed: Keyed])[] {
  const { key, type } = argument;
  if (key !== undefined) return path[0] === "platform" && isCommon(path) ? [] : [[key, { path, argument }]];
  if (type.kind !== "object") return [];
  return type.fields.flatMap((field) => keyedIn(field, [...path, field.name]));
}

function isCommon([, name = ""]: readonly string[]): boolean {
  return name in OPERATORS_ARGUMENTS.shape;
}

/** Every key of a stack's configuration, as Pulumi.yaml declares it. */
export const KEYS: Readonly<Record<string, KeyDeclaration>> = Object.fromEntries(
  [...KEYED].map(([key, { argument }]) => [key, declarationOf(argument)]),
);

function declarationOf({ type, default: value, description, otherwise = "none" }: Argument): KeyDeclaration {
  const form = formOf(type);
  if (value !== undefined) return { ...form, default: value, description };
  const none = form.type === "object" ? {} : "";
  return { ...form, default: none, description: `${description} ${JSON.stringify(none)} for ${otherwise}.` };
}

function formOf(type: ArgumentType): Pick<KeyDeclaration, "type" | "items"> {
  if (type.kind === "integer" || type.kind === "boolean") return { type: type.kind };
  if (type.kind === "list") return { type: "array", items: { type: formOf(type.each.type).type } };
  return { type: type.kind === "map" || type.kind === "object" ? "object" : "string" };
}

/**
 * Reads and checks a stack's whole configuration.
 *
 * @param given the arguments that the program gives itself. A key for one of them is refused
 * @param project the project's name, the prefix of its keys
 * @param values all of the stack's configuration as Pulumi gives it: text by key. Keys of other packages (`kubernetes:context`)
 *   are not checked
 * @param isSecret whether the value of a key, which has its prefix, must not be shown
 * @throws ConfigurationError with every problem: key, complaint, remedy
 */
export function readConfiguration(
  { ownKeys = [], ...given }: ConfiguredOperatorsArgs,
  project = pulumi.getProject(),
  values: Readonly<Record<string, string>> = pulumi.runtime.allConfig(),
  isSecret = isSecretKey,
): Configuration {
  const own = Object.entries(valuesOf(project, values, ownKeys));
  const set = Object.fromEntries(own.filter(([key]) => Object.hasOwn(KEYS, key)));
  const configured = argumentsIn(set);
  const problems = [
    ...foreignKeys(project, values),
    ...unknownKeys(project, own),
    ...givenTwice(project, given, set),
  ];
  const report: Report = (field, complaint, remedy) => {
    const place = keyOf(field);
    const [key] = place.split(/[.[]/);
    const told = isSecret(`${project}:${key}`) ? "is wrong" : complaint;
    problems.push(`${project}:${place} ${told}. ${remedy}`);
  };
  const complete = checkArguments(ALL_ARGUMENTS, configured, report);
  if (complete) problems.push(...checkParts(project, complete, Object.keys(set)));
  if (problems.length > 0 || !complete) throw new ConfigurationError(problems);
  const { parts, platformStack } = complete;
  const { parts: _, platformStack: __, ...args } = configured;
  return {
    parts,
    ...(platformStack !== undefined && { platformStack }),
    args: merged(given, args) as Configuration["args"],
  };
}

/** Pulumi does not declare the function for users (sdk/nodejs/runtime/config.ts, isConfigSecret). */
function isSecretKey(key: string): boolean {
  const { isConfigSecret } = pulumi.runtime as { readonly isConfigSecret?: (key: string) => boolean };
  return isConfigSecret?.(key) ?? false;
}

/** Values by the names of the arguments. */
interface Configured extends Omit<OperatorsArgs, "handlers" | "platform"> {
  readonly parts?: Configuration["parts"];
  readonly platformStack?: string;
  readonly platform?: ArgoPlatformArgs;
}

/** The name of the project that this repository is, which its keys may have as a prefix in a stack's file. */
const SHIPPED_PROJECT = "argosy";

/** Keys that were set under the project's former name. Nothing reads them. */
function foreignKeys(project: string, values: Readonly<Record<string, string>>): string[] {
  if (project === SHIPPED_PROJECT) return [];
  const keys = Object.keys(KEYS).filter((key) => Object.hasOwn(values, `${SHIPPED_PROJECT}:${key}`));
  return keys.map(
    (key) =>
      `${SHIPPED_PROJECT}:${key} is set, and this project is called ${project}. Write ${key}, without a prefix.`,
  );
}

/** The values of the project's keys, without its prefix. A key with its default is as one that is not set. */
function valuesOf(
  project: string,
  values: Readonly<Record<string, string>>,
  ownKeys: readonly string[],
): Record<string, unknown> {
  const prefix = `${project}:`;
  const own = Object.entries(values)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, text]) => [key.slice(prefix.length), text] as const)
    .filter(([key]) => !ownKeys.includes(key))
    .map(([key, text]) => [key, parse(key, text)] as const);
  return Object.fromEntries(own.filter(([key, value]) => !isDefault(key, value)));
}

const DOCUMENTATION = "https://github.com/argosy-dev/argosy/blob/main/docs/reference/configuration.md";

/** Keys that nothing reads. */
function unknownKeys(project: string, own: readonly (readonly [key: string, value: unknown])[]): string[] {
  return own
    .filter(([key]) => !Object.hasOwn(KEYS, key))
    .map(([key]) => {
      const [whole = ""] = key.split(".");
      const meant =
        KEYS[whole]?.type === "object"
          ? `Set a part of ${whole} with --path.`
          : didYouMean(key, Object.keys(KEYS), `${DOCUMENTATION} has all keys.`);
      // Any other key could be more than one word of a shell.
      const command = /^[\w.-]+$/.test(key) ? `: pulumi config rm ${key}` : "";
      return `${project}:${key} is set, and nothing reads it. ${meant} Remove it${command}. If the program reads it, name it in ownKeys.`;
    });
}

/** Keys for arguments that the program gives itself. */
function givenTwice(project: string, given: object, set: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(set).flatMap((key) => {
    const path = pathOf(key);
    if (valueAt(given, path) === undefined) return [];
    return [
      `${project}:${key} is set, and the program gives ${path.join(".")}. Leave the argument out, or remove the key: pulumi config rm ${key}.`,
    ];
  });
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((each, field) => (isRecord(each) ? each[field] : undefined), value);
}

/** The place of a key's value in the arguments. */
function pathOf(key: string): readonly string[] {
  return KEYED.get(key)?.path ?? [];
}

function argumentsIn(set: Readonly<Record<string, unknown>>): Configured {
  return Object.entries(set).reduce<object>((args, [key, value]) => {
    const inside = pathOf(key).reduceRight<unknown>((inner, field) => ({ [field]: inner }), value);
    return merged(args, inside as object);
  }, {});
}

/** Both objects in one. An object that both have is merged too. What `one` has instead of an object stays, to be refused later. */
function merged(one: object, other: object): object {
  const both = Object.entries(other).map(([field, value]) => {
    const first = (one as Readonly<Record<string, unknown>>)[field];
    return [field, isRecord(first) && isRecord(value) ? merged(first, value) : (first ?? value)];
  });
  return { ...one, ...Object.fromEntries(both) };
}

/** A value of Pulumi's configuration, which is text. A text stays as it is: the version "2.10" is not the number 2.1. */
function parse(key: string, text: string): unknown {
  if (!Object.hasOwn(KEYS, key) || KEYS[key]?.type === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isDefault(key: string, value: unknown): boolean {
  return Object.hasOwn(KEYS, key) && isDeepStrictEqual(value, KEYS[key]?.default);
}

/** The key for an argument or for a field of it: "archive.host" for "platform.archive.host". */
function keyOf(field: string): string {
  for (const [key, keyed] of KEYED) {
    const path = keyed.path.join(".");
    if (field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))
      return key + field.slice(path.length);
  }
  return field;
}

/** The key that `parts` needs, and those that nothing reads in a stack with these parts. */
function checkParts(
  project: string,
  { parts, platformStack }: Pick<Configuration, "parts"> & { readonly platformStack?: string | undefined },
  keys: readonly string[],
): string[] {
  const missing =
    parts === "operators" && platformStack === undefined
      ? [`${project}:platformStack is "", and parts is "operators". Name the stack that has the platform.`]
      : [];
  const unread = keys.flatMap((key) => {
    const remedy = remedyFor(key, parts);
    return remedy === undefined ? [] : [`${project}:${key} is set, and parts is "${parts}". ${remedy}`];
  });
  return [...missing, ...unread];
}

/** What to do about a key, if nothing reads it in a stack with these parts. */
function remedyFor(key: string, parts: Configuration["parts"]): string | undefined {
  if (key === "platformStack")
    return parts === "operators" ? undefined : 'Set parts to "operators", or remove platformStack.';
  const [first = ""] = pathOf(key);
  if (first === "platform") return parts === "operators" ? "Set it in the platform's stack." : undefined;
  const isOperators = first in OPERATORS_ARGUMENTS.shape && !(first in PLATFORM_ARGUMENTS.shape);
  return parts === "platform" && isOperators ? "Set it in the operators' stacks." : undefined;
}
