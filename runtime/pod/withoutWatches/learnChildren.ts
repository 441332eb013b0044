import type { ChildStore } from "../../children/childStore";
import type { Operator } from "../../definition/definition";
import { UNREPORTED_RUN_REASONS } from "../../failure";
import { isRecord } from "../../json/json";
import type { KubernetesClient } from "../../kubernetes/client";
import { UnknownKindError } from "../../kubernetes/discovery";
import { ApiError, isApiError, isBusy } from "../../kubernetes/errors";
import { conditionsIn, isNewer, type KubernetesObject } from "../../kubernetes/objects";
import { isListed, isSameKind, kindKey, type Resource, scopesOf } from "../../kubernetes/resource";
import { OWNER_UID_LABEL } from "../../names";
import { isOutOfReach, isPlaceOfChildren, type RememberedPlaces } from "../../reconcile/completeness";

/** What {@link learnChildren} works with. */
export interface LearnChildrenOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The children's kinds, as the API serves them. */
  readonly childResources: readonly Resource[];
  /** The store that learns the children. */
  readonly children: ChildStore;
  /** The engine's memory of the object. */
  readonly memory: RememberedPlaces;
  /** Whether the object may have children outside of its own namespace. */
  readonly isElsewhere: boolean;
  /** The uids of deleted objects with this name that have children left: these are listed too. @default none */
  readonly predecessorUids?: readonly string[];
  /** Whether a reconcile of this run was interrupted, so that it may have applied what nobody remembers. @default false */
  readonly wasInterrupted?: boolean;
}

/**
 * Lists an object's children by the label with its uid, and lets the store know exactly these. If runs have reported on every
 * generation except the newest, only the kinds in the engine's memory are listed. Otherwise a run may have ended before it could
 * remember what it had applied, and every kind is listed.
 *
 * As with a resident runner, a kind that cannot be listed holds up only the objects of which the engine remembers children of
 * that kind there. If the kind is missing or we may not list it, it holds up no object that is being deleted: our rights in a
 * namespace go before the objects in it.
 *
 * Caveat: another run may have been ended while it applied children of the same generation. If the handler answers such a child, the
 * child is found by its name, and everything is listed for another reconcile.
 * @returns the version of each list, by kind
 * @throws ApiError, ApiUnreachableError, UnknownKindError
 */
export async function learnChildren(
  object: KubernetesObject,
  options: LearnChildrenOptions,
): Promise<Map<string, string>> {
  const { operator, client, childResources, children, memory, isElsewhere } = options;
  const { predecessorUids = [], wasInterrupted = false } = options;
  const { namespace: home, uid, deletionTimestamp } = object.metadata;
  const isGoing = deletionTimestamp !== undefined;
  const isComplete = wasInterrupted || predecessorUids.length > 0;
  const isSure = operator.watch === undefined && isNext(object) && !isComplete;
  const isEverywhere = home === undefined || isElsewhere || isComplete;
  const listed = new Set<string>();
  const versions = new Map<string, string>();
  const labelSelector = `${OWNER_UID_LABEL} in (${[uid, ...predecessorUids].join(",")})`;
  const lists = childResources.flatMap((resource) => {
    const isItsKind = (kind: string) => isSameKind(kind, kindKey(resource));
    const isRemembered = memory.kinds.some(isItsKind);
    if (isSure && !isRemembered) return [];
    if (!resource.namespaced && !isEverywhere) return [];
    // We may list nothing in a namespace that the operator no longer lists.
    const here = isListed(operator.namespaces, home) ? [home] : [];
    const scopes = isEverywhere ? scopesOf(operator.namespaces, resource) : here;
    return scopes.map(async (namespace) => {
      try {
        const version = await client.list(resource, { labelSelector, namespace }, (items) => {
          children.learn(resource, items);
          for (const { metadata } of items) listed.add(metadata.uid);
        });
        const other = versions.get(kindKey(resource));
        if (other === undefined || isNewer(other, version)) versions.set(kindKey(resource), version);
      } catch (error) {
        const isPlace = isPlaceOfChildren(object, memory, resource, namespace);
        const isNeeded = isPlace && !(isGoing && isOutOfReach(error));
        if (!isNeeded && error instanceof ApiError && !isBusy(error)) {
          // The run itself may have applied some of them.
          for (const child of children.of(uid)) if (isItsKind(kindKey(child.resource))) listed.add(child.uid);
          return;
        }
        throw isApiError(error, 404) ? new UnknownKindError(resource.apiVersion, resource.kind) : error;
      }
    });
  });
  await Promise.all(lists);
  children.retain(listed);
  return versions;
}

/** Whether a run has reported on the generation before the object's own, so that exactly one run is due. */
function isNext({ metadata: { generation = 1 }, status }: KubernetesObject): boolean {
  const observed = isRecord(status) ? status["observedGeneration"] : undefined;
  const ready = conditionsIn(status).find(({ type }) => type === "Ready");
  // A resync has reported on that generation, and no run.
  if (ready && UNREPORTED_RUN_REASONS.includes(ready.reason)) return false;
  return generation - (typeof observed === "number" ? observed : 0) === 1;
}
