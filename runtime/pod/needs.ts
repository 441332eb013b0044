import { createHash } from "node:crypto";
import { resourceOf } from "../argo/runTarget";
import { ChildStore } from "../children/childStore";
import { ownManagers } from "../children/marks";
import type { Operator } from "../definition/definition";
import { isRecord } from "../json";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource } from "../kubernetes/discovery";
import { conditionsIn, type KubernetesObject } from "../kubernetes/objects";
import { kindKey, scopesOf } from "../kubernetes/resource";
import {
  annotated,
  CHILD_OF_LABEL,
  fieldManagerOf,
  formerManagersOf,
  identityOf,
  PAUSED_ANNOTATION,
} from "../names";
import { Finalizers } from "../reconcile/finalizers";
import { memoryOf } from "../reconcile/memory";
import { childrenFingerprint, contentFingerprint } from "./footprint";
import type { Unaware } from "./silentRuns";

/**
 * Why an object needs a run. "urgent": it was never reconciled in this generation, or it is being deleted. "routine":
 * another run may find something to do.
 */
export type Need = "urgent" | "routine";

/** An object that a run could do something about, and whether it needs one. */
export interface Looked extends Unaware {
  readonly need: Need | undefined;
}

/** What is looked at. */
export interface NeedsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
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
 * - those whose handler asked to be asked again by now;
 * - those that differ from what the handler saw, or that another version of engine or handler ran for;
 * - those of which a child is gone, has lost its labels, or was changed by somebody else;
 * - in each resync another tenth of all objects, in case this list misses something.
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
  const needs = new Needs(options, await listChildren(options));
  const looked: Looked[] = [];
  const resource = resourceOf(operator.customResource);
  for (const namespace of scopesOf(operator.namespaces, resource)) {
    await client.list(resource, namespace === undefined ? {} : { namespace }, (items) => {
      for (const object of items) {
        if (annotated(object.metadata, PAUSED_ANNOTATION) || needs.isNotOurs(object)) continue;
        const { namespace, name, uid } = object.metadata;
        looked.push({ namespace, name, uid, toldAt: toldAt(object, operator), need: needs.of(object) });
      }
    });
  }
  return looked;
}

class Needs {
  private readonly finalizers: Finalizers;
  private readonly declared: ReadonlySet<string>;
  private readonly now: Date;

  constructor(
    private readonly options: NeedsOptions,
    private readonly children: ChildStore,
  ) {
    const { operator, now = new Date() } = options;
    this.finalizers = new Finalizers(resourceOf(operator.customResource), operator);
    this.declared = new Set(operator.children.map(kindKey));
    this.now = now;
  }

  /** Whether the object is being deleted and has no finalizer of ours. */
  isNotOurs(object: KubernetesObject): boolean {
    const { finalizers } = this;
    const isHeld = finalizers.forHandler(object) || finalizers.forElsewhere(object);
    return object.metadata.deletionTimestamp !== undefined && !isHeld;
  }

  of(object: KubernetesObject): Need | undefined {
    const { deletionTimestamp, generation } = object.metadata;
    const status = isRecord(object["status"]) ? object["status"] : {};
    const ready = conditionsIn(status).find(({ type }) => type === "Ready");
    const isObserved = status["observedGeneration"] === generation;
    const isTold = ready !== undefined && toldAt(object, this.options.operator) !== undefined;
    if (deletionTimestamp !== undefined || !isObserved || !isTold) return "urgent";
    const isCalm = ready.status === "True" && this.isAsLeft(object) && !this.isInTurn(object);
    return isCalm ? undefined : "routine";
  }

  /** Whether everything is as the last run left it, and nothing is due. */
  private isAsLeft(object: KubernetesObject): boolean {
    const { operator, program } = this.options;
    const memory = memoryOf(object);
    if (memory.dueAt !== undefined && !(Date.parse(memory.dueAt) > this.now.getTime())) return false;
    return (
      (program === undefined || memory.program === program) &&
      memory.content === contentFingerprint(object) &&
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
async function listChildren({ operator, client, onError }: NeedsOptions): Promise<ChildStore> {
  const fieldManager = fieldManagerOf(operator);
  const children = new ChildStore({
    client,
    ownerKind: resourceOf(operator.customResource),
    fieldManager,
    managers: ownManagers(fieldManager, formerManagersOf(operator)),
    onChange: () => {},
    // The facts are enough: no content is kept.
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

/** When we last wrote the object's status, according to `managedFields`. */
function toldAt(
  { metadata: { managedFields = [] } }: KubernetesObject,
  operator: Operator,
): string | undefined {
  const manager = fieldManagerOf(operator);
  return managedFields.find((entry) => entry.manager === manager && entry.subresource === "status")?.time;
}
