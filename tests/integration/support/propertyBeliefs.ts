import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import type { Api } from "./api";
import { inNamespace } from "./manifests";
import { childrenOf, FAILURES, type PropertySpec } from "./propertyHandler";
import type { TestOperator } from "./testOperator";
import { conditionOf, statusOf } from "./useOperator";

/** What the test believes of one object. */
export interface Model {
  readonly spec: PropertySpec;
  /** Of one whose handler fails: what the last good spec has left. */
  readonly left?: { readonly children: readonly Manifest[]; readonly value: number | undefined };
}

/** Another field manager's fields on an object, as long as that object lives. */
export interface Mark {
  readonly uid: string;
  readonly reference: Reference;
}

/** What others' field managers and fields are called. */
export const FOREIGN = "foreign";
/** A field of a ConfigMap that an autoscaler sets, and no handler answers. */
export const SCALED = "scaled";
/** How the names of objects begin that others have made as controlled by ours. */
export const FOREIGN_PREFIX = "of-others-";
export const FOREIGN_CONDITION = "example.com/Foreign";
const KINDS = ["ConfigMap", "Secret", "Service"];

/** The world whose objects are looked at. */
export interface BelievedWorld {
  readonly api: Api;
  readonly operator: TestOperator;
  /** The operator under the names that it had before. */
  readonly former: readonly TestOperator[];
  readonly namespace: string;
  /** Where no owner reference reaches. */
  readonly far: string;
  /** The object of that name. */
  reference(name: string): Reference;
}

/** What must exist once no client writes any more, and whether it does. */
export class PropertyBeliefs {
  readonly models = new Map<string, Model>();
  readonly marks: Mark[] = [];
  conditions: Mark[] = [];
  /** What an autoscaler has set last, by the child's uid. */
  readonly scalings = new Map<string, { readonly child: Reference; readonly value: string }>();
  /** What other controllers have made as controlled by our objects, as they made it. */
  foreigners: KubernetesObject[] = [];
  bystanders: KubernetesObject[] = [];
  /** The version of the handler. */
  version = 1;

  constructor(private readonly world: BelievedWorld) {}

  /** Everything is as it must be. */
  async assertAllRight(): Promise<void> {
    for (const name of this.models.keys()) await this.assertRight(name);
    const { status, reason } = conditionOf(
      await this.world.api.get(this.world.reference("blocked")),
      "Ready",
    );
    assert.deepEqual([status, reason], ["False", "ChildConflict"]);
    for (const bystander of this.bystanders) assert.deepEqual(await this.world.api.get(bystander), bystander);
    const ours = new Set([...this.models.keys()].flatMap((name) => this.childrenNow(name)).map(keyOf));
    for (const child of await this.everyChild()) assert.ok(ours.has(keyOf(child)), `${keyOf(child)} is left`);
    await this.assertForeigners();
    for (const { uid, reference } of this.marks) {
      const found = await this.world.api.find(reference);
      if (found?.metadata.uid !== uid) continue;
      assert.equal(found.metadata.labels?.[FOREIGN], "kept", keyOf(found));
      assert.equal(found.metadata.annotations?.[FOREIGN], "kept", keyOf(found));
      if (found.kind === "ConfigMap") assert.equal((found["data"] as JsonObject)[FOREIGN], "kept");
    }
    for (const [uid, { child, value }] of this.scalings) {
      const found = await this.world.api.find(child);
      if (found?.metadata.uid !== uid) continue;
      assert.equal((found["data"] as JsonObject)[SCALED], value, `${keyOf(found)} is not as it was scaled`);
    }
    for (const { uid, reference } of this.conditions) {
      const found = await this.world.api.find(reference);
      if (found?.metadata.uid === uid) conditionOf(found, FOREIGN_CONDITION);
    }
  }

  /** What other controllers have made is as they made it as long as its owner exists. */
  private async assertForeigners(): Promise<void> {
    for (const made of this.foreigners) {
      const [{ uid, name } = { uid: "", name: "" }] = made.metadata.ownerReferences ?? [];
      const owner = await this.world.api.find(this.world.reference(name));
      if (owner?.metadata.uid === uid) assert.deepEqual(await this.world.api.get(made), made);
      else await this.world.api.assertGone(made);
    }
  }

  /** One object, observed at its newest generation, with the children that the handler gives for it. */
  async assertRight(name: string): Promise<void> {
    const model = this.models.get(name);
    assert.ok(model);
    const object = await this.world.api.get(this.world.reference(name));
    const status = statusOf(object);
    assert.equal(status["observedGeneration"], object.metadata.generation, `${name} is not observed`);
    const ready = conditionOf(object, "Ready");
    const { mode, value } = model.spec;
    if (mode === "good") assert.equal(ready.status, "True", `${name}: ${ready.message}`);
    else assert.equal(ready.reason, FAILURES[mode], `${name}: ${ready.message}`);
    assert.equal(status["value"], model.left ? model.left.value : value, `the status of ${name}`);
    if (mode === "good") this.assertHandedOver(object);
    for (const wanted of this.childrenNow(name)) {
      const found = await this.world.api.get(wanted);
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
    for (const former of this.world.former) {
      const managers = managedFields.map(({ manager = "" }) => manager);
      assert.ok(
        !managers.includes(former.fieldManager),
        `${keyOf(object)} is still ${former.fieldManager}'s`,
      );
      assert.ok(!finalizers.includes(former.elsewhereFinalizer), `${keyOf(object)} has an old finalizer`);
    }
  }

  /** The children that an object has, or will have when all is quiet. */
  childrenNow(name: string): readonly Manifest[] {
    const model = this.models.get(name);
    if (!model) return [];
    if (model.left) return model.left.children;
    return childrenOf(name, model.spec, this.version).map((child) =>
      child.metadata.namespace ? child : inNamespace(child, this.world.namespace),
    );
  }

  /** A child that the engine heals: while the handler fails it cannot. */
  pickHealed(name: string, pick: number): Manifest | undefined {
    const children = this.models.get(name)?.left ? [] : this.childrenNow(name);
    return children[pick % children.length];
  }

  private async everyChild(): Promise<KubernetesObject[]> {
    const lists = [this.world.namespace, this.world.far].flatMap((namespace) =>
      KINDS.map((kind) => this.world.api.list({ apiVersion: "v1", kind }, namespace)),
    );
    const others = new Set(["kube-root-ca.crt", ...this.bystanders.map(({ metadata }) => metadata.name)]);
    return (await Promise.all(lists))
      .flat()
      .filter(({ metadata: { name } }) => !others.has(name) && !name.startsWith(FOREIGN_PREFIX));
  }
}

/** A child in words. */
export function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** What the handler says of a child, without what the API server and others add. */
function essenceOf({ metadata, ...content }: Manifest): unknown {
  const { [FOREIGN]: _, [SCALED]: __, ...data } = (content["data"] ?? {}) as JsonObject;
  const { ports } = (content["spec"] ?? {}) as { ports?: { port: number }[] };
  const { app } = metadata.labels ?? {};
  return { app, data, text: metadata.annotations?.["text"], ports: ports?.map(({ port }) => port) };
}
