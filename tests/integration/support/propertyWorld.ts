import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../../../runtime/kubernetes/errors";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/kubernetes/objects";
import { CHILD_OF_LABEL, identityOf } from "../../../runtime/names";
import type { Reference } from "../../../tools/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "./api";
import { configMap, inNamespace } from "./manifests";
import {
  childrenOf,
  FAILURES,
  type PropertySpec,
  RUNS_FILE,
  type RunMark,
  VERSION_FILE,
} from "./propertyHandler";
import { TcpProxy } from "./tcpProxy";
import { type TestController, TestOperator, type TestOperatorOptions } from "./testOperator";
import { conditionOf, statusOf } from "./useOperator";

/** What the test believes of one object. */
interface Model {
  readonly spec: PropertySpec;
  /** Of one whose handler fails: what the last good spec has left. */
  readonly left?: { readonly children: readonly Manifest[]; readonly value: number | undefined };
}

/** Another field manager's fields on an object, as long as that object lives. */
interface Mark {
  readonly uid: string;
  readonly reference: Reference;
}

const FOREIGN = "foreign";
/** A field of a ConfigMap that an autoscaler sets, and no handler answers. */
const SCALED = "scaled";
/** How the names of objects begin that others have made as controlled by ours. */
const FOREIGN_PREFIX = "of-others-";
const FOREIGN_CONDITION = "example.com/Foreign";
const LEASE_SECONDS = 6;
/** Failed objects come back late, and leases must be over. */
const QUIET = { timeoutMs: 240_000 };
const KINDS = ["ConfigMap", "Secret", "Service"];
/** The spec of an object that a bystander is in the way of. */
const BLOCKED = { mode: "good", value: 0, maps: 1, secret: false, service: false, delayMs: 0 } as const;

/** How many names were given in this process. */
let renamed = 0;

/** An operator at work, everybody who interferes with it, and what must be there when they are quiet. */
export class PropertyWorld {
  private readonly models = new Map<string, Model>();
  private readonly marks: Mark[] = [];
  private conditions: Mark[] = [];
  /** What an autoscaler has set last, by the child's uid. */
  private readonly scalings = new Map<string, { readonly child: Reference; readonly value: string }>();
  /** What other controllers have made as controlled by our objects, as they made it. */
  private foreigners: KubernetesObject[] = [];
  private bystanders: KubernetesObject[] = [];
  private main: TestController | undefined;
  private second: TestController | undefined;
  private version = 1;
  private started = 0;
  /** The operator under the names that it had before in this world. */
  private readonly former: TestOperator[] = [];

  private constructor(
    private operator: TestOperator,
    private readonly options: TestOperatorOptions,
    private readonly proxy: TcpProxy,
    private readonly namespace: string,
    /** Where no owner reference reaches. */
    readonly far: string,
  ) {}

  /**
   * A world with nothing but bystanders in it, and one controller.
   * @param options what the operator is made of, to make it again under another name
   */
  static async begin(operator: TestOperator, options: TestOperatorOptions): Promise<PropertyWorld> {
    const { api } = operator.cluster;
    const proxy = await TcpProxy.start(operator.connection);
    const [here, far] = [await api.newNamespace("property"), await api.newNamespace("property-far")];
    const world = new PropertyWorld(operator, options, proxy, here, far);
    world.writeFiles();
    const labels = { app: "o-0", [CHILD_OF_LABEL]: identityOf(operator.operator) };
    world.bystanders = await Promise.all(
      [
        inNamespace(configMap("bystander", { of: "others" }), here),
        inNamespace(configMap("o-0-bystander", {}, { labels }), here),
        inNamespace(configMap("bystander", {}, { labels }), far),
        inNamespace(configMap("blocked-0", { value: "in the way" }), here),
      ].map((manifest) => api.create(manifest)),
    );
    await api.apply(world.manifest("blocked", BLOCKED));
    world.main = await world.start("main", proxy);
    return world;
  }

  /** Creates an object or changes its spec. */
  async put(name: string, spec: PropertySpec): Promise<void> {
    const before = this.models.get(name);
    let left = before?.left;
    if (spec.mode !== "good" && !left) {
      // What the failure leaves is known only of an object that has come to rest.
      if (before) await eventually(() => this.assertRight(name), QUIET);
      left = { children: this.childrenNow(name), value: before?.spec.value };
    }
    await this.api.apply(this.manifest(name, spec));
    this.models.set(name, spec.mode === "good" || !left ? { spec } : { spec, left });
  }

  async delete(name: string): Promise<void> {
    await this.api.delete(this.reference(name));
    await eventually(() => this.api.assertGone(this.reference(name)), QUIET);
    this.models.delete(name);
  }

  /** Changes a field of a child that is the engine's. */
  async editChild(name: string, pick: number): Promise<void> {
    const child = this.pickHealed(name, pick);
    if (!child) return;
    const change =
      child.kind === "Service" ? {} : { data: { value: Buffer.from("edited").toString("base64") } };
    await tolerate(this.api.patch(child, { metadata: { labels: { app: "edited" } }, ...change }));
  }

  async deleteChild(name: string, pick: number): Promise<void> {
    const child = this.pickHealed(name, pick);
    if (child) await tolerate(this.api.delete(child));
  }

  /** Sets fields of a child that the engine does not set, as another field manager. */
  async markChild(name: string, pick: number): Promise<void> {
    const children = this.childrenNow(name);
    const child = children[pick % children.length];
    const found = child && (await this.api.find(child));
    if (!found) return;
    const { metadata, apiVersion, kind } = found;
    const kept = { [FOREIGN]: "kept" };
    const manifest: Manifest = {
      apiVersion,
      kind,
      metadata: { name: metadata.name, uid: metadata.uid, labels: kept, annotations: kept },
      ...(kind === "ConfigMap" && { data: kept }),
    };
    if (metadata.namespace) manifest.metadata.namespace = metadata.namespace;
    if (await tolerate(this.api.apply(manifest, FOREIGN))) {
      this.marks.push({ uid: metadata.uid, reference: child });
    }
  }

  /** Adds a condition to an object's status, as another field manager. */
  async addCondition(name: string): Promise<void> {
    if (!this.models.has(name)) return;
    const reference = this.reference(name);
    const condition = {
      ...{ type: FOREIGN_CONDITION, status: "True", reason: "Foreign", message: "" },
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const written = await this.api.applyStatus(
      reference,
      { conditions: [condition] },
      { manager: FOREIGN, force: false },
    );
    this.conditions.push({ uid: written.metadata.uid, reference });
  }

  /** Makes an object as controlled by one of ours, as another controller of the same kind would. */
  async addForeigner(name: string): Promise<KubernetesObject | undefined> {
    const owner = this.models.has(name) && (await this.api.find(this.reference(name)));
    if (!owner) return undefined;
    const { apiVersion, kind, metadata } = owner;
    const reference = { apiVersion, kind, name, uid: metadata.uid, controller: true };
    const manifest = configMap(
      `${FOREIGN_PREFIX}${name}-${this.foreigners.length}`,
      { of: "others" },
      { ownerReferences: [reference], labels: this.operator.childLabels },
    );
    const made = await this.api.create(inNamespace(manifest, this.namespace));
    this.foreigners.push(made);
    return made;
  }

  /** The same, and somebody writes to it under the operator's own field manager. */
  async addForgery(name: string): Promise<void> {
    const made = await this.addForeigner(name);
    if (!made) return;
    const { namespace } = made.metadata;
    const forged = inNamespace(configMap(made.metadata.name, { forged: "yes" }), namespace ?? "");
    const written = await tolerate(this.api.apply(forged, this.operator.fieldManager));
    if (written) this.foreigners.splice(this.foreigners.indexOf(made), 1, written);
  }

  /** Deletes an object in the middle of a run so that its children stay, and then these. */
  async orphan(name: string): Promise<void> {
    const before = this.models.get(name);
    if (before?.spec.mode !== "good") return;
    await eventually(() => this.assertRight(name), QUIET);
    const kept = this.childrenNow(name).filter(({ metadata }) => metadata.namespace === this.namespace);
    const spec = { ...before.spec, value: before.spec.value + 1 };
    await this.api.apply(this.manifest(name, spec));
    await this.api.delete(this.reference(name), "Orphan");
    await eventually(() => this.api.assertGone(this.reference(name)), QUIET);
    this.models.delete(name);
    // The garbage collector takes the owner's reference from what others made too, which so stays.
    for (const made of this.foreigners.filter(
      ({ metadata }) => metadata.ownerReferences?.[0]?.name === name,
    )) {
      await tolerate(this.api.delete(made));
    }
    await sleep(1_000);
    for (const child of kept) {
      const { ownerReferences = [], deletionTimestamp } = (await this.api.get(child)).metadata;
      assert.deepEqual([ownerReferences, deletionTimestamp], [[], undefined], keyOf(child));
      await this.api.delete(child);
    }
  }

  /** Writes an annotation that is nobody's business many times in a row. */
  async touch(name: string): Promise<void> {
    if (!this.models.has(name)) return;
    for (let time = 0; time < 20; time++) {
      await this.api.annotate(this.reference(name), { [FOREIGN]: `${name} ${time}` });
    }
  }

  /** Changes a child back several times, as an autoscaler does that wants it otherwise. */
  async contest(name: string, pick: number): Promise<void> {
    for (let time = 0; time < 8; time++) {
      await this.editChild(name, pick);
      await sleep(40);
    }
  }

  /** Deletes the namespace of the children elsewhere, and creates it again. */
  async renewFar(): Promise<void> {
    const isFar = ({ metadata }: Manifest) => metadata.namespace === this.far;
    await this.renewNamespace(this.far);
    // Where the handler fails, nobody can bring back what went with the namespace.
    for (const [name, { spec, left }] of this.models) {
      if (!left) continue;
      const children = left.children.filter((child) => !isFar(child));
      this.models.set(name, { spec, left: { ...left, children } });
    }
  }

  /** Deletes the namespace of the objects with all that is in it, and creates it again. */
  async renewNear(): Promise<void> {
    await this.renewNamespace(this.namespace);
    this.models.clear();
    this.foreigners = [];
    this.conditions = [];
    await this.api.apply(this.manifest("blocked", BLOCKED));
  }

  /** Deletes a namespace, and creates it again with its bystanders. */
  private async renewNamespace(name: string): Promise<void> {
    const namespace: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await this.api.delete(namespace);
    await eventually(() => this.api.assertGone(namespace), QUIET);
    await this.api.create(namespace);
    const isIn = ({ metadata }: Manifest) => metadata.namespace === name;
    const again = this.bystanders
      .filter(isIn)
      .map(({ apiVersion, kind, metadata: { name: bystander, labels }, ...rest }) =>
        this.api.create({
          ...rest,
          apiVersion,
          kind,
          metadata: { name: bystander, namespace: name, ...(labels && { labels }) },
        }),
      );
    this.bystanders = [...this.bystanders.filter((each) => !isIn(each)), ...(await Promise.all(again))];
  }

  /** Sets a field of a child that the handler does not answer, again and again, as an autoscaler does. */
  async autoscale(name: string, pick: number): Promise<void> {
    const children = this.childrenNow(name).filter(({ kind }) => kind === "ConfigMap");
    const child = children[pick % children.length];
    const found = child && (await this.api.find(child));
    if (!child || !found) return;
    const { uid } = found.metadata;
    for (let time = 0; time < 5; time++) {
      const value = `${pick}-${time}`;
      const patch = { metadata: { uid }, data: { [SCALED]: value } };
      if (!(await tolerate(this.api.patch(child, patch)))) return;
      this.scalings.set(uid, { child, value });
    }
  }

  /** Renames the operator: the runners of the former name end, and one of the new name begins. */
  async rename(): Promise<void> {
    await Promise.all([this.main?.stop(), this.second?.stop()]);
    this.second = undefined;
    this.former.push(this.operator);
    const formerNames = this.former.map(({ operator }) => operator.name);
    const [kindName = ""] = formerNames;
    renamed += 1;
    const name = `renamed-${renamed}-${process.pid}`;
    this.operator = await TestOperator.install(this.operator.cluster, {
      ...this.options,
      ...{ name, kindName, formerNames },
    });
    this.writeFiles();
    this.main = await this.start("main", this.proxy);
  }

  private writeFiles(): void {
    const { folder } = this.operator.operator;
    writeFileSync(path.join(folder, VERSION_FILE), String(this.version));
    writeFileSync(path.join(folder, RUNS_FILE), "");
  }

  /** Changes the handler's files. */
  async renewHandler(): Promise<void> {
    // Who has not seen yet that an object fails now may try the new handler on the good spec before it.
    for (const [name, { left }] of this.models)
      if (left) await eventually(() => this.assertRight(name), QUIET);
    this.version += 1;
    writeFileSync(path.join(this.operator.operator.folder, VERSION_FILE), String(this.version));
    for (const engine of [this.main, this.second]) engine?.controller.renewHandler();
  }

  async restart(): Promise<void> {
    await this.main?.stop();
    this.main = await this.start("main", this.proxy);
  }

  /** Starts a second controller, or stops it. */
  async toggleSecond(): Promise<void> {
    const { second } = this;
    this.second = second ? undefined : await this.start("second");
    await second?.stop();
  }

  cut(): void {
    this.proxy.cut();
  }

  /** Checks all that must hold once everybody is quiet, and that it stays so. */
  async assertQuiet(): Promise<void> {
    await eventually(() => this.assertAllRight(), QUIET);
    await sleep(300);
    await this.assertAllRight();
    this.assertNoOverlap();
  }

  async end(): Promise<void> {
    await Promise.all([this.main?.stop(), this.second?.stop()]);
    await this.proxy.stop();
    const { api, operator } = this;
    const { apiVersion, kind } = operator.object("any");
    // None of them may be there for the next world's controllers. What they need a finalizer for goes with it.
    for (const object of await api.list({ apiVersion, kind }, this.namespace)) {
      await api.patch(object, { metadata: { finalizers: [] } });
      await api.delete(object);
    }
    // The first one is not ours to remove.
    for (const each of [...this.former, this.operator].slice(1)) await each.dispose();
  }

  private async assertAllRight(): Promise<void> {
    for (const name of this.models.keys()) await this.assertRight(name);
    const { status, reason } = conditionOf(await this.api.get(this.reference("blocked")), "Ready");
    assert.deepEqual([status, reason], ["False", "ChildConflict"]);
    for (const bystander of this.bystanders) assert.deepEqual(await this.api.get(bystander), bystander);
    const ours = new Set([...this.models.keys()].flatMap((name) => this.childrenNow(name)).map(keyOf));
    for (const child of await this.everyChild()) assert.ok(ours.has(keyOf(child)), `${keyOf(child)} is left`);
    await this.assertForeigners();
    for (const { uid, reference } of this.marks) {
      const found = await this.api.find(reference);
      if (found?.metadata.uid !== uid) continue;
      assert.equal(found.metadata.labels?.[FOREIGN], "kept", keyOf(found));
      assert.equal(found.metadata.annotations?.[FOREIGN], "kept", keyOf(found));
      if (found.kind === "ConfigMap") assert.equal((found["data"] as JsonObject)[FOREIGN], "kept");
    }
    for (const [uid, { child, value }] of this.scalings) {
      const found = await this.api.find(child);
      if (found?.metadata.uid !== uid) continue;
      assert.equal((found["data"] as JsonObject)[SCALED], value, `${keyOf(found)} is not as it was scaled`);
    }
    for (const { uid, reference } of this.conditions) {
      const found = await this.api.find(reference);
      if (found?.metadata.uid === uid) conditionOf(found, FOREIGN_CONDITION);
    }
  }

  /** What other controllers have made is as they made it as long as its owner is there. */
  private async assertForeigners(): Promise<void> {
    for (const made of this.foreigners) {
      const [{ uid, name } = { uid: "", name: "" }] = made.metadata.ownerReferences ?? [];
      const owner = await this.api.find(this.reference(name));
      if (owner?.metadata.uid === uid) assert.deepEqual(await this.api.get(made), made);
      else await this.api.assertGone(made);
    }
  }

  /** One object, observed at its newest generation, with the children that the handler gives for it. */
  private async assertRight(name: string): Promise<void> {
    const model = this.models.get(name);
    assert.ok(model);
    const object = await this.api.get(this.reference(name));
    const status = statusOf(object);
    assert.equal(status["observedGeneration"], object.metadata.generation, `${name} is not observed`);
    const ready = conditionOf(object, "Ready");
    const { mode, value } = model.spec;
    if (mode === "good") assert.equal(ready.status, "True", `${name}: ${ready.message}`);
    else assert.equal(ready.reason, FAILURES[mode], `${name}: ${ready.message}`);
    assert.equal(status["value"], model.left ? model.left.value : value, `the status of ${name}`);
    if (mode === "good") this.assertHandedOver(object);
    for (const wanted of this.childrenNow(name)) {
      const found = await this.api.get(wanted);
      if (mode === "good") this.assertHandedOver(found);
      assert.deepEqual(essenceOf(found), essenceOf(wanted), keyOf(wanted));
      const { ownerReferences, labels } = found.metadata;
      const owner = ownerReferences?.[0]?.uid ?? labels?.["argosy.dev/owner-uid"];
      assert.equal(owner, object.metadata.uid, `the owner of ${keyOf(wanted)}`);
    }
  }

  /** Nothing of a former name is on an object that was reconciled under the new one, or on its children. */
  private assertHandedOver(object: KubernetesObject): void {
    const { managedFields = [], finalizers = [] } = object.metadata;
    for (const former of this.former) {
      const managers = managedFields.map(({ manager = "" }) => manager);
      assert.ok(
        !managers.includes(former.fieldManager),
        `${keyOf(object)} is still ${former.fieldManager}'s`,
      );
      assert.ok(!finalizers.includes(former.elsewhereFinalizer), `${keyOf(object)} has an old finalizer`);
    }
  }

  /** Never two runs of one object at once under one leader. */
  private assertNoOverlap(): void {
    const file = path.join(this.operator.operator.folder, RUNS_FILE);
    const running = new Map<string, RunMark>();
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const mark = JSON.parse(line) as RunMark;
      const key = `${mark.controller} ${mark.name}`;
      const before = running.get(key);
      // One that hangs is killed, and can tell nothing of its end.
      assert.ok(mark.what === "end" || !before || before.mode === "hang", `${key} runs twice at once`);
      if (mark.what === "end") running.delete(key);
      else running.set(key, mark);
    }
  }

  /** The children that an object has, or will have when all is quiet. */
  private childrenNow(name: string): readonly Manifest[] {
    const model = this.models.get(name);
    if (!model) return [];
    if (model.left) return model.left.children;
    return childrenOf(name, model.spec, this.version).map((child) =>
      child.metadata.namespace ? child : inNamespace(child, this.namespace),
    );
  }

  /** A child that the engine heals: while the handler fails it cannot. */
  private pickHealed(name: string, pick: number): Manifest | undefined {
    const children = this.models.get(name)?.left ? [] : this.childrenNow(name);
    return children[pick % children.length];
  }

  private async everyChild(): Promise<KubernetesObject[]> {
    const lists = [this.namespace, this.far].flatMap((namespace) =>
      KINDS.map((kind) => this.api.list({ apiVersion: "v1", kind }, namespace)),
    );
    const others = new Set(["kube-root-ca.crt", ...this.bystanders.map(({ metadata }) => metadata.name)]);
    return (await Promise.all(lists))
      .flat()
      .filter(({ metadata: { name } }) => !others.has(name) && !name.startsWith(FOREIGN_PREFIX));
  }

  private async start(role: string, proxy?: TcpProxy): Promise<TestController> {
    this.started += 1;
    const { connection } = this.operator;
    return this.operator.start({
      identity: `${role}-${this.started}`,
      leaseSeconds: LEASE_SECONDS,
      connection: proxy?.through(connection) ?? connection,
    });
  }

  private manifest(name: string, spec: PropertySpec): Manifest {
    return { ...this.operator.object(name, {}, this.namespace), spec };
  }

  private reference(name: string): Reference {
    const { apiVersion, kind } = this.operator.object(name);
    return { apiVersion, kind, metadata: { name, namespace: this.namespace } };
  }

  private get api(): Api {
    return this.operator.cluster.api;
  }
}

/** What others do to a child may come too late for it. */
async function tolerate<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiError && [404, 409, 422].includes(error.code)) return undefined;
    throw error;
  }
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** What the handler says of a child, without what the API server and others add. */
function essenceOf({ metadata, ...content }: Manifest): unknown {
  const { [FOREIGN]: _, [SCALED]: __, ...data } = (content["data"] ?? {}) as JsonObject;
  const { ports } = (content["spec"] ?? {}) as { ports?: { port: number }[] };
  const { app } = metadata.labels ?? {};
  return { app, data, text: metadata.annotations?.["text"], ports: ports?.map(({ port }) => port) };
}
