import { ChildWriter } from "../children/childWriter";
import type { JsonObject, KubernetesObject, ObjectName } from "../kubernetes/objects";
import { type Memories, statusMemories } from "../memory/memories";
import type { MemoryObjects } from "../memory/memoryObjects";
import { fieldManagerOf } from "../names";
import { EventWriter, type EventWriterOptions } from "../outbox/eventWriter";
import { Teller, type TellerOptions } from "../outbox/teller";
import type { DeparturesOptions } from "../reconcile/departures";
import { Reconciler, type ReconcilerOptions } from "../reconcile/reconciler";
import { Statuses } from "../status/statuses";
import { StatusWriter } from "../status/statusWriter";

/** What differs between a resident runner, which watches all objects, and a run in a pod of its own, which knows one. */
export interface ReconcilePartsOptions
  extends Omit<ReconcilerOptions, "writer" | "memories" | "departures">,
    Pick<EventWriterOptions, "instance">,
    Pick<TellerOptions, "record"> {
  /** Reads an object as it is now, to write its status. */
  readonly read: (name: ObjectName) => Promise<KubernetesObject | undefined>;
  /** The memory that an object's status had before somebody emptied it. Undefined if none is known. @default none is known */
  readonly lastMemoryOf?: (object: KubernetesObject) => JsonObject | undefined;
  /** The memories of objects that we do not own. Undefined if we own the objects. */
  readonly memoryObjects: MemoryObjects | undefined;
  /** What is known about objects that we do not own. */
  readonly sight: Pick<DeparturesOptions, "objects" | "completeness" | "isBlind">;
  /** @see EventWriterOptions.onDrop */
  readonly onEventDropped: EventWriterOptions["onDrop"];
}

/** The parts that reconcile an object and report on it. */
export interface ReconcileParts {
  readonly reconciler: Reconciler;
  readonly writer: ChildWriter;
  readonly memories: Memories;
  readonly teller: Teller;
}

/** Builds the parts that reconcile an object and report on it. */
export function newReconcileParts(options: ReconcilePartsOptions): ReconcileParts {
  const { operator, resource, children, objects, memoryObjects, sight } = options;
  const { instance, read, record, onEventDropped: onDrop } = options;
  const fieldManager = fieldManagerOf(operator);
  const writer = new ChildWriter({
    store: children,
    operator,
    ownerKind: resource,
    isNamespaced: operator.namespaces !== "all",
  });
  const learn = (object: KubernetesObject) => objects.learn(object);
  const invalidate = (name: ObjectName) => objects.invalidate(name);
  const statuses = new Statuses({
    writer: new StatusWriter({ resource, fieldManager }),
    read,
    learn,
    invalidate,
  });
  const memories = memoryObjects ?? statusMemories(statuses, options.lastMemoryOf);
  const departures = memoryObjects && { resource, memories: memoryObjects, children, ...sight };
  const events = new EventWriter({ controller: fieldManager, instance, onDrop });
  return {
    reconciler: new Reconciler({ ...options, writer, memories, departures }),
    writer,
    memories,
    teller: new Teller({ statuses: memories, events, record }),
  };
}
