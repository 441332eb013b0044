import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CHILD_OF_LABEL, identityOf } from "../../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { ApiError } from "../../../runtime/kubernetes/errors";
import type { Reference } from "../../../tools/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "./api";
import { configMap, inNamespace } from "./manifests";
import {
  FOREIGN,
  FOREIGN_CONDITION,
  FOREIGN_PREFIX,
  keyOf,
  PropertyBeliefs,
  SCALED,
} from "./propertyBeliefs";
import { type PropertySpec, RUNS_FILE, type RunMark, VERSION_FILE } from "./propertyHandler";
import { TcpProxy } from "./tcpProxy";
import { type TestController, TestOperator, type TestOperatorOptions } from "./testOperator";

const LEASE_SECONDS = 6;
/** Failed objects come back late, and leases must be over. */
const QUIET = { timeoutMs: 240_000 };
/** The spec of an object that a bystander is in the way of. */
const BLOCKED = { mode: "good", value: 0, maps: 1, secret: false, service: false, delayMs: 0 } as const;

/** How many names were given in this process. */
let renamed = 0;

/** An operator at work, all clients that interfere with it, and what must exist once they write no more. */
export class PropertyWorld {
  private readonly beliefs: PropertyBeliefs;
  private main: TestController | undefined;
  private second: TestController | undefined;
  private started = 0;
  /** The operator under the names that it had before in this world. */
  readonly former: TestOperator[] = [];

  private constructor(
    public operator: TestOperator,
    private readonly options: TestOperatorOptions,
    private readonly proxy: TcpProxy,
    readonly namespace: string,
    /** Where no owner reference reaches. */
    readonly far: string,
  ) {
    this.beliefs = new PropertyBeliefs(this);
  }

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
    world.beliefs.bystanders = await Promise.all(
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
    const before = this.beliefs.models.get(name);
    let left = before?.left;
    if (spec.mode !== "good" && !left) {
      // What the failure leaves is known only of an object that has come to rest.
      if (before) await eventually(() => this.beliefs.assertRight(name), QUIET);
      left = { children: this.beliefs.childrenNow(name), value: before?.spec.value };
    }
    await this.api.apply(this.manifest(name, spec));
    this.beliefs.models.set(name, spec.mode === "good" || !left ? { spec } : { spec, left });
  }

  async delete(name: string): Promise<void> {
    await this.api.delete(this.reference(name));
    await eventually(() => this.api.assertGone(this.reference(name)), QUIET);
    this.beliefs.models.delete(name);
  }

  /** Changes a field of a child that is the engine's. */
  async editChild(name: string, pick: number): Promise<void> {
    const child = this.beliefs.pickHealed(name, pick);
    if (!child) return;
    const change =
      child.kind === "Service" ? {} : { data: { value: Buffer.from("edited").toString("base64") } };
    await tolerate(this.api.patch(child, { metadata: { labels: { app: "edited" } }, ...change }));
  }

  async deleteChild(name: string, pick: number): Promise<void> {
    const child = this.beliefs.pickHealed(name, pick);
    if (child) await tolerate(this.api.delete(child));
  }

  /** Sets fields of a child that the engine does not set, as another field manager. */
  async markChild(name: string, pick: number): Promise<void> {
    const children = this.beliefs.childrenNow(name);
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
      this.beliefs.marks.push({ uid: metadata.uid, reference: child });
    }
  }

  /** Adds a condition to an object's status, as another field manager. */
  async addCondition(name: string): Promise<void> {
    if (!this.beliefs.models.has(name)) return;
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
    this.beliefs.conditions.push({ uid: written.metadata.uid, reference });
  }

  /** Makes an object as controlled by one of ours, as another controller of the same kind would. */
  async addForeigner(name: string): Promise<KubernetesObject | undefined> {
    const owner = this.beliefs.models.has(name) && (await this.api.find(this.reference(name)));
    if (!owner) return undefined;
    const { apiVersion, kind, metadata } = owner;
    const reference = { apiVersion, kind, name, uid: metadata.uid, controller: true };
    const manifest = configMap(
      `${FOREIGN_PREFIX}${name}-${this.beliefs.foreigners.length}`,
      { of: "others" },
      { ownerReferences: [reference], labels: this.operator.childLabels },
    );
    const made = await this.api.create(inNamespace(manifest, this.namespace));
    this.beliefs.foreigners.push(made);
    return made;
  }

  /** The same, and another client writes to it under the operator's own field manager. */
  async addForgery(name: string): Promise<void> {
    const made = await this.addForeigner(name);
    if (!made) return;
    const { namespace } = made.metadata;
    const forged = inNamespace(configMap(made.metadata.name, { forged: "yes" }), namespace ?? "");
    const written = await tolerate(this.api.apply(forged, this.operator.fieldManager));
    if (written) this.beliefs.foreigners.splice(this.beliefs.foreigners.indexOf(made), 1, written);
  }

  /** Deletes an object in the middle of a run so that its children stay, and then these. */
  async orphan(name: string): Promise<void> {
    const before = this.beliefs.models.get(name);
    if (before?.spec.mode !== "good") return;
    await eventually(() => this.beliefs.assertRight(name), QUIET);
    const kept = this.beliefs
      .childrenNow(name)
      .filter(({ metadata }) => metadata.namespace === this.namespace);
    const spec = { ...before.spec, value: before.spec.value + 1 };
    await this.api.apply(this.manifest(name, spec));
    await this.api.delete(this.reference(name), "Orphan");
    await eventually(() => this.api.assertGone(this.reference(name)), QUIET);
    this.beliefs.models.delete(name);
    // The garbage collector takes the owner's reference from what others made too, which so stays.
    for (const made of this.beliefs.foreigners.filter(
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

  /** Writes an annotation that no controller reads, many times in a row. */
  async touch(name: string): Promise<void> {
    if (!this.beliefs.models.has(name)) return;
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
    // If the handler fails, what went with the namespace cannot be brought back.
    for (const [name, { spec, left }] of this.beliefs.models) {
      if (!left) continue;
      const children = left.children.filter((child) => !isFar(child));
      this.beliefs.models.set(name, { spec, left: { ...left, children } });
    }
  }

  /** Deletes the namespace of the objects with all that is in it, and creates it again. */
  async renewNear(): Promise<void> {
    await this.renewNamespace(this.namespace);
    this.beliefs.models.clear();
    this.beliefs.foreigners = [];
    this.beliefs.conditions = [];
    await this.api.apply(this.manifest("blocked", BLOCKED));
  }

  /** Deletes a namespace, and creates it again with its bystanders. */
  private async renewNamespace(name: string): Promise<void> {
    const namespace: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await this.api.delete(namespace);
    await eventually(() => this.api.assertGone(namespace), QUIET);
    await this.api.create(namespace);
    const isIn = ({ metadata }: Manifest) => metadata.namespace === name;
    const again = this.beliefs.bystanders
      .filter(isIn)
      .map(({ apiVersion, kind, metadata: { name: bystander, labels }, ...rest }) =>
        this.api.create({
          ...rest,
          apiVersion,
          kind,
          metadata: { name: bystander, namespace: name, ...(labels && { labels }) },
        }),
      );
    this.beliefs.bystanders = [
      ...this.beliefs.bystanders.filter((each) => !isIn(each)),
      ...(await Promise.all(again)),
    ];
  }

  /** Sets a field of a child that the handler does not answer, again and again, as an autoscaler does. */
  async autoscale(name: string, pick: number): Promise<void> {
    const children = this.beliefs.childrenNow(name).filter(({ kind }) => kind === "ConfigMap");
    const child = children[pick % children.length];
    const found = child && (await this.api.find(child));
    if (!child || !found) return;
    const { uid } = found.metadata;
    for (let time = 0; time < 5; time++) {
      const value = `${pick}-${time}`;
      const patch = { metadata: { uid }, data: { [SCALED]: value } };
      if (!(await tolerate(this.api.patch(child, patch)))) return;
      this.beliefs.scalings.set(uid, { child, value });
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
    writeFileSync(path.join(folder, VERSION_FILE), String(this.beliefs.version));
    writeFileSync(path.join(folder, RUNS_FILE), "");
  }

  /** Changes the handler's files. */
  async renewHandler(): Promise<void> {
    // Who has not seen yet that an object fails now may try the new handler on the good spec before it.
    for (const [name, { left }] of this.beliefs.models)
      if (left) await eventually(() => this.beliefs.assertRight(name), QUIET);
    this.beliefs.version += 1;
    writeFileSync(path.join(this.operator.operator.folder, VERSION_FILE), String(this.beliefs.version));
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

  /** Checks all that must hold once no client writes any more, and that it stays so. */
  async assertQuiet(): Promise<void> {
    await eventually(() => this.beliefs.assertAllRight(), QUIET);
    await sleep(300);
    await this.beliefs.assertAllRight();
    this.assertNoOverlap();
  }

  async end(): Promise<void> {
    await Promise.all([this.main?.stop(), this.second?.stop()]);
    await this.proxy.stop();
    const { api, operator } = this;
    const { apiVersion, kind } = operator.object("any");
    // None of them may be left for the next world's controllers. What they need a finalizer for goes with it.
    for (const object of await api.list({ apiVersion, kind }, this.namespace)) {
      await api.patch(object, { metadata: { finalizers: [] } });
      await api.delete(object);
    }
    // The first one is not ours to remove.
    for (const each of [...this.former, this.operator].slice(1)) await each.dispose();
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

  /** The object of that name. */
  reference(name: string): Reference {
    const { apiVersion, kind } = this.operator.object(name);
    return { apiVersion, kind, metadata: { name, namespace: this.namespace } };
  }

  get api(): Api {
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
