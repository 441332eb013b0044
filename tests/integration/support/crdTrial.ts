import assert from "node:assert/strict";
import { versionsOf } from "../../../definition/customResourceDefinition";
import type { Json, JsonObject, Manifest } from "../../../runtime/base/objects";
import { isJsonObject } from "../../../runtime/base/objects";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { ApiError } from "../../../runtime/kubernetes/errors";
import type { ApiRequest } from "../../../runtime/kubernetes/exchange";
import { HttpTransport } from "../../../runtime/kubernetes/transport";
import { eventually } from "../../support/eventually";
import type { CorpusEntry } from "../../unit/crdVerdict/corpus";

/** What was in order with the old CRD, and is not with the new one: what was asked, and what came instead. */
export type Damage = Readonly<Record<string, string>>;

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";
const COLUMN = "InForce";

/**
 * Tries on a real API server what a change of a CRD does to an object that is stored and to those who use it. Both are
 * put into a group of their own, so that many can be tried in one cluster.
 */
export class CrdTrial {
  private readonly transport: HttpTransport;
  private readonly before: JsonObject;
  private readonly after: JsonObject;
  private readonly object: Manifest;
  private readonly sent: CorpusEntry["sent"];

  constructor(
    connection: ClusterConnection,
    private readonly group: string,
    { before, after, object, sent }: Pick<CorpusEntry, "before" | "after" | "object" | "sent">,
  ) {
    this.transport = new HttpTransport(connection);
    this.object = object;
    this.sent = sent;
    this.before = marked(before, group, "before");
    this.after = marked(after, group, "after");
  }

  /** Installs the old CRD, stores the object, installs the new CRD, and asks whatever could be asked before. */
  async run(): Promise<Damage> {
    try {
      await this.post(CRDS, this.before);
      await this.isInForce(this.before);
      await this.store();
      const wanted = await this.observe();
      const refusal = await this.update();
      if (refusal !== undefined) return { "the new CRD": refusal };
      await this.isInForce(this.after);
      return { ...damageOf(wanted, await this.observe()), ...(await this.send()) };
    } finally {
      await this.answer({ method: "DELETE", path: this.crdPath() });
      this.transport.close();
    }
  }

  private async store(): Promise<void> {
    await this.post(this.objectsPath("v1"), this.manifest("v1", "stored"));
    await this.post(this.objectsPath("v1"), this.manifest("v1", "fresh"));
    const { status } = this.object;
    const path = `${this.objectsPath("v1")}/stored/status`;
    await this.answer({ method: "PATCH", path, contentType: MERGE, body: { status } });
  }

  /** The answers to everything that clients of the old CRD may ask. Nothing is written. */
  private async observe(): Promise<Map<string, Json | Error>> {
    const questions: [string, ApiRequest][] = [];
    for (const version of versionsOf(this.before).filter(({ served }) => served === true)) {
      questions.push(...this.questions(version));
    }
    const answers = new Map<string, Json | Error>();
    for (const [question, request] of questions) answers.set(question, await this.answer(request));
    answers.set("the names", namesOf(await this.readCrd()));
    return answers;
  }

  /** Writes what a client of the new CRD sends, and then something else through each other version. */
  private async send(): Promise<Damage> {
    if (!this.sent) return {};
    const { through, patch } = this.sent;
    const stored = (version: string) => `${this.objectsPath(version)}/stored`;
    const write = (version: string, body: JsonObject) =>
      this.transport.send({ method: "PATCH", path: stored(version), contentType: MERGE, body });
    await write(through, patch);
    for (const { name, served } of versionsOf(this.after)) {
      if (served !== true || name === through) continue;
      await write(String(name), { metadata: { labels: { written: String(name) } } });
    }
    const found = await this.answer({ method: "GET", path: stored(through) });
    const what = `${through}: what was sent`;
    return damageOf(new Map([[what, patch]]), new Map([[what, found]]));
  }

  private questions(version: JsonObject): [string, ApiRequest][] {
    const name = String(version.name);
    const objects = this.objectsPath(name);
    const stored = `${objects}/stored`;
    const dryRun = "dryRun=All&fieldValidation=Strict";
    const write = { method: "PATCH", contentType: MERGE } as const;
    const again = this.manifest(name, "stored");
    const apply = { method: "PATCH", contentType: "application/apply-patch+yaml", body: again } as const;
    const { status } = this.object;
    const selectable = Array.isArray(version.selectableFields) ? version.selectableFields : [];
    const questions: [string, ApiRequest][] = [
      ["the object", { method: "GET", path: stored }],
      ["the object again", { ...apply, path: `${stored}?${dryRun}&fieldManager=trial&force=true` }],
      ["another one", { method: "POST", path: `${objects}?${dryRun}`, body: this.manifest(name, "other") }],
      ["a change", { ...write, path: `${stored}?${dryRun}`, body: { spec: { size: 4 } } }],
      // What an update leaves as it was is not checked.
      ["the first status", { ...write, path: `${objects}/fresh/status?${dryRun}`, body: { status } }],
      ["the status again", { ...write, path: `${stored}/status?${dryRun}`, body: { status } }],
      ["the scale", { method: "GET", path: `${stored}/scale` }],
      ...selectable.filter(isJsonObject).map(({ jsonPath }): [string, ApiRequest] => {
        const selector = `${String(jsonPath).slice(1)}!=nothing`;
        return [`those with ${selector}`, { method: "GET", path: `${objects}?fieldSelector=${selector}` }];
      }),
    ];
    return questions.map(([question, request]) => [`${name}: ${question}`, request]);
  }

  private async update(): Promise<string | undefined> {
    for (;;) {
      const { metadata } = (await this.readCrd()) as { metadata: JsonObject };
      const { resourceVersion } = metadata;
      const body = { ...this.after, metadata: { ...(this.after.metadata as JsonObject), resourceVersion } };
      const answer = await this.answer({ method: "PUT", path: this.crdPath(), body });
      // The API server's own controllers write conditions at the same time.
      if (answer instanceof ApiError && answer.code === 409) continue;
      return answer instanceof Error ? answer.message : undefined;
    }
  }

  /** Each CRD shows a column named after it: the API server exchanges a CRD's columns with its schemas. */
  private async isInForce(crd: JsonObject): Promise<void> {
    const served = versionsOf(crd).find((version) => version.served === true);
    const path = this.objectsPath(String(served?.name));
    await eventually(async () => {
      const { spec, status } = (await this.readCrd()) as { spec: JsonObject; status: JsonObject };
      const names = JSON.stringify(sortedNames(spec.names));
      assert.equal(JSON.stringify(sortedNames(status.acceptedNames)), names);
      // A CRD is served before it is established, and until then the API server accepts another kind or scope.
      const conditions = status.conditions as { type: string; status: string }[];
      assert.ok(conditions.some((found) => found.type === "Established" && found.status === "True"));
      const table = await this.transport.send<{ columnDefinitions: { name: string; description: string }[] }>(
        {
          method: "GET",
          path,
          accept: TABLE,
        },
      );
      const columns = table.body.columnDefinitions.filter(({ name }) => name === COLUMN);
      assert.equal(columns[0]?.description, crd === this.before ? "before" : "after");
    });
  }

  private async readCrd(): Promise<JsonObject> {
    return (await this.transport.send<JsonObject>({ method: "GET", path: this.crdPath() })).body;
  }

  private async post(path: string, body: object): Promise<void> {
    await this.transport.send({ method: "POST", path, body });
  }

  private async answer(request: ApiRequest): Promise<Json | Error> {
    try {
      return contentOf((await this.transport.send<JsonObject>(request)).body);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  private manifest(version: string, name: string): Manifest {
    return { ...this.object, apiVersion: `${this.group}/${version}`, metadata: { name } };
  }

  private crdPath(): string {
    return `${CRDS}/${(this.before.metadata as JsonObject).name}`;
  }

  private objectsPath(version: string): string {
    return `/apis/${this.group}/${version}/namespaces/default/gadgets`;
  }
}

const MERGE = "application/merge-patch+json";

/** Everything but what differs from one request to the next. */
function contentOf({ metadata: _, items, apiVersion, kind, ...content }: JsonObject): JsonObject {
  const count = Array.isArray(items) ? { items: items.length } : {};
  return { ...content, ...count, apiVersion: apiVersion ?? null, kind: kind ?? null };
}

function damageOf(wanted: Map<string, Json | Error>, found: Map<string, Json | Error>): Damage {
  const damage: Record<string, string> = {};
  for (const [question, answer] of wanted) {
    if (answer instanceof Error) continue;
    const now = found.get(question);
    if (now instanceof Error) damage[question] = now.message;
    else if (!contains(now, answer)) {
      damage[question] = `${JSON.stringify(answer)} is ${JSON.stringify(now)}`;
    }
  }
  return damage;
}

/** Everything of `part` is in `whole`: more fields may be. */
function contains(whole: Json | undefined, part: Json): boolean {
  if (Array.isArray(part)) {
    const sameLength = Array.isArray(whole) && whole.length === part.length;
    return sameLength && part.every((item, index) => contains(whole[index], item));
  }
  if (!isJsonObject(part)) return whole === part;
  return isJsonObject(whole) && Object.entries(part).every(([key, value]) => contains(whole[key], value));
}

function namesOf({ status, spec }: JsonObject): JsonObject {
  const { scope } = spec as JsonObject;
  const { shortNames, categories, ...names } = (status as { acceptedNames: JsonObject }).acceptedNames;
  const set = (list: Json | undefined) =>
    Object.fromEntries((Array.isArray(list) ? list : []).map((name) => [String(name), true]));
  return { ...names, scope: scope ?? null, shortNames: set(shortNames), categories: set(categories) };
}

function sortedNames(names: Json | undefined): [string, Json][] {
  return isJsonObject(names) ? Object.entries(names).sort(([a], [b]) => (a < b ? -1 : 1)) : [];
}

/** The CRD in its own group, with a column by whose description it can be told. */
function marked(crd: JsonObject, group: string, mark: string): JsonObject {
  const column = { name: COLUMN, type: "string", jsonPath: ".metadata.name", description: mark };
  const versions = versionsOf(crd).map((version) => ({
    ...version,
    additionalPrinterColumns: [...((version.additionalPrinterColumns as Json[]) ?? []), column],
  }));
  const spec = { ...(crd.spec as JsonObject), group, versions };
  return { ...crd, spec, metadata: { name: `gadgets.${group}` } };
}
