import { resourceOf } from "../../argo/runTarget";
import type { ChildStore } from "../../children/childStore";
import { isWatchedBy } from "../../children/watchedBy";
import type { Operator } from "../../definition/definition";
import { type Reference, referencesOf } from "../../definition/references";
import type { KubernetesClient } from "../../kubernetes/client";
import { lookAtNamespace } from "../../kubernetes/namespaces";
import { formatName, type KubernetesObject, type ObjectName } from "../../kubernetes/objects";
import { isListed } from "../../kubernetes/resource";
import { nameIn } from "../../memory/memoryKind";
import { annotated, PAUSED_ANNOTATION } from "../../names";
import { Finalizers } from "../../reconcile/finalizers";
import { labelSelectorOf } from "../../watch/watched";
import { KIND_PATIENCE_MS, Patience } from "../withoutWatches/patience";
import type { JudgedObject } from "../workflows/silentRuns";
import { listByNamespace } from "./listByNamespace";
import { ListedUse } from "./listedUse";
import { type ListOfAllOptions, listChildrenOfAll, listMemories } from "./listOfAll";
import { type Need, Needs, type NeedsOptions } from "./needs";

/** An object that may get a run, and whether it needs one. */
export interface RunCandidate extends JudgedObject {
  readonly need: Need | undefined;
  /** The uids of deleted objects of this name that have children left. @default none */
  readonly predecessorUids?: readonly string[];
}

/** Where {@link lookAtObjects} looks, and the facts by which it judges. */
export interface LookOptions extends ListOfAllOptions, NeedsOptions {}

/**
 * Looks at every object of the operator and at all their children, and says which objects need a run:
 *
 * - those whose generation was not observed, and those that are being deleted and have one of our finalizers;
 * - those that are not ready;
 * - those whose handler asked to be asked again by now, and those for which a schedule is due;
 * - those that were created from an event and are to be deleted by now;
 * - those that differ from what the handler saw, or that another version of engine or handler ran for;
 * - those that use something which was written to, came or went since their last run;
 * - those of which a child is gone, has lost its labels, or was changed by somebody else;
 * - those from which somebody took a finalizer of the operator;
 * - in each resync another tenth of all objects, in case this list misses something;
 * - those of namespaces that are no longer listed, if they are being deleted and have one of our finalizers;
 * - those that are remembered or have children left, and are no longer watched;
 * - those that replaced a deleted object of the same name whose children are still there: the garbage collector took both for one.
 *
 * Assumption: if it is not sure whether an object needs a run, the object gets one. A run that is not needed writes
 * nothing.
 *
 * @throws ApiError, ApiUnreachableError if the objects cannot be listed
 */
export async function lookAtObjects(options: LookOptions): Promise<RunCandidate[]> {
  const { operator, client, patience = new Patience() } = options;
  // The children are listed before the objects. If a run ends in between, its footprint differs from this older list,
  // and the object gets a run.
  const children = await listChildrenOfAll({ ...options, patience });
  const memories = operator.watch && (await patience.retried(() => listMemories(options)));
  const needs = new Needs(options, children, memories);
  const used = await ListedUse.of({ ...options, patience: patience.atMost(KIND_PATIENCE_MS) });
  const look = await patience.retried(() => Look.at(options, needs));
  await look.compareUse(used);
  const left = memories ? look.departed(memories, children) : [];
  const outside = await patience.retried(() => outsideObjects(operator, client));
  return [...look.candidates, ...outside, ...left];
}

/** An object that needs no run, unless what it uses has changed. No more of it is kept: there may be very many. */
interface Calm {
  /** Its place among all that were looked at. */
  readonly index: number;
  readonly references: ReadonlyMap<string, Reference>;
  /** A fingerprint of what it used. */
  readonly used: string | undefined;
}

/** One look at the objects of an operator. */
class Look {
  readonly candidates: RunCandidate[] = [];
  private readonly calm: Calm[] = [];
  /** The uids of all objects that the lists contained. */
  private readonly watched = new Set<string>();
  /** Namespaces that could not be listed and are not known to be gone. No object in them counts as gone. */
  private readonly unseen = new Set<string | undefined>();
  private readonly isWatched: (object: KubernetesObject) => boolean;

  private constructor(
    private readonly options: LookOptions,
    private readonly needs: Needs,
  ) {
    this.isWatched = isWatchedBy(options.operator, options.namespace);
  }

  /** Looks at every object by itself. */
  static async at(options: LookOptions, needs: Needs): Promise<Look> {
    const look = new Look(options, needs);
    await look.listObjects();
    return look;
  }

  private async listObjects(): Promise<void> {
    const { operator, client, onError } = this.options;
    const resource = resourceOf(operator.customResource);
    const labelSelector = operator.watch && labelSelectorOf(operator.watch);
    const selection = { namespaces: operator.namespaces, labelSelector };
    const take = (items: readonly KubernetesObject[]) => {
      for (const object of items) this.take(object);
    };
    const forbidden = new Set<string>();
    const onForbidden = (namespace: string, error: Error) => {
      forbidden.add(namespace);
      onError(`objects in namespace ${namespace}`, error);
    };
    // The rights to our own custom resources are cluster-wide, so no namespace takes them with it.
    await listByNamespace(client, resource, selection, take, operator.watch && onForbidden);
    for (const namespace of forbidden)
      if ((await lookAtNamespace(client, namespace)) !== "gone") this.unseen.add(namespace);
  }

  /** Finds, among the objects that need no run by themselves, those that use something which has changed. */
  async compareUse(used: ListedUse): Promise<void> {
    for (const { index, references, used: before } of this.calm) {
      const known = this.candidates[index];
      const now = known && (await used.fingerprintOf(known, references));
      if (known && now !== undefined && now !== before)
        this.candidates[index] = { ...known, need: "routine" };
    }
  }

  /** The objects that are remembered or have children left, and that no list contained. */
  departed(memories: ReadonlyMap<string, KubernetesObject>, children: ChildStore): RunCandidate[] {
    const { namespaces } = this.options.operator;
    const left = new Map<string, ObjectName>(children.owners().map(({ uid, ...name }) => [uid, name]));
    for (const [uid, memory] of memories) {
      const name = nameIn(memory);
      if (name) left.set(uid, name);
    }
    const isGone = (uid: string, { namespace }: ObjectName) =>
      !this.watched.has(uid) && !this.unseen.has(namespace) && isListed(namespaces, namespace ?? "");
    return [...left]
      .filter(([uid, name]) => isGone(uid, name))
      .map(([uid, name]) => urgent({ ...name, uid }));
  }

  private take(object: KubernetesObject): void {
    if (!this.isWatched(object)) return;
    this.watched.add(object.metadata.uid);
    try {
      this.judge(object);
    } catch (error) {
      // The object's run says what is wrong with it. The others go on.
      this.options.onError(formatName(object.metadata), error as Error);
      this.candidates.push(urgent(object.metadata));
    }
  }

  private judge(object: KubernetesObject): void {
    const { needs, candidates } = this;
    const { uses } = this.options.operator;
    if (annotated(object.metadata, PAUSED_ANNOTATION) || needs.isNotOurs(object)) return;
    const predecessorUids = needs.predecessorUidsOf(object);
    const left = needs.leftAbout(object);
    const need = needs.of(object, left) ?? (predecessorUids.length > 0 ? "routine" : undefined);
    if (need === undefined && Object.keys(uses).length > 0) {
      const references = referencesOf(uses, object);
      this.calm.push({ index: candidates.length, references, used: left.memory.used });
    }
    const { namespace, name, uid } = object.metadata;
    const { verdictAt } = left;
    candidates.push({ namespace, name, uid, isReportedOn: true, verdictAt, need, predecessorUids });
  }
}

/** An object that needs a run, and on which nothing is reported. */
export function urgent({ namespace, name, uid }: ObjectName & { readonly uid: string }): RunCandidate {
  return { namespace, name, uid, isReportedOn: false, verdictAt: undefined, need: "urgent" };
}

/** The objects in namespaces that the operator no longer lists, if they are being deleted and wait for one of our finalizers. */
async function outsideObjects(operator: Operator, client: KubernetesClient): Promise<RunCandidate[]> {
  const { namespaces, watch } = operator;
  const resource = resourceOf(operator.customResource);
  if (namespaces === "all" || watch || !resource.namespaced) return [];
  const finalizers = new Finalizers(resource, operator);
  const candidates: RunCandidate[] = [];
  await client.list(resource, { metadataOnly: true }, (items) => {
    for (const object of items) {
      const { namespace, deletionTimestamp } = object.metadata;
      if (deletionTimestamp === undefined || isListed(namespaces, namespace)) continue;
      if (annotated(object.metadata, PAUSED_ANNOTATION)) continue;
      if (finalizers.hold(object)) candidates.push(urgent(object.metadata));
    }
  });
  return candidates;
}
