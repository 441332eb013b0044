// The three finalizers.
import { ObjectGoneError, ReconcileFailure, type WarningReason } from "../base/failure";
import {
  allIdentitiesOf,
  DOMAIN,
  FINALIZER_MEANINGS,
  type FinalizerMeaning,
  finalizerManagerOf,
  finalizerOf,
  type OperatorNames,
} from "../base/names";
import type { KubernetesObject } from "../base/objects";
import type { Resource } from "../base/resource";
import type { JsonPatchOperation, KubernetesClient } from "../kubernetes/client";
import { Conflicts, isApiError, isMisfit, PersistentConflictError } from "../kubernetes/errors";

const MOST_TRIES = 10;

/**
 * The finalizers of one operator on its custom resources. One means that the handler must be asked before the object goes, one that
 * the object has children that no owner reference can cover, and one that its children are deleted in an order.
 *
 * Guarantees, each with a test in tests/integration:
 * - A finalizer can be added even if another client keeps writing the object (tests/integration/apiServerFacts.test.ts).
 * - Finalizers of others stay as they are (engineFinalize.test.ts).
 * - Those of a former name of the operator count as ours (hostile/renaming.test.ts).
 * - A former leader's write that comes late takes none away (tests/unit/reconcileFinalizers.test.ts).
 */
export class Finalizers {
  constructor(
    private readonly resource: Resource,
    private readonly operator: OperatorNames,
  ) {}

  /** Whether the object has one of our finalizers. @param meaning of the finalizer. @default any */
  areOn(object: KubernetesObject, meaning?: FinalizerMeaning): boolean {
    const { finalizers } = object.metadata;
    if (!finalizers) return false;
    const ours = this.ours(meaning);
    return finalizers.some((finalizer) => ours.includes(finalizer));
  }

  /** Our finalizers, those of former names too. @param meaning of them. @default all */
  private ours(meaning?: FinalizerMeaning): readonly string[] {
    const meant = meaning ? [meaning] : FINALIZER_MEANINGS;
    return allIdentitiesOf(this.operator).flatMap((each) => meant.map((one) => finalizerOf(each, one)));
  }

  /**
   * Says that the object has one of Argosy's finalizers that does not belong to this operator. It may be a finalizer of an
   * undeclared former name.
   */
  warnings(object: KubernetesObject): { type: "Warning"; reason: WarningReason; note: string }[] {
    const ours = this.ours();
    const isArgosy = (finalizer: string) => finalizer.split("/")[0]?.endsWith(DOMAIN);
    const foreign = finalizersOf(object).find(
      (finalizer) => isArgosy(finalizer) && !ours.includes(finalizer),
    );
    if (foreign === undefined) return [];
    const former = foreign.slice(foreign.indexOf("/") + 1);
    const note = `the object has the finalizer ${foreign} of another operator of Argosy. If this operator was called ${former} before, add that to "formerNames" in its definition: the object can never be deleted otherwise. If ${former} still runs, stop one of the two: each overwrites what the other one remembers in the status`;
    return [{ type: "Warning", reason: "ForeignFinalizer", note }];
  }

  /**
   * Adds our finalizers to the object, and removes those of former names.
   * @param wanted the meanings that the object needs. An existing finalizer stays
   * @returns the object as it is now
   * @throws ObjectGoneError if it is gone or being deleted
   * @throws ReconcileFailure `ApiError` if the API server drops a finalizer, or keeps one of a former name
   */
  async ensure(
    client: KubernetesClient,
    object: KubernetesObject,
    wanted: Readonly<Record<FinalizerMeaning, boolean>>,
  ): Promise<KubernetesObject> {
    const there = finalizersOf(object);
    const needed = FINALIZER_MEANINGS.filter((each) => wanted[each] || this.areOn(object, each)).map((each) =>
      finalizerOf(this.operator, each),
    );
    let current = object;
    for (const finalizer of needed)
      if (!there.includes(finalizer)) current = await this.apply(client, current, finalizer);
    const ours = this.ours();
    const former = there.filter((finalizer) => ours.includes(finalizer) && !needed.includes(finalizer));
    for (const finalizer of former) current = await this.remove(client, current, finalizer);
    return current;
  }

  /**
   * Removes our finalizers from the object, which may be gone then.
   * @param meaning of those that are removed. @default all
   * @returns the object as it is then
   * @throws ReconcileFailure `ApiError` if the API server keeps one
   */
  async removeFrom(
    client: KubernetesClient,
    object: KubernetesObject,
    meaning?: FinalizerMeaning,
  ): Promise<KubernetesObject> {
    let current = object;
    for (const finalizer of this.ours(meaning))
      if (finalizersOf(current).includes(finalizer)) current = await this.remove(client, current, finalizer);
    return current;
  }

  /**
   * Uses server-side apply with the object's uid and no version. So no other write to the object is a conflict. Each finalizer has
   * a manager of its own: an apply removes what its manager applied before and leaves out now, and this one may come late.
   */
  private async apply(client: KubernetesClient, object: KubernetesObject, finalizer: string) {
    const { apiVersion, kind } = this.resource;
    const { name, namespace, uid } = object.metadata;
    const metadata = { name, uid, finalizers: [finalizer], ...(namespace && { namespace }) };
    const options = { fieldManager: finalizerManagerOf(finalizer), force: true };
    try {
      const applying = client.apply(this.resource, { apiVersion, kind, metadata }, options);
      const now = await applying.then(
        (applied) => applied.object,
        (error: unknown) => {
          if (isMisfit(error)) return this.merge(client, object, finalizer);
          throw error;
        },
      );
      if (!finalizersOf(now).includes(finalizer)) throw droppedBy(finalizer);
      return now;
    } catch (error) {
      // 404 and 409: it is gone, or another object has its name. 422: an object that is being deleted takes no new finalizer,
      // or a policy of the cluster refuses the change.
      if (![404, 409, 422].some((code) => isApiError(error, code))) throw error;
      const now = await client.get(this.resource, { name, namespace });
      if (now?.metadata.uid !== uid || now.metadata.deletionTimestamp) throw new ObjectGoneError();
      // No other write of the object is a conflict.
      const isUnmoved = now.metadata.resourceVersion === object.metadata.resourceVersion;
      throw isUnmoved && isApiError(error, 409) ? new PersistentConflictError(error) : error;
    }
  }

  /**
   * Adds a finalizer to an object to which the API server refuses every apply: a value of it does not fit the schema of its kind. Only
   * the version that is known is changed, because the list is written as a whole.
   */
  private merge(client: KubernetesClient, object: KubernetesObject, finalizer: string) {
    const { resourceVersion } = object.metadata;
    const finalizers = [...finalizersOf(object), finalizer];
    return client.mergePatch(this.resource, object.metadata, { metadata: { resourceVersion, finalizers } });
  }

  /**
   * Removes a finalizer, also one that another client wrote more than once. Uses a JSON patch that tests what it removes, so that
   * only a change of the finalizers themselves is a conflict.
   */
  private async remove(client: KubernetesClient, object: KubernetesObject, finalizer: string) {
    let current = object;
    const conflicts = new Conflicts(MOST_TRIES);
    for (;;) {
      // The last one first, because a removal moves the entries behind it.
      const indices = finalizersOf(current)
        .flatMap((each, index) => (each === finalizer ? [index] : []))
        .reverse();
      if (indices.length === 0) return current;
      const paths = indices.map((index) => `/metadata/finalizers/${index}`);
      try {
        const removed = await client.jsonPatch(this.resource, current.metadata, [
          { op: "test", path: "/metadata/uid", value: current.metadata.uid },
          ...paths.flatMap((path): JsonPatchOperation[] => [
            { op: "test", path, value: finalizer },
            { op: "remove", path },
          ]),
        ]);
        if (finalizersOf(removed).includes(finalizer)) throw keptBy(finalizer);
        return removed;
      } catch (error) {
        if (isApiError(error, 404)) return { ...current, metadata: { ...current.metadata, finalizers: [] } };
        if (!isApiError(error, 409) && !isApiError(error, 422)) throw error;
        const now = await client.get(this.resource, current.metadata);
        if (now?.metadata.uid !== current.metadata.uid)
          return { ...current, metadata: { ...current.metadata, finalizers: [] } };
        // The finalizer is still where it was, so a policy of the cluster refuses the change.
        const isUnmoved = indices.every((index) => finalizersOf(now)[index] === finalizer);
        if (isUnmoved && isApiError(error, 422)) throw error;
        conflicts.met(error, current.metadata.resourceVersion, now.metadata.resourceVersion);
        current = now;
      }
    }
  }
}

function droppedBy(finalizer: string): ReconcileFailure {
  return new ReconcileFailure(
    "ApiError",
    `the API server accepted the finalizer ${finalizer} but dropped it. A mutating webhook or policy of the cluster removes it: make it keep the finalizer.`,
  );
}

function keptBy(finalizer: string): ReconcileFailure {
  return new ReconcileFailure(
    "ApiError",
    `the API server accepted the removal of a finalizer but kept the finalizer ${finalizer}. A mutating webhook or policy of the cluster puts it back: make it let the finalizer go.`,
  );
}

function finalizersOf({ metadata }: KubernetesObject): readonly string[] {
  return metadata.finalizers ?? [];
}
