import type { Child, ChildStore } from "../children/childStore";
import type { ChildChange, ChildWriter } from "../children/childWriter";
import { childSelectorOf, managersOf } from "../children/marks";
import { canReference, isStrippedChildOf } from "../children/ownership";
import { isRightMissing } from "../children/refusals";
import type { Operator } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { lookAtNamespace } from "../kubernetes/namespaces";
import { formatName, type KubernetesObject } from "../kubernetes/objects";
import { isListed, isSameKind, kindKey, kindOfKey, type Resource, scopesOf } from "../kubernetes/resource";
import type { Memory } from "../memory/memory";
import { OWNER_UID_LABEL } from "../names";
import { kindNotGranted, namespacesLeft } from "./leftBehind";

/** What {@link Sweep} work with. */
export interface SweepOptions {
  readonly operator: Operator;
  /** The kinds of `operator.children` as the API serves them. */
  readonly childResources: readonly Resource[];
  readonly children: ChildStore;
  readonly writer: ChildWriter;
}

/**
 * Finds and deletes children that no watch shows or no owner reference covers: those of kinds that the operator no longer
 * declares, and those in other namespaces than their owner's.
 *
 * Guarantees, each with a test in tests/unit/sweep.test.ts:
 * - Only children that we applied are deleted, whatever labels others write. One of the two marks that name the owner of a child
 *   elsewhere may be lost.
 * - If a child may be left, the sweep throws or says so, so that the finalizer stays. The deletions until then are in `changes`.
 */
export class Sweep {
  constructor(private readonly options: SweepOptions) {}

  /** The remembered kinds that the operator no longer declares in any version. */
  undeclared(remembered: readonly string[]): string[] {
    const declared = this.options.childResources.map(kindKey);
    return remembered.filter((kind) => !declared.some((each) => isSameKind(each, kind)));
  }

  /** The declared kinds, and the others of an object. @param remembered the kinds of the object's children */
  listed(remembered: readonly string[]): string[] {
    return [...this.options.childResources.map(kindKey), ...this.undeclared(remembered)];
  }

  /**
   * Deletes the object's children of kinds that are no longer declared.
   * @param remembered the kinds of the object's children, by the engine's memory
   * @param changes gets each deletion when it is done
   * @returns the kinds of which children may be left, because the runner has no right to list or delete them any more, each with a
   *   failure `ChildRefused` that names the remedy. Nobody waits for that: the memory may be forged, or copied from elsewhere
   */
  async deleteUndeclared(
    client: KubernetesClient,
    object: KubernetesObject,
    remembered: readonly string[],
    changes: ChildChange[],
  ): Promise<ReadonlyMap<string, ReconcileFailure>> {
    const { children } = this.options;
    const kept = new Map<string, ReconcileFailure>();
    for (const kind of this.undeclared(remembered)) {
      const resource = await this.resourceOf(client, kind);
      if (!resource) {
        this.forgetGone(object.metadata.uid, kindOfKey(kind), undefined);
        continue;
      }
      await this.learn(client, resource, object, { onUngranted: (failure) => kept.set(kind, failure) });
      const left = children
        .of(object.metadata.uid)
        .filter((child) => kindKey(child.resource) === kind && !child.deleting);
      const doomed = left.map((child) => this.doomed(client, child));
      await deleteEach(client, doomed, changes).catch((error: unknown) => {
        if (!isRightMissing(error)) throw error;
        kept.set(kind, kindNotGranted(resource));
      });
    }
    return kept;
  }

  /**
   * Deletes the children that no owner reference covers. They are listed, and not only taken from the store: a child that a
   * former leader created a moment ago may not be in the store yet, and nobody would delete it later. The store drops a child that
   * has lost one of the marks that name its owner. Nobody puts the mark back while the owner is paused, or is being deleted.
   * @returns why children may be left: we have no rights to them. Undefined if none can be left
   */
  async deleteElsewhere(
    client: KubernetesClient,
    object: KubernetesObject,
    { kinds: remembered, namespaces = [] }: Pick<Memory, "kinds" | "namespaces">,
    changes: ChildChange[],
  ): Promise<ReconcileFailure | undefined> {
    const { children, operator, writer } = this.options;
    const managers = managersOf(operator);
    const isFar = (namespace: string | undefined) => !canReference(object, namespace);
    const left = new Set<string>();
    const doomed: Doomed[] = [];
    let ungranted: ReconcileFailure | undefined;
    for (const kind of this.listed(remembered)) {
      const resource = await this.resourceOf(client, kind);
      if (!resource) continue;
      const scopes = scopesOf(operator.namespaces, resource).filter(isFar);
      await this.learn(client, resource, object, {
        scopes,
        onStripped: (found) => {
          const { namespace } = found.metadata;
          if (!isFar(namespace) || !isStrippedChildOf(found, object, managers)) return;
          doomed.push({
            namespace,
            remove: () => writer.deleteStripped(resource, found, object, { client }),
          });
        },
        onUngranted: (failure, namespace) => {
          if (namespace === undefined || !this.isDeclared(resource)) ungranted ??= failure;
          else left.add(namespace);
        },
      });
    }
    const far = children
      .of(object.metadata.uid)
      .filter(({ namespace, deleting }) => !deleting && isFar(namespace));
    doomed.push(...far.map((child) => this.doomed(client, child)));
    await deleteEach(client, doomed, changes);
    for (const namespace of namespaces)
      if (!isListed(operator.namespaces, namespace) && !(await isGoing(client, namespace)))
        left.add(namespace);
    return ungranted ?? (left.size > 0 ? namespacesLeft([...left], operator.namespaces) : undefined);
  }

  /**
   * Deletes all children of an object that is no longer watched, whether the object is still there or not. Children that name an
   * owner of another name are not this object's, even if they have its uid.
   * @param isEach whether children of declared kinds are listed too, because no watch shows them
   */
  async deleteAll(
    client: KubernetesClient,
    object: KubernetesObject,
    { kinds, elsewhere }: Pick<Memory, "kinds" | "elsewhere">,
    isEach: boolean,
    changes: ChildChange[],
  ): Promise<void> {
    const { children, operator } = this.options;
    const { namespace, uid } = object.metadata;
    for (const kind of isEach ? this.listed(kinds) : this.undeclared(kinds)) {
      const resource = await this.resourceOf(client, kind);
      if (!resource) continue;
      const isHere = resource.namespaced && namespace !== undefined && !elsewhere;
      const scopes = isHere ? [namespace] : scopesOf(operator.namespaces, resource);
      await this.learn(client, resource, object, { scopes });
    }
    const left = children.of(uid).filter(({ deleting, facts }) => {
      return !deleting && formatName(facts.owner) === formatName(object.metadata);
    });
    const doomed = left.map((child) => this.doomed(client, child));
    await deleteEach(client, doomed, changes);
  }

  private doomed(client: KubernetesClient, child: Child): Doomed {
    return { namespace: child.namespace, remove: () => this.options.writer.delete(child, { client }) };
  }

  /**
   * Lists the object's children of a kind, by the label with its uid. If no watch shows the kind, it also forgets those that are gone.
   * @param how `onStripped` gets each object with that label that is not proven to be a child, and each child of the operator
   *   without that label. `onUngranted` learns why we may not list. @default that is an error
   */
  private async learn(
    client: KubernetesClient,
    resource: Resource,
    object: KubernetesObject,
    how: {
      readonly scopes?: readonly (string | undefined)[];
      readonly onStripped?: (found: KubernetesObject) => void;
      readonly onUngranted?: (failure: ReconcileFailure, namespace: string | undefined) => void;
    } = {},
  ): Promise<void> {
    const { children, operator } = this.options;
    const { uid } = object.metadata;
    const labelSelector = `${OWNER_UID_LABEL}=${uid}`;
    const withoutUid = `${childSelectorOf(operator)},!${OWNER_UID_LABEL}`;
    for (const namespace of how.scopes ?? scopesOf(operator.namespaces, resource)) {
      const listed = new Set<string>();
      try {
        await client.list(resource, { labelSelector, namespace }, (items) => {
          children.learn(resource, items, uid);
          for (const item of items) {
            listed.add(item.metadata.uid);
            how.onStripped?.(item);
          }
        });
        this.forgetGone(uid, resource, namespace, listed);
        const { onStripped } = how;
        if (onStripped)
          await client.list(resource, { labelSelector: withoutUid, namespace }, (items) =>
            items.forEach(onStripped),
          );
      } catch (error) {
        // If the kind is gone, every child of that kind is gone too.
        if (isApiError(error, 404)) {
          this.forgetGone(uid, resource, namespace);
          continue;
        }
        if (!isApiError(error, 403)) throw error;
        // The content of a namespace that is being deleted goes anyway, and our rights in the namespace go first.
        if (namespace !== undefined && (await isGoing(client, namespace))) continue;
        const failure = kindNotGranted(resource, namespace, this.isDeclared(resource));
        if (!how.onUngranted) throw failure;
        how.onUngranted(failure, namespace);
      }
    }
  }

  /** Forgets an owner's children of a kind that no watch shows, and that a list did not have. @param namespace undefined: any */
  private forgetGone(
    ownerUid: string,
    kind: Pick<Resource, "apiVersion" | "kind">,
    namespace: string | undefined,
    listed: ReadonlySet<string> = new Set(),
  ): void {
    const { children } = this.options;
    if (this.isDeclared(kind)) return;
    for (const child of children.of(ownerUid)) {
      const isHere = namespace === undefined || child.namespace === namespace;
      const isKind = kindKey(child.resource) === kindKey(kind);
      if (isKind && isHere && !listed.has(child.uid)) children.forget(child);
    }
  }

  /** Whether the operator declares a kind in this version. */
  private isDeclared(kind: Pick<Resource, "apiVersion" | "kind">): boolean {
    return this.options.childResources.some((each) => kindKey(each) === kindKey(kind));
  }

  /** How the API server serves a kind. Undefined if it does not. */
  private async resourceOf(client: KubernetesClient, key: string): Promise<Resource | undefined> {
    const declared = this.options.childResources.find((each) => kindKey(each) === key);
    if (declared) return declared;
    const { apiVersion, kind } = kindOfKey(key);
    // A kind that the API server no longer serves has no objects.
    return findResource(client, apiVersion, kind).catch((error: Error) => {
      if (error instanceof UnknownKindError) return undefined;
      throw error;
    });
  }
}

/** A child that is to be deleted. */
interface Doomed {
  readonly namespace: string | undefined;
  readonly remove: () => Promise<ChildChange | undefined>;
}

/**
 * Deletes all of these children. If the API server refuses to delete one, the others are still deleted. One in a namespace that is
 * being deleted or is gone counts as deleted: our rights there go first, and perhaps no watch showed that the child went.
 * @param changes gets each deletion when it is done
 * @throws the first refusal, after the others were deleted, and any other error at once
 */
async function deleteEach(
  client: KubernetesClient,
  children: readonly Doomed[],
  changes: ChildChange[],
): Promise<void> {
  let refusal: ReconcileFailure | undefined;
  for (const { namespace, remove } of children) {
    try {
      const change = await remove();
      if (change) changes.push(change);
    } catch (error) {
      if (!(error instanceof ReconcileFailure)) throw error;
      if (isRightMissing(error) && namespace !== undefined && (await isGoing(client, namespace))) continue;
      refusal ??= error;
    }
  }
  if (refusal) throw refusal;
}

async function isGoing(client: KubernetesClient, name: string): Promise<boolean> {
  return ["going", "gone"].includes(await lookAtNamespace(client, name));
}
