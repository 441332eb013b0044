import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { check } from "../definition/checks";
import { checkCommand } from "../definition/commandOnPath";
import { NAME } from "../definition/fields/identity";
import { foldersAbove } from "../definition/foldersAbove";
import { SCHEMA_FILE, schemaAddress, schemaComment } from "../definition/jsonSchema";
import { loadOperator } from "../definition/loadOperator";
import { loadOperatorsInOrder } from "../definition/loadOperators";
import { didYouMean } from "../definition/nearest";
import { displayPath, Problems } from "../definition/problems";
import { name as PACKAGE_NAME } from "../package.json";
import { pluralOf } from "../runtime/kubernetes/kinds";
import type { JsonObject } from "../runtime/kubernetes/objects";
import { asTyped } from "./asTyped";
import { CommandError, EXIT_CODES, UsageError } from "./commandError";
import { type NewKind, parseFields, parseKind, type SpecField } from "./new/fields";
import { LANGUAGES, type Language } from "./new/languages";
import { writeNewFiles } from "./newFiles";
import { findProject, type HandlersOptions } from "./project";
import { print } from "./terminal";
import { yaml } from "./yaml";

/** @see newOperator */
export interface NewOptions extends HandlersOptions {
  readonly language: string;
  readonly name?: string;
  readonly cluster?: true;
}

/**
 * `argosy new`: creates a working operator: its definition, its CRD, a handler, and a fixture that passes.
 *
 * @param args the kind, "shop.example.com/Cache", and the fields of its spec
 * @throws UsageError for a wrong kind, field or language; CommandError if the operator's folder exists, or if the kind has an operator
 */
export async function newOperator(
  [kindText = "", ...texts]: readonly string[],
  options: NewOptions,
): Promise<number> {
  const kind = parseKind(kindText);
  const fields = parseFields(texts);
  const language = languageNamed(options.language);
  const handlers = options.handlers ?? path.join(findProject(options.project), "handlers");
  const name = options.name ?? kind.kind.toLowerCase();
  checkName(name);
  const folder = path.resolve(handlers, name);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandError(
      `${displayPath(folder)} already exists. Nothing is overwritten: remove the folder, or give another name with --name.`,
    );
  }
  refuseOwned(kind, handlers);
  const isNamespaced = options.cluster !== true;
  const files: Readonly<Record<string, string>> = {
    "operator.yaml": `${schemaComment(schemaFor(folder))}\n${yaml({
      crd: "crd.yaml",
      handler: language.handler,
      children: ["v1/ConfigMap"],
    })}`,
    "crd.yaml": yaml(crdOf(kind, fields, isNamespaced)),
    [language.file]: language.source(kind.kind, isNamespaced ? BESIDE : IN_DEFAULT),
    "fixtures/created.yaml": `# A new ${kind.kind}: there are no children yet.\n${yaml(fixtureOf(kind, fields, isNamespaced, name))}`,
  };
  writeNewFiles(folder, Object.entries(files));
  for (const file of Object.keys(files)) print(`written  ${displayPath(path.join(folder, file))}`);
  const operator = loadOperator(folder);
  print(nextSteps(name, displayPath(path.join(folder, language.file))));
  // The handler's interpreter may not be on this machine. In that case only the test of the handler has to wait.
  checkCommand(operator);
  return EXIT_CODES.fine;
}

function checkName(name: string): void {
  const problems = new Problems();
  check(NAME, name, problems.at("--name"));
  if (problems.found) throw new UsageError(problems.toError().message);
}

/** @throws CommandError if an operator here owns the kind already */
function refuseOwned({ group, kind }: NewKind, handlers: string): void {
  if (!existsSync(handlers)) return;
  const owner = loadOperatorsInOrder(handlers).operators.find(
    ({ watch, customResource }) => !watch && customResource.group === group && customResource.kind === kind,
  );
  if (!owner) return;
  throw new CommandError(
    `${displayPath(owner.folder)} is already the operator of ${group}/${kind}, and a kind has one. Edit its handler, or give another kind.`,
  );
}

const BESIDE = { json: "", script: "" };
/** An object of cluster scope has no namespace that its child could get. */
const IN_DEFAULT = { json: ', "namespace": "default"', script: ', namespace: "default"' };

function languageNamed(word: string): Language {
  const language = Object.hasOwn(LANGUAGES, word) ? LANGUAGES[word] : undefined;
  if (language) return language;
  const known = Object.keys(LANGUAGES);
  const advice = didYouMean(word, known, `Known languages: ${known.join(", ")}.`);
  throw new UsageError(`--language ${word}: there is no such language. ${advice}`);
}

function crdOf({ group, kind }: NewKind, fields: readonly SpecField[], isNamespaced: boolean): JsonObject {
  const plural = pluralOf(`${group}/v1`, kind);
  const required = fields.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const properties = Object.fromEntries(fields.map(({ name, schema }) => [name, schema]));
  const spec = { type: "object", ...(required.length > 0 && { required }), properties };
  const status = { type: "object", properties: { fields: { type: "integer" } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: isNamespaced ? "Namespaced" : "Cluster",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec, status } } },
        },
      ],
    },
  };
}

function fixtureOf(
  { group, kind }: NewKind,
  fields: readonly SpecField[],
  isNamespaced: boolean,
  operator: string,
): JsonObject {
  // Each handler names its ConfigMap after the object. So samples of several operators need names of their own.
  const name = `${operator}-example`;
  const spec = Object.fromEntries(fields.map(({ name, sample }) => [name, sample]));
  const data = Object.fromEntries(fields.map(({ name, sample }) => [name, JSON.stringify(sample)]));
  const metadata = isNamespaced ? { name, namespace: "default" } : { name };
  const place = { name, ...(!isNamespaced && { namespace: "default" }) };
  const child = { apiVersion: "v1", kind: "ConfigMap", metadata: place, data };
  return {
    object: { apiVersion: `${group}/v1`, kind, metadata, spec },
    answer: { children: [child], status: { fields: fields.length } },
  };
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

function nextSteps(name: string, handler: string): string {
  const test = asTyped(`test ${name} --watch`);
  return `
Next:
  ${test}    the fixture passes; edit ${handler} and watch
  ${asTyped("dev").padEnd(test.length)}    run it on this machine`;
}
