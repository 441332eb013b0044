import { readFileSync } from "node:fs";
import type { Document } from "yaml";
import { buildRoles } from "../components/manifests/operator/rbac";
import { check } from "../definition/checks";
import { specSchemaOf } from "../definition/customResourceDefinition";
import { definitionFile } from "../definition/definitionFile";
import { loadOperator } from "../definition/loadOperator";
import { didYouMean } from "../definition/nearest";
import { displayPath, Problems } from "../definition/problems";
import { DEFINITION } from "../definition/schema";
import type { Operator } from "../runtime/definition/definition";
import { isJsonObject, type Json, type JsonObject } from "../runtime/kubernetes/objects";
import { kindOfKey } from "../runtime/kubernetes/resource";
import { type Entry, isAliased, onlyDocument, withEntry } from "./add/yamlEntry";
import { CommandError, EXIT_CODES, UsageError } from "./commandError";
import { DEFAULT_HOME } from "./inspect/installed";
import { keepingLineEnds } from "./lineEnds";
import { findHandlers, type HandlersOptions, loadChosen, loaderOf } from "./project";
import { rewriteFile } from "./rewriteFile";
import { compareRights, objectsOf, placeOf, rightsIn } from "./rights/rights";
import { print } from "./terminal";

/** @see add */
export interface AddOptions extends HandlersOptions {
  /** The way in which a child is changed. */
  readonly update?: string;
  /** The namespace of used objects, which is a constant. */
  readonly namespace?: string;
  /** The time zone of a schedule. */
  readonly timeZone?: string;
}

/** The options that only some things have, as they are typed. */
const OWN_OPTIONS = [
  ["update", "--update"],
  ["namespace", "--namespace"],
  ["timeZone", "--time-zone"],
] as const;

/** The things that can be added, each with its arguments. */
const KINDS: Readonly<
  Record<
    string,
    {
      readonly usage: string;
      /** The options that it has. */
      readonly options: readonly (typeof OWN_OPTIONS)[number][0][];
      entryOf(words: readonly string[], options: AddOptions, operator: Operator): Entry | undefined;
    }
  >
> = {
  child: {
    usage: "argosy add child OPERATOR apps/v1/Deployment [--update recreate]",
    options: ["update"],
    entryOf: ([kind, ...others], { update }) => {
      if (kind === undefined || others.length > 0) return undefined;
      if (update === undefined) return { field: "children", value: kind };
      return { field: "children", value: { ...kindOfKey(kind), update } };
    },
  },
  uses: {
    usage: "argosy add uses OPERATOR credentials v1/Secret spec.credentialsSecret [--namespace shared]",
    options: ["namespace"],
    entryOf: ([key, kind, name, ...others], { namespace }) => {
      if (key === undefined || kind === undefined || name === undefined || others.length > 0)
        return undefined;
      return {
        field: "uses",
        key,
        value: { ...kindOfKey(kind), name, ...(namespace !== undefined && { namespace }) },
      };
    },
  },
  schedule: {
    usage: 'argosy add schedule OPERATOR nightly "0 3 * * *" [--time-zone Europe/Berlin]',
    options: ["timeZone"],
    entryOf: ([key, cron, ...others], { timeZone }) => {
      if (key === undefined || cron === undefined || others.length > 0) return undefined;
      return { field: "schedules", key, value: { cron, ...(timeZone !== undefined && { timeZone }) } };
    },
  },
  event: {
    usage: "argosy add event OPERATOR order-placed [--namespace shop]",
    options: ["namespace"],
    entryOf: ([key, ...others], { namespace }, operator) =>
      key === undefined || others.length > 0
        ? undefined
        : { field: "on", key, value: webhookOf(key, operator, namespace) },
  },
};

/**
 * `argosy add`: adds an entry to an operator's definition, and says which rights its account gains. Nothing is written if the
 * definition would be wrong.
 *
 * @param args the thing to add, the operator, and the thing's arguments
 * @throws UsageError for something that cannot be added; OperatorError if the definition would be wrong
 */
export async function add(
  [what = "", name = "", ...words]: readonly string[],
  options: AddOptions,
): Promise<number> {
  const kind = Object.hasOwn(KINDS, what) ? KINDS[what] : undefined;
  if (!kind) throw unknown(what);
  const wrong = new UsageError(`Write: ${kind.usage}`);
  if (name === "") throw wrong;
  const foreign = OWN_OPTIONS.find(
    ([option]) => options[option] !== undefined && !kind.options.includes(option),
  );
  if (foreign) throw new UsageError(`argosy add ${what} has no option ${foreign[1]}. Write: ${kind.usage}`);
  const [operator] = loadChosen(loaderOf(findHandlers(options)), [name]);
  const entry = operator && kind.entryOf(words, options, operator);
  if (!operator || !entry) throw wrong;
  const file = definitionFile(operator.folder);
  const text = readFileSync(file, "utf8");
  const changed = keepingLineEnds(text, (lines) => {
    const document = onlyDocument(lines);
    refuseEntry(entry, document, displayPath(file));
    return withEntry(lines, document, entry);
  });
  checkText(changed, file);
  rewriteFile(file, changed);
  try {
    const added = loadOperator(operator.folder);
    print(`${displayPath(file)}: Added ${entry.key ?? words[0]} to ${entry.field}.`);
    print(rightsGained(operator, added));
    if (what === "event") print(EVENT_ADVICE);
  } catch (error) {
    // Other files of the operator may show that the definition is wrong.
    rewriteFile(file, text);
    throw error;
  }
  return EXIT_CODES.fine;
}

const EVENT_ADVICE = `The intake of events gains the right to create objects of its kind.
Create the Secret that authSecret names in the operators' namespace. Then make id, when and spec match what the sender sends.`;

/** A webhook whose body has the fields of the object's spec. */
function webhookOf(name: string, { customResource, crd }: Operator, namespace = "default"): JsonObject {
  const { required, properties } = specSchemaOf({ crd, customResource }) ?? {};
  const needed = Array.isArray(required) ? required : [];
  const fields = Object.entries(isJsonObject(properties) ? properties : {}).map(([field, inner]) => {
    const isOptional = !needed.includes(field) || (isJsonObject(inner) && inner.default !== undefined);
    return [field, `body.${field}${isOptional ? "?" : ""}`];
  });
  return {
    webhook: {
      endpoint: `/${name}`,
      method: "POST",
      port: "12000",
      authSecret: { name, key: "token" },
    },
    id: ["body.id"],
    create: {
      kind: customResource.kind,
      ...(customResource.namespaced && { namespace }),
      spec: Object.fromEntries(fields),
    },
  };
}

function unknown(what: string): UsageError {
  const usages = Object.values(KINDS).map(({ usage }) => `  ${usage}`);
  const advice = didYouMean(what, Object.keys(KINDS), `Write one of:\n${usages.join("\n")}`);
  return new UsageError(`argosy add ${what}: nothing with this name can be added. ${advice}`);
}

/** @throws CommandError if the entry is there already, or cannot be added */
function refuseEntry({ field, key, value }: Entry, document: Document, file: string): void {
  if (isAliased(document, field))
    throw new CommandError(`${file}: an alias stands for ${field}. Write it out in the place of the alias.`);
  const there = (document.toJS() as JsonObject)[field];
  const same = (each: Json) => JSON.stringify(shortOf(each)) === JSON.stringify(shortOf(value));
  const isThere =
    key === undefined
      ? Array.isArray(there) && there.some(same)
      : isJsonObject(there) && Object.hasOwn(there, key);
  if (isThere) throw new CommandError(`${file}: ${field} already has ${key ?? String(shortOf(value))}.`);
}

/** A kind in its short form. */
function shortOf(entry: Json): Json {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return entry;
  return `${entry.apiVersion}/${entry.kind}`;
}

/** @throws OperatorError with the same messages as for a mistake in the file */
function checkText(text: string, file: string): void {
  const problems = new Problems();
  check(DEFINITION, onlyDocument(text).toJS(), problems.in(file));
  if (problems.found) throw problems.toError();
}

function rightsGained(before: Operator, after: Operator): string {
  const [was, is] = [before, after].map((operator) => rightsIn(buildRoles(operator, DEFAULT_HOME)));
  const { gained } = compareRights(was ?? [], is ?? []);
  if (gained.length === 0) return "The operator's account gains no rights.";
  const lines = gained.map((right) => `  ${right.verbs.join(", ")} ${objectsOf(right)} ${placeOf(right)}`);
  return `The operator's account gains:\n${lines.join("\n")}`;
}
