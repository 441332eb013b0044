import {
  leaseNameOf,
  memoryPrefixOf,
  NEXT_ATTEMPT_ANNOTATION,
  NEXT_TRY_ANNOTATION,
  OWNER_UID_LABEL,
} from "../../runtime/base/names";
import { type KubernetesObject, kindAndName } from "../../runtime/base/objects";
import { kindOfKey } from "../../runtime/base/resource";
import { compareTexts } from "../../runtime/base/text";
import {
  builtIn,
  findResource,
  isApiError,
  type KubernetesClient,
  LEASES,
  type Lease,
  memoryOf,
  memoryResourceOf,
  namespaceOfEvents,
  rolloutStateIn,
  rolloutTextIn,
} from "../../runtime/cli";
import { homesOf } from "./installed";
import type { Known, ObjectEvent } from "./known";
import { operatorOf } from "./operatorOf";
import type { InstalledOperator } from "./readInstalled";
import { whyUnled } from "./runner";
import { isHeld, runningOperators } from "./running";
import { listRuns, type SeenRuns } from "./runs";
import type { Target } from "./target";

const LEASE = "the operator's Lease";
const MEMORY = "the operators' memory of it";

/**
 * Reads everything that explains an object. Parts that the account may not read are left out, and the user is told so.
 * @param onUnread called with each part that could not be read
 */
export async function lookAt(
  client: KubernetesClient,
  object: KubernetesObject,
  target: Target,
  onUnread: (what: string) => void,
): Promise<Known> {
  const { operators: installed, unreadable, unseen, resource } = target;
  const unread = new Set<string>();
  const readable = async <T>(what: string, read: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read;
    } catch (error) {
      if (!isApiError(error, 403)) throw error;
      unread.add(what);
      onUnread(what);
      return otherwise;
    }
  };
  const running =
    installed.length > 0 ? [] : await readable(LEASE, runningOperators(client, object, resource), []);
  const kept = await readable(MEMORY, keptBy(client, [...installed, ...running], object), undefined);
  // One that watches and remembers nothing of the object has nothing to do with it, as far as this account can see.
  const operators = [...installed, ...running.filter((each) => !each.watch || each === kept?.operator)];
  const operator = operatorOf({ object, operators, memory: kept?.memory }) ?? operators[0];
  const uid = object.metadata.uid;
  const [events, recorded, lease, childrenElsewhere] = await Promise.all([
    readable("its Events", eventsOf(client, object), []),
    readable<SeenRuns>(
      "its runs",
      // The runs of an operator are in its own namespace.
      listRuns(client, { uid, namespace: operator?.home, homes: homesOf(target) }, () => object),
      { runs: [] },
    ),
    readable(LEASE, operator ? leaseOf(client, operator) : Promise.resolve(undefined), undefined),
    object.metadata.deletionTimestamp === undefined ? [] : childrenOf(client, object),
  ]);
  const leader = leaderIn(lease);
  if (recorded.unseen) onUnread("its runs in other namespaces");
  return {
    object,
    operators,
    unreadable,
    unseen,
    memory: kept?.memory,
    memoryRead: !unread.has(MEMORY),
    leader,
    rollout: rolloutStateIn(rolloutTextIn(lease)),
    unled: operator && !leader && !unread.has(LEASE) ? await whyUnled(client, operator) : undefined,
    events,
    runs: recorded.runs,
    childrenElsewhere,
    now: new Date(),
  };
}

/** The operator that has a Memory of an object that others own, and that Memory. Undefined if none has. */
async function keptBy(
  client: KubernetesClient,
  operators: readonly InstalledOperator[],
  { metadata: { uid } }: KubernetesObject,
): Promise<{ operator: InstalledOperator; memory: KubernetesObject } | undefined> {
  for (const operator of operators) {
    if (!operator.watch) continue;
    const name = { namespace: operator.home, name: `${memoryPrefixOf(operator)}${uid}` };
    const memory = await client.get(memoryResourceOf(operator), name);
    if (memory) return { operator, memory };
  }
  return undefined;
}

/**
 * Events in the group that kubectl reads. The ClusterRole `view` of Kubernetes 1.34 has no right to read those of the group
 * events.k8s.io, which are the same objects.
 */
const EVENTS = builtIn("v1", "Event");

interface WrittenEvent extends Pick<KubernetesObject, "metadata"> {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly eventTime?: string | null;
  readonly lastTimestamp?: string | null;
}

/** Warnings about the object, the newest first. Those of an object without a namespace are in "default". */
async function eventsOf(client: KubernetesClient, { metadata }: KubernetesObject): Promise<ObjectEvent[]> {
  const found = await client.listAll(EVENTS, {
    namespace: namespaceOfEvents({ metadata }),
    fieldSelector: `involvedObject.uid=${metadata.uid},type=Warning`,
  });
  return (found as unknown as WrittenEvent[])
    .map(({ type = "", reason = "", message: note, series, count, metadata: { annotations }, ...times }) => ({
      type,
      reason,
      note,
      count: series?.count ?? count ?? 1,
      lastAt: series?.lastObservedTime ?? times.eventTime ?? times.lastTimestamp ?? undefined,
      nextAttempt: Number(annotations?.[NEXT_ATTEMPT_ANNOTATION]) || undefined,
      nextTry: annotations?.[NEXT_TRY_ANNOTATION],
    }))
    .sort((one, other) => compareTexts(other.lastAt ?? "", one.lastAt ?? ""));
}

/** An operator's Lease. Undefined if there is none. @throws ApiError */
export function leaseOf(client: KubernetesClient, operator: InstalledOperator): Promise<Lease | undefined> {
  return client.get(LEASES, { namespace: operator.home, name: leaseNameOf(operator) });
}

/** The pod that leads, by a Lease. Undefined if none does. */
export function leaderIn(lease: Lease | undefined): string | undefined {
  return lease && isHeld(lease) ? lease.spec?.holderIdentity : undefined;
}

/** Children of the object that no owner reference covers, of the kinds that the engine remembers. */
async function childrenOf(client: KubernetesClient, object: KubernetesObject): Promise<string[]> {
  const labelSelector = `${OWNER_UID_LABEL}=${object.metadata.uid}`;
  const lists = memoryOf(object).kinds.map(async (key) => {
    const { apiVersion, kind } = kindOfKey(key);
    // A kind that no longer exists has no objects. A kind that may not be read is left out.
    const found = await findResource(client, apiVersion, kind)
      .then((resource) => client.listAll(resource, { labelSelector, metadataOnly: true }))
      .catch(() => []);
    const elsewhere = found.filter(({ metadata }) => metadata.namespace !== object.metadata.namespace);
    return elsewhere.map(({ metadata }) => kindAndName(kind, metadata));
  });
  return (await Promise.all(lists)).flat();
}
