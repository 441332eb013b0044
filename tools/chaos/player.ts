import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { LAST_APPLIED_ANNOTATION } from "../../runtime/base/names";
import type { Condition, JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { isApiError } from "../../runtime/kubernetes/errors";
import { childResource } from "./ground";
import type { History } from "./history";
import { Others, type OthersOptions } from "./others";
import { NotYetError, persist } from "./persist";
import { type Change, describeChange } from "./plan";
import type { ChaosSpec, Trouble, Wish } from "./spec";

/** The type of another client's condition. */
export const FOREIGN_CONDITION = "example.com/Foreign";

const USER = "chaos-user";
const FOREIGN_MANAGER = "chaos-foreigner";
const TOUCHED = "example.com/touched";
const TOUCHES = 20;
const CONTESTS = 8;
const CONTEST_MS = 40;
const LATE_MS = 1_000;
/** How long the garbage collector may take with `--cascade=orphan`, including outages of the API server. */
const COLLECTOR_MS = 120_000;

/** The options of a {@link Player}. */
export interface PlayerOptions extends OthersOptions {
  readonly history: History;
  /** Called for each object whose spec was changed, like an event source. Not called for children. */
  readonly onChange?: (name: string) => void;
}

/**
 * Makes the changes of a plan: those of one object one after another, and those of different objects at the same time. Accepted
 * changes become part of the model.
 */
export class Player {
  private readonly lanes = new Map<string, Promise<void>>();
  private readonly others: Others;
  private failure: unknown;

  constructor(private readonly options: PlayerOptions) {
    this.others = new Others(options);
  }

  /** Starts a change. {@link settled} reports its errors. */
  play(change: Change): void {
    this.inLane(change.object, async () => {
      await this.make(change);
      this.options.history.changed(change.object, describeChange(change));
      if ("wish" in change) this.options.onChange?.(change.object);
    });
  }

  /** Makes the handler fail for some of the existing objects, from now on and for a number of seconds. */
  trouble(trouble: Trouble, seconds: number, isChosen: (at: number) => boolean): void {
    const until = Date.now() + seconds * 1000;
    const chosen = [...this.options.model.objects.keys()].filter((_, at) => isChosen(at));
    for (const object of chosen) {
      this.inLane(object, async () => {
        const { model, history, onChange } = this.options;
        const spec = model.get(object)?.spec;
        if (!spec) return;
        const troubled = { ...spec, trouble, until };
        await this.persist(() => this.apply(object, troubled));
        model.changed(object, troubled);
        history.changed(object, `apply ${object} with a handler that fails (${trouble}) for ${seconds} s`);
        onChange?.(object);
      });
    }
  }

  /** Deletes the namespace of the children elsewhere, and creates it again. */
  renewFar(): Promise<void> {
    return this.others.renewFar();
  }

  /** Resolves when every started change was made. @throws the first error of a change */
  async settled(): Promise<void> {
    await Promise.all(this.lanes.values());
    if (this.failure !== undefined) throw this.failure;
  }

  private inLane(object: string, work: () => Promise<void>): void {
    const before = this.lanes.get(object) ?? Promise.resolve();
    const next = before.then(async () => {
      if (this.failure !== undefined) return;
      await work().catch((error: Error) => {
        this.failure ??= new Error(`${object}: ${error.message}`, { cause: error });
      });
    });
    this.lanes.set(object, next);
  }

  private async make(change: Change): Promise<void> {
    const { model } = this.options;
    const { object } = change;
    switch (change.verb) {
      case "recreate":
        await this.delete(object);
        return this.create(object, change.wish);
      case "create":
        return this.create(object, change.wish);
      case "delete":
        return this.delete(object);
      case "label":
        await this.patch(object, { metadata: { labels: { touched: `by-${change.value}` } } });
        return;
      case "status":
        await this.mark(object);
        return model.marked(object);
      case "touch":
        return this.touch(object);
      case "foreigner":
        return model.foreign(await this.others.makeForeigner(object, change.value));
      case "forge":
        return model.foreign(await this.others.forge(object, change.value));
      case "autoscale":
        return this.others.autoscale(object, change.value);
      case "contest":
        return this.contest(object, change.pick);
      case "orphan":
        return this.orphan(object, change.value);
      case "editChild":
      case "deleteChild":
        return this.touchChild(object, change.pick, change.verb);
    }
    const spec = model.specOf(change.wish);
    if (change.verb === "patch") await this.patch(object, clientSideApply(this.manifest(object, spec)));
    else await this.persist(() => this.applyOver(object, spec));
    model.changed(object, spec);
  }

  /** Creates an object by POST, as soon as its name is free. */
  private async create(object: string, wish: Wish): Promise<void> {
    const { ground, model } = this.options;
    const spec = model.specOf(wish);
    await this.persist(async () => {
      try {
        await ground.client.create(ground.resource, this.manifest(object, spec));
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
        const found = await this.find(object);
        // An earlier try succeeded, but its answer was lost.
        if (specOf(found)?.value === spec.value) return;
        throw new NotYetError(`the former ${object} still exists`);
      }
    });
    model.created(object, spec);
  }

  private async delete(object: string): Promise<void> {
    const { ground, model } = this.options;
    const found = await this.persist(() => this.find(object));
    const name = { name: object, namespace: ground.namespace };
    const uid = found?.metadata.uid;
    if (uid) await this.persist(() => ground.client.delete(ground.resource, name, { uid }));
    model.deleted(object);
  }

  private async touch(object: string): Promise<void> {
    for (let time = 0; time < TOUCHES; time++) {
      await this.patch(object, { metadata: { annotations: { [TOUCHED]: String(time) } } });
    }
  }

  /** Deletes an object while its children are changed, checks that they stay, and deletes them by hand. */
  private async orphan(object: string, value: number): Promise<void> {
    const { ground, model } = this.options;
    const { client, resource, namespace } = ground;
    const spec = model.get(object)?.spec;
    if (!spec) return;
    const { uid } = await this.persist(() => this.findAtRest(object));
    const near = await this.persist(() => this.findNear(object, uid));
    const kept = [...near, ...model.foreignersOf(uid)];
    await this.persist(() => this.apply(object, { ...spec, value }));
    const options = { uid, propagation: "Orphan" } as const;
    await this.persist(() => client.delete(resource, { name: object, namespace }, options));
    model.deleted(object);
    const since = performance.now();
    const isStuck = await this.persist(async () => {
      const found = await this.find(object);
      if (found?.metadata.uid !== uid) return false;
      const isCollectors = isDeepStrictEqual(found.metadata.finalizers, ["orphan"]);
      if (isCollectors && performance.now() - since > COLLECTOR_MS) return true;
      throw new NotYetError(`${object} still exists`);
    });
    // If a child was created again while the collector did not watch, the collector tries to orphan the earlier one for ever.
    if (isStuck) await this.patch(object, { metadata: { finalizers: null } });
    // A late run would write within this time.
    await pause(LATE_MS, undefined, { signal: this.options.signal });
    for (const child of kept) {
      const { name } = child.metadata;
      const of = childResource(child.kind);
      const found = await this.persist(() => client.get(of, { name, namespace }));
      const stays = found?.metadata.uid === child.metadata.uid && !found.metadata.deletionTimestamp;
      if (!stays && !isStuck)
        model.violated({ object, what: `${child.kind} ${name} should have stayed, but was deleted` });
      await this.persist(() => client.delete(of, { name, namespace }, { uid: child.metadata.uid }));
    }
    model.released(uid);
  }

  /** The metadata of an object, once all its changes were handled. */
  private async findAtRest(object: string): Promise<KubernetesObject["metadata"]> {
    const found = await this.find(object);
    const { observedGeneration, conditions = [] } = (found?.["status"] ?? {}) as {
      observedGeneration?: number;
      conditions?: readonly Condition[];
    };
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    if (!found || !isReady || observedGeneration !== found.metadata.generation) {
      throw new NotYetError(`${object} is not at rest`);
    }
    return found.metadata;
  }

  /** The children in an object's own namespace that exist and are expected. */
  private async findNear(object: string, uid: string): Promise<KubernetesObject[]> {
    const { ground, model } = this.options;
    const wanted = model.childrenOf(object).filter(({ metadata }) => metadata.namespace === ground.namespace);
    const found = await Promise.all(
      wanted.map((child) => ground.client.get(childResource(child.kind), child.metadata)),
    );
    return found
      .filter((child) => child !== undefined)
      .filter(({ metadata }) => metadata.ownerReferences?.some((reference) => reference.uid === uid));
  }

  /** Server-side apply, as soon as no former object of that name is being deleted. */
  private async applyOver(object: string, spec: ChaosSpec): Promise<void> {
    const found = await this.find(object);
    if (found?.metadata.deletionTimestamp) throw new NotYetError(`the former ${object} still exists`);
    await this.apply(object, spec);
  }

  private async apply(object: string, spec: ChaosSpec): Promise<void> {
    const { ground } = this.options;
    const options = { fieldManager: USER, force: true };
    await ground.client.apply(ground.resource, this.manifest(object, spec), options);
  }

  private async patch(object: string, patch: JsonObject): Promise<void> {
    const { client, resource, namespace } = this.options.ground;
    await this.persist(() => client.mergePatch(resource, { name: object, namespace }, patch));
  }

  private async mark(object: string): Promise<void> {
    const { client, resource, namespace } = this.options.ground;
    const { apiVersion, kind } = resource;
    const condition = {
      ...{ type: FOREIGN_CONDITION, status: "True", reason: "Foreign", message: "" },
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const metadata = { name: object, namespace };
    const manifest = { apiVersion, kind, metadata, status: { conditions: [condition] } };
    const options = { fieldManager: FOREIGN_MANAGER, force: false, subresource: "status" };
    await this.persist(() => client.apply(resource, manifest, options));
  }

  /** Changes or deletes a child as another client. The child may not exist yet, or no longer exist. */
  private async touchChild(object: string, pick: number, verb: "editChild" | "deleteChild"): Promise<void> {
    const { ground, model } = this.options;
    const children = model.childrenOf(object);
    const child = children[pick % children.length];
    if (!child) return;
    const resource = childResource(child.kind);
    if (verb === "deleteChild") {
      await this.persist(() => ground.client.delete(resource, child.metadata));
      return;
    }
    const data =
      child.kind === "Service" ? {} : { data: { value: Buffer.from("edited").toString("base64") } };
    const edit = { metadata: { labels: { app: "edited" } }, ...data };
    await this.persist(async () => {
      try {
        await ground.client.mergePatch(resource, child.metadata, edit);
      } catch (error) {
        if (!isApiError(error, 404)) throw error;
      }
    });
  }

  /** Changes a child back many times in a row, like a client that wants other values. */
  private async contest(object: string, pick: number): Promise<void> {
    for (let time = 0; time < CONTESTS; time++) {
      await this.touchChild(object, pick, "editChild");
      await pause(CONTEST_MS, undefined, { signal: this.options.signal });
    }
  }

  private find(object: string): Promise<KubernetesObject | undefined> {
    const { client, resource, namespace } = this.options.ground;
    return client.get(resource, { name: object, namespace });
  }

  private manifest(object: string, spec: ChaosSpec): Manifest & { spec: JsonObject } {
    const { resource, namespace } = this.options.ground;
    const { apiVersion, kind } = resource;
    return { apiVersion, kind, metadata: { name: object, namespace }, spec: { ...spec } };
  }

  private persist<Result>(work: () => Promise<Result>): Promise<Result> {
    return persist(work, this.options);
  }
}

/** The spec of an object. */
export function specOf(object: KubernetesObject | undefined): ChaosSpec | undefined {
  return object?.["spec"] as ChaosSpec | undefined;
}

/** The patch that `kubectl apply` without `--server-side` sends. */
function clientSideApply(manifest: Manifest & { spec: JsonObject }): JsonObject {
  const { spec } = manifest;
  return { metadata: { annotations: { [LAST_APPLIED_ANNOTATION]: JSON.stringify(manifest) } }, spec };
}
