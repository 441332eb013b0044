import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { changedFields } from "../../../cli/diff/changedFields";
import { ReconcileFailure } from "../../../runtime/base/failure";
import { isRecord, type Way } from "../../../runtime/base/json";
import { isNamespaced, pluralOf } from "../../../runtime/base/kinds";
import { identityOf } from "../../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../../runtime/base/objects";
import type { Resource } from "../../../runtime/base/resource";
import type { KubernetesClient } from "../../../runtime/kubernetes/client";
import { ifRefused } from "../../../runtime/kubernetes/errors";
import { ChildStore } from "../../../runtime/observe/childStore";
import { ownedManifest } from "../../../runtime/observe/marks";
import { ChildWriter } from "../../../runtime/write/childWriter";
import { dryRunReplacementOf } from "../../../runtime/write/leftFields";
import { sharedCluster } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";

const KINDS = readFileSync(path.join(__dirname, "../support/builtInKinds.yaml"), "utf8");
const OPERATOR = { installation: "argosy", name: "released", formerNames: [] };
const OWNER_KIND: Resource = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
/** How many objects lose fields at the same time. */
const AT_ONCE = 16;

/**
 * Each kind, in this number of objects that do not disturb each other.
 *
 * Its address and ports are of the bands which the API server leaves to whoever chooses: it allocates an address from
 * 10.0.0.17 on and a port from 30086 on, as long as some are free
 * ({@link https://kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation/}).
 */
function manifestsOf(number: number): Manifest[] {
  const group = `g${number}.example.com`;
  const text = KINDS.replaceAll("GROUP", group)
    .replaceAll("HEALTHPORT", String(30_050 + number))
    .replaceAll("NODEPORT", String(30_010 + number))
    .replaceAll("CLUSTERIP", `10.0.0.${number + 2}`);
  return (parse(text) as Manifest[]).map((manifest, index) => {
    const name =
      manifest.kind === "CustomResourceDefinition" ? `things.${group}` : `released-${index}-${number}`;
    return { ...manifest, metadata: { ...manifest.metadata, name } };
  });
}

/** The ways to all fields, and to all entries of lists. */
function waysIn(value: unknown): Way[] {
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((each, index) => [index, each])
    : Object.entries(isRecord(value) ? value : {});
  return entries.flatMap(([step, inner]) => [[step], ...waysIn(inner).map((way) => [step, ...way])]);
}

/** The value without what is at these ways, all of the same length. */
function without<Value>(value: Value, ways: readonly Way[]): Value {
  const inner = (step: string | number, each: unknown): [string | number, unknown][] => {
    const below = ways.filter((way) => way[0] === step);
    if (below.some((way) => way.length === 1)) return [];
    return [
      [
        step,
        below.length > 0
          ? without(
              each,
              below.map((way) => way.slice(1)),
            )
          : each,
      ],
    ];
  };
  if (Array.isArray(value))
    return value.flatMap((each, at) => inner(at, each)).map(([, each]) => each) as Value;
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([key, each]) => inner(key, each)),
  ) as Value;
}

/** A child in the cluster, of which the handler no longer returns some fields. */
class Shrinking {
  readonly found: string[] = [];
  private readonly resource: Resource;
  private readonly store: ChildStore;
  private readonly writer: ChildWriter;
  /** Whether the child has all its fields. */
  private isWhole = false;

  constructor(
    private readonly client: KubernetesClient,
    private readonly owner: KubernetesObject,
    private readonly manifest: Manifest,
    /** One like it, which does not exist. */
    private readonly another: Manifest,
  ) {
    const { apiVersion, kind } = manifest;
    const namespaced = isNamespaced(apiVersion, kind) === true;
    this.resource = { apiVersion, kind, plural: pluralOf(apiVersion, kind), namespaced };
    const shared = { operator: OPERATOR, ownerKind: OWNER_KIND };
    this.store = new ChildStore({ ...shared, client });
    this.writer = new ChildWriter(this.store);
  }

  /** Drops those of these fields without which a new object would be accepted. */
  async dropAll(ways: readonly Way[]): Promise<void> {
    const found = await Promise.all(
      ways.map((way) => this.made([way]).then(() => [way], ifRefused(422, []))),
    );
    if (found.flat().length > 0) await this.drop(found.flat());
  }

  /** Drops fields of the whole object: all at once, or one by one if not all of them can go together. */
  private async drop(ways: readonly Way[]): Promise<void> {
    await this.becomeWhole();
    const less = without(this.manifest, ways);
    if (await this.isRefused(less)) {
      const half = ways.length / 2;
      if (half < 1) return;
      await this.drop(ways.slice(0, half));
      return this.drop(ways.slice(half));
    }
    this.isWhole = false;
    const { resource, store } = this;
    const known = store.find(resource, this.owned(less).metadata);
    const there = known && (await store.readChild(known));
    const made = await this.made(ways).catch((error: Error) => error);
    if (made instanceof Error) return void this.found.push(`${made.message}, and the old one is not`);
    const changes = changedFields(contentOf(there as KubernetesObject), contentOf(made));
    if (changes.length > 0) this.found.push(`${resource.kind}: ${JSON.stringify(changes)}`);
  }

  /** A new object without these fields. */
  private made(ways: readonly Way[]): Promise<KubernetesObject> {
    const { client, resource, another } = this;
    const manifest = this.owned(without(another, ways));
    const isDefinition = resource.kind === "CustomResourceDefinition";
    const fresh = isDefinition ? manifest : dryRunReplacementOf(manifest);
    return client.create(resource, fresh, { dryRun: true });
  }

  private async becomeWhole(): Promise<void> {
    if (this.isWhole) return;
    const { client, manifest, resource } = this;
    if (await this.isRefused(manifest)) {
      // Some fields cannot come back.
      await client.delete(resource, this.owned(manifest).metadata);
      assert.equal(await this.isRefused(manifest), undefined);
    }
    this.isWhole = true;
  }

  private owned(manifest: Manifest): Manifest {
    return ownedManifest(manifest, this.owner, this.resource, identityOf(OPERATOR));
  }

  /** What the object would say of the child. Undefined if it is applied. */
  private async isRefused(child: Manifest): Promise<string | undefined> {
    const { client, resource, owner } = this;
    const ownerUid = owner.metadata.uid;
    const desired = { resource, update: "apply", manifest: this.owned(child), ownerUid } as const;
    const { namespace } = owner.metadata;
    const scope = { client, namespace, confirmOwner: async () => {}, masked: (text: string) => text };
    try {
      await this.writer.apply(desired, scope);
      return undefined;
    } catch (error) {
      if (error instanceof ReconcileFailure) return error.message;
      throw error;
    }
  }
}

/** Without the status, and without what differs in each object. */
function contentOf(object: KubernetesObject): object {
  const { metadata, status: _, ...content } = dryRunReplacementOf(object);
  // Controllers add others.
  const own = (map = {}) => Object.entries(map).filter(([key]) => ["a", "b"].includes(key));
  const [labels, annotations] = [own(metadata.labels), own(metadata.annotations)];
  const text = JSON.stringify({ ...content, labels, annotations });
  const { uid, name } = object.metadata;
  return JSON.parse(
    text
      .replaceAll(uid, "")
      .replaceAll(name, "")
      .replaceAll(/\bg\d+\.example/g, ""),
  );
}

describe("a field that the handler no longer returns", function () {
  this.timeout(300_000);

  it("is as in a new object, or the object says that it is not, for all fields of all kinds", async () => {
    const { api } = await sharedCluster();
    const owner = await api.create(inNamespace(configMap("owner"), await api.newNamespace("released")));
    const work = manifestsOf(0).flatMap((manifest, index) => {
      const { apiVersion: _, kind: __, metadata, ...content } = manifest;
      const { name: ___, ...written } = metadata;
      const ways = waysIn({ ...content, metadata: written });
      // Fields at the same depth are not within each other.
      const depths = [...new Set(ways.map(({ length }) => length))];
      return depths.map((depth) => async () => {
        const [whole, another] = [2 * depth, 2 * depth + 1].map((number) => manifestsOf(number)[index]);
        assert.ok(whole && another);
        const shrinking = new Shrinking(api.client, owner, whole, another);
        await shrinking.dropAll(ways.filter((way) => way.length === depth && way.join() !== "metadata"));
        return shrinking.found;
      });
    });
    const found: string[] = [];
    const working = async () => {
      for (let next = work.shift(); next; next = work.shift()) found.push(...(await next()));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, working));
    assert.deepEqual(found, []);
  });
});
