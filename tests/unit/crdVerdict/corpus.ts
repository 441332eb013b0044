import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse, parseAllDocuments } from "yaml";
import type { CrdChange } from "../../../components/crdVerdict/change";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import { versionsOf } from "../../../definition/customResourceDefinition";
import type { Json, JsonObject, Manifest } from "../../../runtime/base/objects";
import { isJsonObject } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";

/** An edit of a CRD, and what is to be said of it. */
export interface CorpusEntry {
  /** What is done, for the title of a test. */
  readonly edit: string;
  /** Both as they are installed. */
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** "breaking field-removed .spec.size", sorted. */
  readonly verdicts: readonly string[];
  /** What is to be said of the edit taken back. */
  readonly reversed?: readonly string[];
  /** An object of the old CRD for which the edit makes a difference, where it makes any. */
  readonly object: Manifest;
  /** What a client of the new CRD writes into the object, for edits that make a difference only then. */
  readonly sent?: { readonly through: string; readonly patch: JsonObject };
  /** Whether an API server refuses the new CRD. @default false */
  readonly refused?: boolean;
  /** Why no API server can show whether the verdicts are true. */
  readonly unseen?: string;
}

/** How an edit is written: merge patches (RFC 7386), and `fields` by their paths. */
interface Edit {
  readonly crd?: JsonObject;
  /** By name. One that is new begins as a copy of the version `like`. */
  readonly versions?: Readonly<Record<string, JsonObject | null>>;
  /** Patches of schemas of v1, by paths as in verdicts; null removes the field. */
  readonly fields?: JsonObject;
}

interface WrittenEntry
  extends Pick<CorpusEntry, "edit" | "verdicts" | "reversed" | "sent" | "refused" | "unseen"> {
  readonly before?: Edit;
  readonly after: Edit;
  /** A patch of the object in base.yaml. */
  readonly object?: JsonObject;
}

const [BASE, OBJECT] = parseAllDocuments(readFileSync(path.join(__dirname, "base.yaml"), "utf8")).map(
  (document) => document.toJS() as JsonObject,
);

/** Every edit of corpus/*.yaml. */
export function readCorpus(): CorpusEntry[] {
  const folder = path.join(__dirname, "corpus");
  return readdirSync(folder)
    .sort()
    .flatMap((file) => parse(readFileSync(path.join(folder, file), "utf8")) as WrittenEntry[])
    .map(({ before: patch = {}, after, object = {}, verdicts, reversed, ...entry }) => {
      const before = edited(baseCrd(), patch);
      return {
        ...entry,
        before,
        after: edited(before, after),
        verdicts: [...verdicts].sort(),
        ...(reversed && { reversed: [...reversed].sort() }),
        object: merged(OBJECT ?? {}, object) as unknown as Manifest,
      };
    });
}

/** The CRD of base.yaml as it is installed. */
export const baseCrd = (): JsonObject => structuredClone(INSTALLED);

function install(): JsonObject {
  assert.ok(BASE);
  const customResource = { group: "shop.example.com", version: "v1", kind: "Gadget", plural: "gadgets" };
  return buildCustomResourceDefinition({ crd: BASE, customResource } as unknown as Operator) as JsonObject;
}

const INSTALLED = install();

/** The changes as a corpus writes them. */
export function verdictsOf(changes: readonly CrdChange[]): string[] {
  return changes.map(({ verdict, change, path }) => `${verdict} ${change} ${path}`).sort();
}

function edited(crd: JsonObject, { crd: patch = {}, versions = {}, fields = {} }: Edit): JsonObject {
  const result = merged(crd, patch) as JsonObject;
  const byName = new Map(versionsOf(result).map((version) => [String(version.name), version]));
  for (const [name, change] of Object.entries(versions)) {
    if (change === null) byName.delete(name);
    else byName.set(name, editedVersion(name, byName, change));
  }
  for (const [name, change] of Object.entries(fields)) {
    const version = byName.get("v1");
    assert.ok(version);
    editField(version, name, change);
  }
  (result.spec as JsonObject).versions = [...byName.values()];
  return result;
}

function editedVersion(name: string, versions: Map<string, JsonObject>, change: JsonObject): JsonObject {
  const { like, fields, ...patch } = change;
  const origin = versions.get(typeof like === "string" ? like : name);
  assert.ok(origin, `there is no version to begin ${name} with`);
  const version = merged(origin, { ...patch, name }) as JsonObject;
  for (const [field, value] of Object.entries((fields as JsonObject) ?? {})) editField(version, field, value);
  return version;
}

/** Patches the schema at a path, ".spec.ports[].name", or removes it. */
function editField(version: JsonObject, field: string, change: Json): void {
  const steps = field.match(/\.[^.[{]+|\[\]|\{\}/g) ?? [];
  let parent = version.schema as JsonObject;
  let key = "openAPIV3Schema";
  for (const step of steps) {
    const schema = parent[key] as JsonObject;
    if (step.startsWith(".")) {
      schema.properties ??= {};
      [parent, key] = [schema.properties as JsonObject, step.slice(1)];
    } else [parent, key] = [schema, step === "[]" ? "items" : "additionalProperties"];
  }
  if (change === null) {
    assert.ok(key in parent, `there is no field ${field}`);
    delete parent[key];
  } else parent[key] = merged(parent[key] ?? {}, change);
}

/** RFC 7386. */
function merged(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return structuredClone(patch);
  const result: JsonObject = isJsonObject(target) ? structuredClone(target) : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}
