import { type ArgoPlatformArgs, ConfigurationError, type OperatorsArgs } from "@argosy-dev/argosy";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { checkArguments, OPERATORS_ARGUMENTS, PLATFORM_ARGUMENTS } from "../components/completeArguments";
import { check, fields, oneOf, pattern } from "../definition/checks";
import type { Report } from "../definition/problems";

/**
 * The configuration of this program's stacks. Each key except two is an argument of the components. The argument's schema defines
 * the key's form and default, and the argument's documentation is that of the key.
 */

/** The two keys that are not arguments. */
const OWN_KEYS = {
  parts: oneOf(["all", "platform", "operators"], 'The default is "all".').default("all"),
  platformStack: pattern(
    /^[^/\s]+(\/[^/\s]+){0,2}$/,
    "the name of a stack",
    'Give "organization/project/stack", as pulumi stack ls --all shows it.',
  ).optional(),
};

/** The place of each other key's value in the arguments of `Operators`. */
export const ARGUMENT_OF = {
  installation: "installation",
  namespace: "platform.namespace",
  controllerNamespace: "platform.controllerNamespace",
  createNamespaces: "platform.createNamespaces",
  argoEvents: "platform.argoEvents",
  argoWorkflows: "platform.argoWorkflows",
  instanceId: "platform.instanceId",
  initlessPods: "platform.initlessPods",
  jetStreamVersion: "platform.jetStreamVersion",
  eventBusReplicas: "eventBus.replicas",
  eventBusStorage: "eventBus.storage",
  eventBusStorageClassName: "eventBus.storageClassName",
  guards: "guards",
  outsideEventsReplicas: "outsideEvents.replicas",
  outsideEventsStorage: "outsideEvents.storage",
  outsideEventsStorageClassName: "outsideEvents.storageClassName",
  outsideEventsIntakes: "outsideEvents.intakes",
  runnerReplicas: "replicas",
  runsKeptSeconds: "runsKeptSeconds",
  failedRunsKeptSeconds: "failedRunsKeptSeconds",
  traces: "traces",
  archive: "platform.archive",
  monitoring: "platform.monitoring",
  registry: "placement.registry",
  imagePullSecrets: "placement.imagePullSecrets",
  nodeSelector: "placement.nodeSelector",
  tolerations: "placement.tolerations",
  protect: "protect",
} as const;

/** A key as Pulumi.yaml declares it. */
export interface KeyDeclaration {
  readonly type: "string" | "integer" | "boolean" | "array" | "object";
  /** The type of the entries. Only for an array. */
  readonly items?: { readonly type: string };
  readonly default: unknown;
}

/** A stack's configuration. */
export interface Configuration {
  /**
   * The parts of this stack: "all", or if two teams share the work, "platform" (Argo, namespaces) in one stack and "operators" in
   * another.
   */
  readonly parts: "all" | "platform" | "operators";
  /** With parts "operators", the stack that has the platform, as "organization/project/stack". */
  readonly platformStack?: string;
  /** The arguments of the platform. */
  readonly platform: ArgoPlatformArgs;
  /** The arguments of the operators, except the operators themselves and their platform. */
  readonly operators: Omit<OperatorsArgs, "handlers" | "platform">;
}

const ALL_ARGUMENTS = fields(
  { ...OWN_KEYS, ...OPERATORS_ARGUMENTS.shape, platform: PLATFORM_ARGUMENTS.prefault({}) },
  "",
);

/** Every key of a stack's configuration, as Pulumi.yaml declares it: from the schemas of the arguments. */
export const KEYS: Readonly<Record<string, KeyDeclaration>> = Object.fromEntries(
  [...Object.keys(OWN_KEYS).map((key) => [key, key]), ...Object.entries(ARGUMENT_OF)].map(
    ([key = "", path = ""]) => [key, declarationOf(path.split("."))],
  ),
);

/** A schema that accepts only known keys. */
const KNOWN_KEYS = fields(
  Object.fromEntries(Object.keys(KEYS).map((key) => [key, z.unknown().optional()])),
  "",
);

/** The JSON Schema of an argument and of its parts. */
interface ArgumentSchema {
  readonly type?: string;
  readonly default?: unknown;
  readonly items?: { readonly type: string };
  readonly properties?: Readonly<Record<string, ArgumentSchema>>;
}

function declarationOf(path: readonly string[]): KeyDeclaration {
  const root = z.toJSONSchema(ALL_ARGUMENTS, { unrepresentable: "any" }) as ArgumentSchema;
  const schema = path.reduce<ArgumentSchema | undefined>(
    (parent, field) => parent?.properties?.[field],
    root,
  );
  const type = schema?.type as KeyDeclaration["type"] | undefined;
  if (!type) throw new Error(`no argument is called ${path.join(".")}`);
  const none = type === "object" ? {} : "";
  const items = schema?.items && { items: { type: schema.items.type } };
  return { type, ...items, default: schema?.default ?? none };
}

/**
 * Reads and checks a stack's whole configuration.
 *
 * @param project the project's name, the prefix of its keys
 * @param values all of the stack's configuration as Pulumi gives it: text by key. Keys of other packages (`kubernetes:context`)
 *   are not checked
 * @throws ConfigurationError with every problem: key, complaint, remedy
 */
export function readConfiguration(
  project = pulumi.getProject(),
  values: Readonly<Record<string, string>> = pulumi.runtime.allConfig(),
): Configuration {
  const problems: string[] = [];
  const report: Report = (field, complaint, remedy) =>
    problems.push(`${project}:${keyOf(field)} ${complaint}. ${remedy}`);
  problems.push(...foreignKeys(project, values));
  const own = ownValues(project, values);
  check(KNOWN_KEYS, own, report);
  const given = argumentsIn(own);
  const complete = checkArguments(ALL_ARGUMENTS, given, report);
  if (complete) problems.push(...checkParts(project, complete, given));
  if (problems.length > 0 || !complete) throw new ConfigurationError(problems);
  const { parts, platformStack, platform = {}, ...operators } = given;
  const { placement, protect } = operators;
  return {
    parts: complete.parts,
    ...(platformStack !== undefined && { platformStack }),
    platform: { ...platform, ...(placement && { placement }), ...(protect !== undefined && { protect }) },
    operators,
  };
}

/** The values of a configuration, by the names of the arguments. */
interface Given extends Partial<Omit<OperatorsArgs, "handlers" | "platform">> {
  readonly parts?: Configuration["parts"];
  readonly platformStack?: string;
  readonly platform?: ArgoPlatformArgs;
}

/** The name of this repository's project, which its keys may have as a prefix in a stack's file. */
const SHIPPED_PROJECT = "argosy";

/** Keys that were set under the project's former name. Nobody reads them. */
function foreignKeys(project: string, values: Readonly<Record<string, string>>): string[] {
  if (project === SHIPPED_PROJECT) return [];
  const keys = Object.keys(KEYS).filter((key) => Object.hasOwn(values, `${SHIPPED_PROJECT}:${key}`));
  return keys.map(
    (key) =>
      `${SHIPPED_PROJECT}:${key} is set, and this project is called ${project}. Write ${key}, without a prefix.`,
  );
}

/** The values of the project's own keys, without its prefix. */
function ownValues(project: string, values: Readonly<Record<string, string>>): Record<string, unknown> {
  const prefix = `${project}:`;
  const own = Object.entries(values)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, text]) => [key.slice(prefix.length), text] as const);
  return Object.fromEntries(own.map(([key, text]) => [key, parse(key, text)]));
}

function argumentsIn(own: Readonly<Record<string, unknown>>): Given {
  const root: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(own)) {
    if (!Object.hasOwn(KEYS, key) || isNone(key, value)) continue;
    const path = ((ARGUMENT_OF as Readonly<Record<string, string>>)[key] ?? key).split(".");
    const [last = "", ...above] = path.reverse();
    let parent = root;
    for (const field of above.reverse()) {
      parent[field] ??= {};
      parent = parent[field] as Record<string, unknown>;
    }
    parent[last] = value;
  }
  return root as Given;
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

/** Whether a value says that an argument without a default is left out: "" or {}. */
function isNone(key: string, value: unknown): boolean {
  const declaration = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
  if (declaration === undefined) return false;
  if (declaration.type === "string") return value === "" && declaration.default === "";
  return declaration.type === "object" && JSON.stringify(value) === "{}";
}

/** The key for an argument or for a field of it: "archive.host" for "platform.archive.host". */
function keyOf(field: string): string {
  for (const [key, path] of Object.entries(ARGUMENT_OF)) {
    if (field === path) return key;
    if (field.startsWith(`${path}.`) || field.startsWith(`${path}[`)) return key + field.slice(path.length);
  }
  return field;
}

/** The keys that `parts` excludes. */
function checkParts(
  project: string,
  { parts, platformStack }: Pick<Configuration, "parts"> & { readonly platformStack?: string | undefined },
  given: Given,
): string[] {
  if (parts !== "operators") {
    if (platformStack === undefined) return [];
    return [
      `${project}:platformStack is "${platformStack}", and parts is "${parts}". Set parts to "operators", or remove platformStack.`,
    ];
  }
  const missing =
    platformStack === undefined
      ? [`${project}:platformStack is "", and parts is "operators". Name the stack that has the platform.`]
      : [];
  const foreign = Object.entries(given.platform ?? {}).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(KEYS[field]?.default),
  );
  return [
    ...missing,
    ...foreign.map(
      ([field]) => `${project}:${field} is set, and parts is "operators". Set it in the platform's stack.`,
    ),
  ];
}
