// The kind of these, and which object each is about.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../base/json";
import { memoryGroupOf, memoryPrefixOf, type OperatorIdentity } from "../base/names";
import {
  type Condition,
  conditionsIn,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
} from "../base/objects";
import { groupKind, type Resource } from "../base/resource";

/** The kind Memory, as the API serves it. */
export function memoryResourceOf(operator: { readonly installation: string }): Resource {
  const apiVersion = `${memoryGroupOf(operator)}/v1`;
  return { apiVersion, kind: "Memory", plural: "memories", namespaced: true };
}

/** The uid of the object that a Memory is about. It is in the name of the Memory, which cannot be changed. */
export function uidIn(memory: KubernetesObject, operator: OperatorIdentity): string | undefined {
  const prefix = memoryPrefixOf(operator);
  const { name } = memory.metadata;
  return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : undefined;
}

/**
 * The name of the object that a Memory is about. Undefined if that object is of another kind, which the operator watched before,
 * or if another client wrote something else into the Memory.
 */
export function nameIn({ object }: KubernetesObject, resource: Resource): ObjectName | undefined {
  const { apiVersion, kind, namespace, name } = isRecord(object) ? object : {};
  if (typeof name !== "string" || !["string", "undefined"].includes(typeof namespace)) return undefined;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  if (groupKind({ apiVersion, kind }) !== groupKind(resource)) return undefined;
  return { name, ...(namespace !== undefined && { namespace: namespace as string }) };
}

/** The `status` of a Memory, as `kubectl wait` and other tools read it. */
interface MemoryStatus {
  /** Without `observedGeneration`, which tools compare with the generation of the Memory (kubectl, pkg/cmd/wait/condition.go). */
  readonly conditions: readonly Omit<Condition, "observedGeneration">[];
  /** The generation of the object that the conditions are about. */
  readonly objectGeneration?: number | undefined;
}

/** The conditions of the object that a Memory is about, as the status of that object would have them. */
export function conditionsOfObject(memory: KubernetesObject | undefined): Condition[] {
  const status = memory?.["status"];
  const observed = isRecord(status) ? status["objectGeneration"] : undefined;
  const observedGeneration = typeof observed === "number" ? { observedGeneration: observed } : {};
  return conditionsIn(status).map((condition) => ({ ...condition, ...observedGeneration }));
}

/** The status of a Memory of an object with these conditions, which are all of one generation. */
export function memoryStatus(conditions: readonly Condition[]): MemoryStatus {
  const [objectGeneration] = conditions.map(({ observedGeneration }) => observedGeneration);
  return {
    conditions: conditions.map(({ observedGeneration: _, ...condition }) => condition),
    ...(objectGeneration !== undefined && { objectGeneration }),
  };
}

/** Whether a Memory has everything that must be written. Others may have added labels and annotations of their own. */
export function isWithin({ metadata, ...content }: Manifest, there: KubernetesObject): boolean {
  const isLabelled = Object.entries(metadata.labels ?? {}).every(
    ([label, value]) => there.metadata.labels?.[label] === value,
  );
  const { metadata: _, ...known } = there;
  return metadata.name === there.metadata.name && isLabelled && isDeepStrictEqual(content, known);
}
