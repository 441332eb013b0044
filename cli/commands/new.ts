import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { checkChildren } from "../../definition/checkChildren";
import { check } from "../../definition/checks";
import { checkWatch, watchedKind } from "../../definition/checkWatch";
import { checkCommand } from "../../definition/commandOnPath";
import { NAME } from "../../definition/fields/identity";
import { WATCH } from "../../definition/fields/watch";
import { foldersAbove } from "../../definition/foldersAbove";
import { SCHEMA_FILE, schemaAddress, schemaComment } from "../../definition/jsonSchema";
import { loadOperator } from "../../definition/loadOperator";
import { loadOperatorsInOrder } from "../../definition/loadOperators";
import { didYouMean } from "../../definition/nearest";
import { displayPath, Problems } from "../../definition/problems";
import { name as PACKAGE_NAME } from "../../package.json";
import { pluralOf } from "../../runtime/base/kinds";
import { apiVersionOf, type JsonObject } from "../../runtime/base/objects";
import { isKindKey, kindOfKey } from "../../runtime/base/resource";
import type { Operator } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { writeNewFiles } from "../common/newFiles";
import { choice, flag, type HandlersOptions, operatorsOptions, option } from "../common/options";
import { findProject } from "../common/project";
import { rewriteFile } from "../common/rewriteFile";
import { print } from "../common/terminal";
import { yaml } from "../common/yaml";
import { type NewKind, parseFields, parseKind, refuseTwice, type SpecField } from "../new/fields";
import { LANGUAGES, type Language } from "../new/languages";
import { named, readManifests, sampleChild } from "../new/manifests";
import { typesOf } from "../types/typesOf";

/**
 * `argosy new`: creates a working operator: its definition, its CRD, a handler, and a fixture that passes.
 * @throws UsageError for a wrong kind, field or language; OperatorError for manifests that no handler should return;
 * CommandError if the operator's folder exists, or if the kind has an operator
 */
export default command({
  description:
    "Creates a working operator in handlers/: its definition, its CRD with the given fields in spec, a handler that " +
    "returns a ConfigMap, and a fixture that passes. Nothing is overwritten.",
  arguments: [
    [
      "<kind>",
      "the group and the kind, for example shop.example.com/Cache; with --watch, for example apps/v1/Deployment",
    ],
    [
      "[fields...]",
      "fields of spec: a name, a type (string, int, number, bool, list, map), and what limits it: optional, min=, max=, " +
        "enum=, and at the end default=. For example: size:int:min=1:max=9 plan:string:enum=small,large:default=small " +
        "note:string:optional. With --watch, the labels that an object must have, for example report=true",
    ],
  ],
  options: [
    choice(
      "--language <name>",
      "the language of the handler, or program for any language",
      Object.keys(LANGUAGES),
      "python",
    ),
    option("--name <operator>", "the operator's name (default: the kind in lower case)"),
    flag("--cluster", "objects of this kind are cluster-scoped"),
    flag("--watch", "watch objects of a kind that exists, instead of having a CRD"),
    option(
      "--from <file>",
      "let the handler return the manifests in this YAML file; their names and references follow the object's " +
        "name, and texts that contain a name, such as a URL, stay",
    ),
    ...operatorsOptions(),
  ],
  async run(kindText, texts, options) {
    const language = languageNamed(options.language);
    const name = options.name ?? kindText.slice(kindText.lastIndexOf("/") + 1).toLowerCase();
    const owner = options.watch
      ? watchedOwner(kindText, texts, options.cluster)
      : ownOwner(kindText, texts, options.cluster);
    const handlers = options.handlers ?? path.join(findProject(options.project), "handlers");
    checkName(name);
    const folder = path.resolve(handlers, name);
    if (existsSync(folder) && readdirSync(folder).length > 0) {
      throw new CommandError(
        `${displayPath(folder)} already exists. Nothing is overwritten: remove the folder, or give another name with --name.`,
      );
    }
    const { kind, namespaced } = owner.resource;
    refuseTaken(name, owner.resource, handlers);
    const children = childrenFor(owner, options.from);
    const handler = children
      ? language.returning(kind, children)
      : language.source(kind, namespaced ? IN_OWN_NAMESPACE : IN_DEFAULT);
    const files: Readonly<Record<string, string>> = {
      "operator.yaml": `${schemaComment(schemaFor(folder))}\n${yaml({
        ...(owner.watch ? { watch: owner.watch } : { crd: "crd.yaml" }),
        handler: language.handler,
        children: [
          ...new Set((children ?? [CONFIG_MAP]).map(({ apiVersion, kind }) => `${apiVersion}/${kind}`)),
        ],
      })}`,
      ...(!owner.watch && { "crd.yaml": yaml(crdOf(owner, children === undefined)) }),
      [language.file]: handler,
      "fixtures/created.yaml": `# A new ${kind}: there are no children yet.\n${yaml(fixtureOf(owner, children, name))}`,
    };
    writeNewFiles(folder, Object.entries(files));
    for (const file of Object.keys(files)) print(`written  ${displayPath(path.join(folder, file))}`);
    const operator = loadOperator(folder);
    if (language.hasTypes) {
      const { file, text } = typesOf(operator);
      rewriteFile(file, text);
      print(`written  ${displayPath(file)}`);
    }
    print(nextSteps(name, displayPath(path.join(folder, language.file)), options));
    // The handler's interpreter may not be on this machine. In that case only the test of the handler has to wait.
    checkCommand(operator);
    return EXIT_CODES.fine;
  },
});

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

/** The kind of the objects that the new operator handles. */
interface Owner {
  readonly resource: Operator["customResource"];
  /** The fields of spec of an own kind. */
  readonly fields: readonly SpecField[];
  /** The `watch` of a kind that exists. */
  readonly watch?: JsonObject & { readonly labels?: Readonly<Record<string, string>> };
}

/** @throws UsageError for a wrong kind or field */
function ownOwner(text: string, fields: readonly string[], cluster: true | undefined): Owner {
  const { group, kind } = parseKind(text);
  const plural = pluralOf(`${group}/v1`, kind);
  return {
    resource: { group, version: "v1", kind, plural, namespaced: cluster !== true },
    fields: parseFields(fields),
  };
}

/** @throws UsageError for something that cannot be watched */
function watchedOwner(text: string, words: readonly string[], cluster: true | undefined): Owner {
  if (!isKindKey(text))
    throw new UsageError(`${text}: this is not a kind. Write, for example, apps/v1/Deployment.`);
  if (cluster)
    throw new UsageError(
      "--cluster and --watch are both given. Only a kind of your own has a scope to choose.",
    );
  const pairs = words.map(parseLabel);
  refuseTwice(
    pairs.map(([name]) => name),
    "label",
  );
  const labels = Object.fromEntries(pairs);
  const watch = { ...kindOfKey(text), ...(words.length > 0 && { labels }) };
  const problems = new Problems();
  const report = problems.at(text);
  const checked = check(WATCH, watch, report, "watch");
  const resource = checked && watchedKind(checked);
  if (checked) checkWatch(checked, "all", { installation: "", name: "" }, report);
  // A handler begins with a ConfigMap.
  const declared = [{ ...CONFIG_MAP, retired: false }];
  checkChildren({ children: declared, namespaces: "all", watch: checked }, resource, report);
  if (!resource || problems.found) throw new UsageError(problems.toError().message);
  return { resource, fields: [], watch };
}

function parseLabel(word: string): readonly [name: string, value: string] {
  const at = word.indexOf("=");
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
  throw new UsageError(`${word}: with --watch, this is not a label. Write, for example, report=true.`);
}

/** The manifests that the handler returns. Undefined for a ConfigMap with the fields of spec. */
function childrenFor(
  { resource, watch }: Owner,
  file: string | undefined,
): readonly JsonObject[] | undefined {
  if (file !== undefined) return readManifests(path.resolve(file), resource);
  return watch && [sampleChild(resource.namespaced, `It belongs to a ${resource.kind}.`)];
}

function checkName(name: string): void {
  const problems = new Problems();
  check(NAME, name, problems.at("--name"));
  if (problems.found) throw new UsageError(problems.toError().message);
}

/** @throws CommandError if an operator here has the name already, or owns the kind */
function refuseTaken(name: string, { group, kind }: NewKind, handlers: string): void {
  if (!existsSync(handlers)) return;
  const { operators } = loadOperatorsInOrder(handlers);
  const namesake = operators.find((operator) => operator.name === name);
  if (namesake)
    throw new CommandError(
      `${displayPath(namesake.folder)} already has the name ${name}. Give another name with --name.`,
    );
  const owner = operators.find(
    ({ watch, customResource }) => !watch && customResource.group === group && customResource.kind === kind,
  );
  if (!owner) return;
  throw new CommandError(
    `${displayPath(owner.folder)} is already the operator of ${group}/${kind}, and a kind has one. Edit its handler, or give another kind.`,
  );
}

const IN_OWN_NAMESPACE = { json: "", script: "" };
/** An object of cluster scope has no namespace that its child could get. */
const IN_DEFAULT = { json: ', "namespace": "default"', script: ', namespace: "default"' };

function languageNamed(word: string): Language {
  const language = Object.hasOwn(LANGUAGES, word) ? LANGUAGES[word] : undefined;
  if (language) return language;
  const { program: _, ...known } = LANGUAGES;
  const otherwise = `Known languages: ${Object.keys(known).join(", ")}. For any other: program.`;
  const advice = didYouMean(word, Object.keys(LANGUAGES), otherwise);
  throw new UsageError(`--language ${word}: there is no such language. ${advice}`);
}

function crdOf(
  { resource: { group, kind, plural, namespaced }, fields }: Owner,
  hasStatus: boolean,
): JsonObject {
  const required = fields.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const properties = Object.fromEntries(fields.map(({ name, schema }) => [name, schema]));
  const spec = { type: "object", ...(required.length > 0 && { required }), properties };
  const status = hasStatus && { status: { type: "object", properties: { fields: { type: "integer" } } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec, ...status } },
          },
        },
      ],
    },
  };
}

function fixtureOf(
  { resource, fields, watch }: Owner,
  children: readonly JsonObject[] | undefined,
  operator: string,
): JsonObject {
  // Each handler names its children after the object. So samples of several operators need names of their own.
  const name = `${operator}-example`;
  const { kind, namespaced } = resource;
  const labels = watch?.labels;
  const metadata = { name, ...(namespaced && { namespace: "default" }), ...(labels && { labels }) };
  const apiVersion = apiVersionOf(resource);
  if (children) {
    const spec = watch ? {} : { spec: specOf(fields) };
    const answered = children.map((child) => named(child, name));
    return { object: { apiVersion, kind, metadata, ...spec }, answer: { children: answered } };
  }
  const data = Object.fromEntries(fields.map(({ name, sample }) => [name, JSON.stringify(sample)]));
  const place = { name, ...(!namespaced && { namespace: "default" }) };
  return {
    object: { apiVersion, kind, metadata, spec: specOf(fields) },
    answer: { children: [{ ...CONFIG_MAP, metadata: place, data }], status: { fields: fields.length } },
  };
}

function specOf(fields: readonly SpecField[]): JsonObject {
  return Object.fromEntries(fields.map(({ name, sample }) => [name, sample]));
}

/** Where an editor finds the schema of operator.yaml: in the package that is installed above, else in the registry. */
function schemaFor(folder: string): string {
  const found = foldersAbove(path.dirname(folder))
    .flatMap((place) =>
      [SCHEMA_FILE, `node_modules/${PACKAGE_NAME}/${SCHEMA_FILE}`].map((file) => path.join(place, file)),
    )
    .find((file) => existsSync(file));
  if (found === undefined) return schemaAddress(PACKAGE_NAME);
  return path.relative(folder, found).split(path.sep).join("/");
}

function nextSteps(name: string, handler: string, options: HandlersOptions): string {
  const test = asTyped(`test ${name} --watch`, options);
  return `
Next:
  ${test}    the fixture passes; edit ${handler} and watch
  ${asTyped("dev", options).padEnd(test.length)}    run it on this machine`;
}
