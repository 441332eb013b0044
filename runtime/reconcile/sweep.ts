import type { Child, ChildStore } from "../children/childStore";
import type { ChildChange, ChildWriter } from "../children/childWriter";
import { canReference } from "../children/ownership";
import { GRANT_REMEDY, isRightMissing, ROLE_REMEDY } from "../children/refusals";
import type { Operator } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { lookAtNamespace } from "../kubernetes/namespaces";
import { formatName, type KubernetesObject } from "../kubernetes/objects";
import { isListed, isSameKind, kindKey, kindOfKey, type Resource, scopesOf } from "../kubernetes/resource";
import type { Memory } from "../memory/memory";
import { OWNER_UID_LABEL, SKIP_FINALIZE_ANNOTATION } from "../names";

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
 * - Only children that we applied are deleted, whatever labels others write.
 * - If a child may be left, it throws, so that the finalizer stays. The deletions until then are in `changes`.
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
   * @throws ReconcileFailure `ChildRefused` if the runner has no right to delete them any more, with the remedy
   */
  async deleteUndeclared(
    client: KubernetesClient,
    object: KubernetesObject,
    remembered: readonly string[],
    changes: ChildChange[],
  ): Promise<void> {
    const { children } = this.options;
    for (const kind of this.undeclared(remembered)) {
      const resource = await this.resourceOf(client, kind);
      if (!resource) {
        this.forgetGone(object.metadata.uid, kindOfKey(kind), undefined);
        continue;
      }
      await this.learn(client, resource, object);
      const left = children
        .of(object.metadata.uid)
        .filter((child) => kindKey(child.resource) === kind && !child.deleting);
      await this.deleteEach(client, left, changes).catch((error: unknown) => {
        throw isRightMissing(error) ? notGranted(resource) : error;
      });
    }
  }

  /**
   * Deletes the children that no owner reference covers. They are listed, and not only taken from the store: a child that a
   * former leader created a moment ago may not be in the store yet, and nobody would delete it later.
   * @returns the namespaces in which children may be left, because we have no rights there
   */
  async deleteElsewhere(
    client: KubernetesClient,
    object: KubernetesObject,
    { kinds: remembered, namespaces = [] }: Pick<Memory, "kinds" | "namespaces">,
    changes: ChildChange[],
  ): Promise<string[]> {
    const { children, operator } = this.options;
    const isFar = (namespace: string | undefined) => !canReference(object, namespace);
    const left = new Set<string>();
    const onUnreached = (namespace: string) => left.add(namespace);
    for (const kind of this.listed(remembered)) {
      const resource = await this.resourceOf(client, kind);
      if (!resource) continue;
      const scopes = scopesOf(operator.namespaces, resource).filter(isFar);
      await this.learn(client, resource, object, { scopes, onUnreached });
    }
    const far = children
      .of(object.metadata.uid)
      .filter(({ namespace, deleting }) => !deleting && isFar(namespace));
    await this.deleteEach(client, far, changes);
    for (const namespace of namespaces)
      if (!isListed(operator.namespaces, namespace) && !(await isGoing(client, namespace)))
        left.add(namespace);
    return [...left];
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
    await this.deleteEach(client, left, changes);
  }

  /**
   * Deletes all of these children. If the API server refuses to delete one, the others are still deleted. One in a namespace that is
   * being deleted or is gone counts as deleted: our rights there go first, and perhaps no watch showed that the child went.
   * @throws the first refusal, after the others were deleted, and any other error at once
   */
  private async deleteEach(
    client: KubernetesClient,
    children: readonly Child[],
    changes: ChildChange[],
  ): Promise<void> {
    let refusal: ReconcileFailure | undefined;
    for (const child of children) {
      try {
        const change = await this.options.writer.delete(child, { client });
        if (change) changes.push(change);
      } catch (error) {
        if (!(error instanceof ReconcileFailure)) throw error;
        const { namespace } = child;
        if (isRightMissing(error) && namespace !== undefined && (await isGoing(client, namespace))) continue;
        refusal ??= error;
      }
    }
    if (refusal) throw refusal;
  }

  /**
   * Lists the object's children of a kind, by the label that all of them have. If no watch shows the kind, it also forgets those that
   * are gone.
   * @param how `onUnreached` learns of each namespace where we may not list a declared kind. @default that is an error, as it is
   *   for any other kind
   */
  private async learn(
    client: KubernetesClient,
    resource: Resource,
    object: KubernetesObject,
    how: {
      readonly scopes?: readonly (string | undefined)[];
      readonly onUnreached?: (namespace: string) => void;
    } = {},
  ): Promise<void> {
    const { children, operator } = this.options;
    const { uid } = object.metadata;
    const labelSelector = `${OWNER_UID_LABEL}=${uid}`;
    for (const namespace of how.scopes ?? scopesOf(operator.namespaces, resource)) {
      const listed = new Set<string>();
      try {
        await client.list(resource, { labelSelector, namespace }, (items) => {
          children.learn(resource, items, uid);
          for (const { metadata } of items) listed.add(metadata.uid);
        });
        this.forgetGone(uid, resource, namespace, listed);
      } catch (error) {
        // If the kind is gone, every child of that kind is gone too.
        if (isApiError(error, 404)) {
          this.forgetGone(uid, resource, namespace);
          continue;
        }
        if (!isApiError(error, 403)) throw error;
        // The content of a namespace that is being deleted goes anyway, and our rights in the namespace go first.
        if (namespace !== undefined && (await isGoing(client, namespace))) continue;
        const isDeclared = this.isDeclared(resource);
        if (namespace === undefined || !isDeclared || !how.onUnreached)
          throw notGranted(resource, namespace, isDeclared);
        how.onUnreached(namespace);
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

async function isGoing(client: KubernetesClient, name: string): Promise<boolean> {
  return ["going", "gone"].includes(await lookAtNamespace(client, name));
}

/**
 * The failure that says that children may be left in namespaces in which the operator has no rights.
 * @param namespaces those that it lists
 */
export function namespacesLeft(
  left: readonly string[],
  namespaces: Operator["namespaces"],
): ReconcileFailure {
  const unlisted = left.filter((each) => !isListed(namespaces, each));
  const why =
    unlisted.length > 0
      ? `had children in ${whereIn(unlisted)}, which "namespaces" no longer lists: the runner may not delete them. List it again until no object with children there is left.`
      : `may have children in ${whereIn(left)}, where the runner may not list any. ${GRANT_REMEDY}`;
  return new ReconcileFailure(
    "NamespaceNotGranted",
    `the object ${why} If nothing is left there, or if it may stay, annotate the object with ${SKIP_FINALIZE_ANNOTATION}: "true".`,
    { retryAfterSeconds: 30 },
  );
}

/** "namespace a", or "namespaces a, b". */
export function whereIn(namespaces: readonly string[]): string {
  return `namespace${namespaces.length > 1 ? "s" : ""} ${namespaces.slice(0, 10).join(", ")}`;
}

/** @param isDeclared whether the operator still declares the kind, so that somebody must have taken the right away */
function notGranted(
  { apiVersion, kind }: Resource,
  namespace?: string,
  isDeclared = false,
): ReconcileFailure {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const grant = namespace === undefined ? ROLE_REMEDY : GRANT_REMEDY;
  const remedy = isDeclared
    ? grant
    : `Declare { apiVersion: "${apiVersion}", kind: "${kind}", retired: true } under "children" until none is left, then deploy the operator again.`;
  return new ReconcileFailure(
    "ChildRefused",
    `the object had children of kind ${kind} (${apiVersion})${where}, which the runner may not list or delete any more. ${remedy}`,
  );
}
