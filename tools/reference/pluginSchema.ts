// plugin/schema.json: the component as every language of Pulumi sees it.
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { type Argument, type ArgumentType, argumentOf } from "../../components/arguments/argumentModel";
import { DESCRIBED_ARGUMENTS, PLATFORM_ARGUMENTS } from "../../components/arguments/completeArguments";
import { about } from "../../components/manifests/about";
import { PLATFORM_FIELDS } from "../../components/platform";
import { PACKAGE_FOLDER } from "../packageFolder";

/** The name of Pulumi's package, and so of every type in it. */
const NAME = "argosy";
const REPOSITORY = "https://github.com/argosy-dev/argosy";

// Functions cannot leave a process, and Operators refuse a cluster of the platform's own.
const { transform: _, ...operators } = DESCRIBED_ARGUMENTS.shape;
const { transform: __, cluster: ___, ...platform } = PLATFORM_ARGUMENTS.shape;

/** The arguments of the component for other languages. */
const ARGUMENTS = z.object({
  ...operators,
  handlers: z
    .string()
    .describe("The folder that has a folder for each operator, relative to the program's folder."),
  overrides: operators.overrides.describe(
    "Values that this program uses instead of those in the operators' operator.yaml, by the names of the operators.",
  ),
  configured: z
    .boolean()
    .default(false)
    .describe(
      "Whether the stack's configuration gives arguments too. docs/reference/configuration.md has its keys. A key for an argument that " +
        "the program gives is refused.",
    ),
  ownKeys: z
    .array(z.string())
    .optional()
    .describe(
      "With configured: keys of the configuration that the program reads itself. Any other unknown key is refused.",
    ),
  platform: z
    .object(platform)
    .optional()
    .describe("A platform to create for the operators.")
    .meta(about({ type: "Platform", otherwise: "a platform with all defaults" })),
  platformStack: z
    .string()
    .optional()
    .describe(
      'The stack whose output `platform` is the platform to use instead of a new one: "organization/project/stack".',
    ),
});

/** A property in Pulumi's schema of packages (https://www.pulumi.com/docs/iac/using-pulumi/extending-pulumi/schema). */
type Property = Readonly<Record<string, unknown>>;

/** The outputs of the component. */
const OUTPUTS: Readonly<Record<string, Property>> = {
  crdNames: {
    type: "array",
    items: { type: "string" },
    description: 'The names of the operators\' CRDs, such as "memcacheds.cache.example.com".',
  },
  platform: {
    $ref: typeReference("ExistingPlatform"),
    description:
      "The platform that the operators run on. Export it as the output `platform` of the stack if other stacks use the platform.",
  },
  runners: {
    type: "object",
    additionalProperties: { type: "string" },
    description: "The names of the runners' Deployments, by operator.",
  },
  argoServer: {
    type: "string",
    optional: true,
    description:
      "The name of the Service of argo-server, which has the UI. Missing if the platform does not create it.",
  },
};

/**
 * The text of schema.json: the component as every language of Pulumi sees it. Users have neither the sources nor a compiler, so the
 * file is generated and shipped. SDKs add "Args" to the names of types. An argument that is `plain` must be known when the program
 * runs.
 */
export function pluginSchema(): string {
  const { version, description, license, keywords } = JSON.parse(
    readFileSync(path.join(PACKAGE_FOLDER, "plugin/package.json"), "utf8"),
  );
  const types: Record<string, unknown> = {};
  const { properties, required } = objectOf(argumentOf("", ARGUMENTS).type as ObjectType, types);
  types[`${NAME}:index:ExistingPlatform`] = {
    description: "The facts about a platform that operators need.",
    type: "object",
    properties: Object.fromEntries(
      Object.entries(PLATFORM_FIELDS).map(([field, { type, isOptional }]) => [
        field,
        { type, ...(isOptional && { optional: true }) },
      ]),
    ),
    required: namesOf(PLATFORM_FIELDS, ({ isOptional }) => !isOptional),
  };
  const schema = {
    name: NAME,
    version,
    description,
    namespace: "argosy-dev",
    resources: {
      [`${NAME}:index:Operators`]: {
        type: "object",
        isComponent: true,
        inputProperties: properties,
        requiredInputs: required,
        properties: OUTPUTS,
        required: namesOf(OUTPUTS, ({ optional }) => optional !== true),
        description:
          "Operators with everything that they need: Argo Events, Argo Workflows, the event bus that they share, and each operator of a " +
          "folder with its CRD.",
      },
    },
    types,
    dependencies: [],
    displayName: "Argosy",
    license,
    keywords,
    homepage: REPOSITORY,
    repository: REPOSITORY,
    // Pulumi finds the plugin of this version among the files of the release.
    pluginDownloadURL: "github://api.github.com/argosy-dev/argosy",
    language: Object.fromEntries(
      ["nodejs", "python", "csharp", "java", "go"].map((language) => [
        language,
        { respectSchemaVersion: true },
      ]),
    ),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

type ObjectType = Extract<ArgumentType, { kind: "object" }>;

function namesOf<Value>(values: Readonly<Record<string, Value>>, has: (value: Value) => boolean): string[] {
  return Object.keys(values)
    .filter((name) => has(values[name] as Value))
    .sort();
}

function objectOf({ fields }: ObjectType, types: Record<string, unknown>) {
  const properties = fields.map((field) => {
    const { isOptional, description } = field;
    const property = {
      ...propertyOf(field, types),
      ...(isOptional && { optional: true }),
      description: [description, isOptional && `Default: ${defaultOf(field)}.`].filter(Boolean).join(" "),
    };
    return [field.name, property] as const;
  });
  return {
    properties: Object.fromEntries(properties),
    required: fields
      .filter(({ isOptional }) => !isOptional)
      .map(({ name }) => name)
      .sort(),
  };
}

/** A value in Pulumi's schema. Adds the types that it names. */
function propertyOf({ type, isLater }: Argument, types: Record<string, unknown>): Property {
  const plain = isLater ? {} : { plain: true };
  switch (type.kind) {
    case "any":
      // An object of JSON.
      return { type: "object", additionalProperties: { $ref: "pulumi.json#/Any" }, ...plain };
    case "list":
      return { type: "array", items: propertyOf(type.each, types), ...plain };
    case "map":
      return { type: "object", additionalProperties: propertyOf(type.each, types), ...plain };
    case "either":
      // Pulumi has no such union. "all" is for operator.yaml.
      return propertyOf(type.types.find((each) => each.type.kind === "list") as Argument, types);
    case "words":
      return { $ref: named(type, types, () => enumOf(type.words)), ...plain };
    case "object":
      return { $ref: named(type, types, () => ({ type: "object", ...objectOf(type, types) })), ...plain };
    default:
      return { type: type.kind, ...plain };
  }
}

function typeReference(type: string): string {
  return `#/types/${NAME}:index:${type}`;
}

/** A reference to a type, which is added if it is new. */
function named(
  { type, description }: { readonly type: string; readonly description: string },
  types: Record<string, unknown>,
  build: () => object,
): string {
  const token = `${NAME}:index:${type}`;
  if (!(token in types)) {
    types[token] = {};
    types[token] = { description, ...build() };
  }
  return typeReference(type);
}

function enumOf(words: readonly string[]): object {
  const nameOf = (word: string) =>
    word.replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
  return { type: "string", enum: words.map((value) => ({ name: nameOf(value), value })) };
}

function defaultOf({ default: value, otherwise = "none" }: Argument): string {
  return value === undefined || typeof value === "object" ? otherwise : JSON.stringify(value);
}
