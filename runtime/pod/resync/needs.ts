import { createHash } from "node:crypto";
import { resourceOf } from "../../argo/runTarget";
import { ChildStore } from "../../children/childStore";
import { ownManagers } from "../../children/marks";
import { canReference } from "../../children/ownership";
import type { Operator } from "../../definition/definition";
import { type Reference, referencesOf } from "../../definition/references";
import { isExpired } from "../../events/eventMarks";
import { isRecord } from "../../json";
import type { KubernetesClient } from "../../kubernetes/client";
import { findResource } from "../../kubernetes/discovery";
import { isApiError } from "../../kubernetes/errors";
import {
  conditionsIn,
  formatName,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type ObjectName,
} from "../../kubernetes/objects";
import { isListed, kindKey, scopesOf } from "../../kubernetes/resource";
import { memoryResourceOf, nameIn, uidIn } from "../../memory/keptMemories";
import { type Memory, memoryIn, memoryOf } from "../../memory/memory";
import {
  allIdentitiesOf,
  annotated,
  CHILD_OF_LABEL,
  fieldManagerOf,
  formerManagersOf,
  identityOf,
  OPERATOR_LABEL,
  PAUSED_ANNOTATION,
} from "../../names";
import { Finalizers } from "../../reconcile/finalizers";
import { timetableOf } from "../../reconcile/timetable";
import { labelSelectorOf } from "../../watch/watched";
import { childrenFingerprint, contentFingerprint } from "../withoutWatches/footprint";
import { isWatched } from "../withoutWatches/watchedObjects";
import type { Unaware } from "../workflows/silentRuns";
import { ListedUse } from "./listedUse";

/**
 * Why an object needs a run. "urgent": it was never reconciled in this generation, or it is being deleted. "routine":
 * another run may find something to do.
 */
export type Need = "urgent" | "routine";

/** An object for which a run could do something, and whether it needs one. */
export interface Looked extends Unaware {
  readonly need: Need | undefined;
  /** The uids of deleted objects of this name that have children left. @default none */
  readonly formerUids?: readonly string[];
}

/** The options of {@link lookAtObjects}. */
export interface NeedsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's runs: the platform's. */
  readonly namespace: string;
  /** A fingerprint of the program that runs now. Undefined if that is not known: see `programFingerprint`. */
  readonly program: string | undefined;
  /** Called for each kind of children that could not be listed. Objects that have children of that kind get a run. */
  readonly onError: (what: string, error: Error) => void;
  /** @default the machine's clock */
  readonly now?: Date;
}

/** In one of this many resyncs, each object gets a run that it does not seem to need. */
export const FULL_LOOK_RESYNCS = 10;

/**
 * Looks at every object of the operator and at all their children, and says which objects need a run:
 *
 * - those whose generation was not observed, and those that are being deleted and have a finalizer of ours;
 * - those that are not ready;
 * - those whose handler asked to be asked again by now, and those for which a schedule is due;
 * - those that were made of an event and are to be deleted by now;
 * - those that differ from what the handler saw, or that another version of engine or handler ran for;
 * - those that use something which was written to, came or went since their last run;
 * - those of which a child is gone, has lost its labels, or was changed by somebody else;
 * - those from which somebody took a finalizer of the operator;
 * - in each resync another tenth of all objects, in case this list misses something;
 * - those of namespaces that are no longer listed, if they are being deleted and have a finalizer of ours;
 * - those that are remembered or have children left, and are no longer watched;
 * - those that replaced a deleted object of the same name whose children are still there: the garbage collector took both for one.
 *
 * Assumption: if it is not sure whether an object needs a run, the object gets one. A run that is not needed writes
 * nothing.
 *
 * @throws ApiError, ApiUnreachableError if the objects cannot be listed
 */
export async function lookAtObjects(options: NeedsOptions): Promise<Looked[]> {
  const { operator, client } = options;
  // The children are listed before the objects. If a run ends in between, its footprint differs from this older list,
  // and the object gets a run.
  const children = await listChildrenOfAll(options);
  const memories = operator.watch && (await listMemories(options));
  const needs = new Needs(options, children, memories);
  const used = await ListedUse.of(options);
  const looked: Looked[] = [];
  const watched = new Set<string>();
  /** Namespaces that could not be listed. No object in them counts as gone. */
  const unseen = new Set<string | undefined>();
  /** Objects that need no run, unless an object that they use has changed. */
  const calm: Calm[] = [];
  const uses = Object.keys(operator.uses).length > 0;
  const resource = resourceOf(operator.customResource);
  const labelSelector = operator.watch && labelSelectorOf(operator.watch);
  for (const namespace of scopesOf(operator.namespaces, resource)) {
    const selection = {
      ...(namespace !== undefined && { namespace }),
      ...(labelSelector && { labelSelector }),
    };
    const listing = client.list(resource, selection, (items) => {
      for (const object of items) {
        if (!isWatched(object, operator)) continue;
        const { namespace, name, uid } = object.metadata;
        watched.add(uid);
        try {
          if (annotated(object.metadata, PAUSED_ANNOTATION) || needs.isNotOurs(object)) continue;
          const formerUids = needs.formerUidsOf(object);
          const need = needs.of(object) ?? (formerUids.length > 0 ? "routine" : undefined);
          if (uses && need === undefined)
            calm.push({
              index: looked.length,
              references: referencesOf(operator.uses, object),
              used: needs.memoryOf(object).used,
            });
          looked.push({ namespace, name, uid, verdictAt: needs.verdictAt(object), need, formerUids });
        } catch (error) {
          // The object's run says what is wrong with it. The others go on.
          options.onError(formatName(object.metadata), error as Error);
          looked.push({ namespace, name, uid, verdictAt: NEVER_SILENT, need: "urgent" });
        }
      }
    });
    await listing.catch((error: Error) => {
      // Rights to objects that are not ours go with their namespace. Objects in other namespaces are still served.
      if (!operator.watch || namespace === undefined || !isApiError(error, 403)) throw error;
      unseen.add(namespace);
      options.onError(`objects in namespace ${namespace}`, error);
    });
  }
  for (const { index, references, used: before } of calm) {
    const known = looked[index];
    const now = known && (await used.fingerprintOf(known, references));
    if (known && now !== undefined && now !== before) looked[index] = { ...known, need: "routine" };
  }
  looked.push(...(await outsideObjects(operator, client)));
  if (memories) {
    const left = departed(memories, children, watched, operator);
    looked.push(...left.filter((each) => !unseen.has(each.namespace)));
  }
  return looked;
}

/** An object that needs no run, unless what it uses has changed. No more of it is kept: there may be very many. */
interface Calm {
  /** Its place among all that were looked at. */
  readonly index: number;
  readonly references: ReadonlyMap<string, Reference>;
  /** A fingerprint of what it used. */
  readonly used: string | undefined;
}

/** The objects of namespaces that the operator no longer lists that are being deleted, and that wait for a finalizer of ours. */
async function outsideObjects(operator: Operator, client: KubernetesClient): Promise<Looked[]> {
  const { namespaces, watch } = operator;
  const resource = resourceOf(operator.customResource);
  if (namespaces === "all" || watch || !resource.namespaced) return [];
  const finalizers = new Finalizers(resource, operator);
  const looked: Looked[] = [];
  await client.list(resource, { metadataOnly: true }, (items) => {
    for (const object of items) {
      const { namespace, name, uid, deletionTimestamp } = object.metadata;
      if (deletionTimestamp === undefined || isListed(namespaces, namespace)) continue;
      if (annotated(object.metadata, PAUSED_ANNOTATION)) continue;
      if (finalizers.forHandler(object) || finalizers.forElsewhere(object))
        looked.push({ namespace, name, uid, verdictAt: NEVER_SILENT, need: "urgent" });
    }
  });
  return looked;
}

/** The objects that are remembered or have children left, and that no list contained. */
function departed(
  memories: ReadonlyMap<string, KubernetesObject>,
  children: ChildStore,
  watched: ReadonlySet<string>,
  { namespaces }: Operator,
): Looked[] {
  const left = new Map<string, ObjectName>(children.owners().map(({ uid, ...name }) => [uid, name]));
  for (const [uid, memory] of memories) {
    const name = nameIn(memory);
    if (name) left.set(uid, name);
  }
  const isHere = ({ namespace = "" }: ObjectName) => isListed(namespaces, namespace);
  return (
    [...left]
      .filter(([uid, name]) => !watched.has(uid) && isHere(name))
      // Nothing is to be reported on an object that is gone.
      .map(([uid, name]) => ({ ...name, uid, verdictAt: NEVER_SILENT, need: "urgent" }))
  );
}

/** A time after every other. Nothing is reported on an object whose last verdict has this time. */
const NEVER_SILENT = "9";

/** The Memory objects of the operator, by the uid of the object that each is about. */
async function listMemories({
  operator,
  client,
  namespace,
}: NeedsOptions): Promise<Map<string, KubernetesObject>> {
  const memories = new Map<string, KubernetesObject>();
  // A Memory under a former name counts only if there is no other.
  for (const identity of allIdentitiesOf(operator).toReversed()) {
    const labelSelector = `${OPERATOR_LABEL}=${identityOf(identity)}`;
    await client.list(memoryResourceOf(operator), { namespace, labelSelector }, (items) => {
      for (const memory of items) {
        const uid = uidIn(memory, identity);
        if (uid !== undefined) memories.set(uid, memory);
      }
    });
  }
  return memories;
}

class Needs {
  private readonly finalizers: Finalizers;
  private readonly declared: ReadonlySet<string>;
  private readonly now: Date;

  constructor(
    private readonly options: NeedsOptions,
    private readonly children: ChildStore,
    /** Of objects that are not ours, by their uid. */
    private readonly memories: ReadonlyMap<string, KubernetesObject> | undefined,
  ) {
    const { operator, now = new Date() } = options;
    this.finalizers = new Finalizers(resourceOf(operator.customResource), operator);
    this.declared = new Set(operator.children.map(kindKey));
    this.now = now;
  }

  /** Whether the object is being deleted and has no finalizer of ours. */
  isNotOurs(object: KubernetesObject): boolean {
    const { finalizers, memories } = this;
    if (memories) return object.metadata.deletionTimestamp !== undefined;
    const isHeld = finalizers.forHandler(object) || finalizers.forElsewhere(object);
    return object.metadata.deletionTimestamp !== undefined && !isHeld;
  }

  of(object: KubernetesObject): Need | undefined {
    const { deletionTimestamp, generation, uid } = object.metadata;
    const status = isRecord(object["status"]) ? object["status"] : {};
    const conditions = conditionsIn(this.memories ? this.memories.get(uid) : status);
    const ready = conditions.find(({ type }) => type === "Ready");
    const isObserved = this.memories
      ? this.memoryOf(object).content === contentFingerprint(object, this.options.operator)
      : status["observedGeneration"] === generation;
    const hasVerdict = ready !== undefined && this.verdictAt(object) !== undefined;
    if (deletionTimestamp !== undefined || !isObserved || !hasVerdict) return "urgent";
    if (isExpired(object, this.options.operator, this.now.getTime())) return "routine";
    const isCalm =
      ready.status === "True" &&
      this.isAsLeft(object) &&
      !this.lacksFinalizer(object) &&
      !this.isInTurn(object);
    return isCalm ? undefined : "routine";
  }

  /** Whether somebody took a finalizer of the operator away. Without the finalizer, nobody is asked before the object goes. */
  private lacksFinalizer(object: KubernetesObject): boolean {
    if (this.memories) return false;
    const { children, finalizers, options } = this;
    const hasElsewhere = children
      .of(object.metadata.uid)
      .some(({ namespace }) => !canReference(object, namespace));
    return (
      (options.operator.finalize && !finalizers.forHandler(object)) ||
      (hasElsewhere && !finalizers.forElsewhere(object))
    );
  }

  /**
   * The uids of deleted objects of this name that have children left. For objects that are not ours, each deleted object has a
   * run of its own: see {@link departed}.
   */
  formerUidsOf({ metadata }: KubernetesObject): string[] {
    if (this.memories || metadata.deletionTimestamp !== undefined) return [];
    const left = this.children.ofPredecessors(metadata).filter(({ deleting }) => !deleting);
    return [...new Set(left.map(({ facts }) => facts.owner.uid))];
  }

  /** When we last wrote the verdict about the object, according to `managedFields`. */
  verdictAt(object: KubernetesObject): string | undefined {
    const written = this.memories ? this.memories.get(object.metadata.uid) : object;
    const manager = fieldManagerOf(this.options.operator);
    const subresource = this.memories ? undefined : "status";
    const isOurs = (entry: ManagedFieldsEntry) =>
      entry.manager === manager && entry.subresource === subresource;
    return written?.metadata.managedFields?.find(isOurs)?.time;
  }

  /** What is remembered of the object. */
  memoryOf(object: KubernetesObject): Memory {
    if (!this.memories) return memoryOf(object);
    return memoryIn(this.memories.get(object.metadata.uid)?.["memory"]);
  }

  /** Whether everything is as the last run left it, and nothing is due. */
  private isAsLeft(object: KubernetesObject): boolean {
    const { operator, program } = this.options;
    const memory = this.memoryOf(object);
    if (timetableOf(operator, object, memory, this.now.getTime()).due.length > 0) return false;
    if (memory.dueAt !== undefined && !(Date.parse(memory.dueAt) > this.now.getTime())) return false;
    return (
      (program === undefined || memory.program === program) &&
      memory.content === contentFingerprint(object, operator) &&
      memory.kinds.every((kind) => this.declared.has(kind)) &&
      memory.children === childrenFingerprint(this.children.of(object.metadata.uid), operator)
    );
  }

  /** Whether this is the resync in which the object gets a run in any case. Its uid says which. */
  private isInTurn({ metadata: { uid } }: KubernetesObject): boolean {
    const resync = Math.floor(this.now.getTime() / 1000 / this.options.operator.resyncSeconds);
    const turn = createHash("sha256").update(uid).digest().readUInt32BE(0);
    return turn % FULL_LOOK_RESYNCS === resync % FULL_LOOK_RESYNCS;
  }
}

/** The children of all objects, by the lists that a resident runner begins with. */
async function listChildrenOfAll({ operator, client, onError }: NeedsOptions): Promise<ChildStore> {
  const fieldManager = fieldManagerOf(operator);
  const children = new ChildStore({
    client,
    ownerKind: resourceOf(operator.customResource),
    fieldManager,
    managers: ownManagers(fieldManager, formerManagersOf(operator)),
    onChange: () => {},
    // The facts suffice, so no content is kept.
    mostKept: 0,
  });
  const labelSelector = `${CHILD_OF_LABEL}=${identityOf(operator)}`;
  for (const { apiVersion, kind, update } of operator.children) {
    if (update === "never") continue;
    try {
      const resource = await findResource(client, apiVersion, kind);
      for (const namespace of scopesOf(operator.namespaces, resource)) {
        const selection = { labelSelector, ...(namespace !== undefined && { namespace }) };
        await client.list(resource, selection, (items) => children.learn(resource, items));
      }
    } catch (error) {
      onError(`children of kind ${kind}`, error as Error);
    }
  }
  return children;
}
