import { isRecord } from "../json/json";
import { type Condition, conditionsIn, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { memoryGroupOf, memoryPrefixOf, type OperatorIdentity } from "../names";

/** The kind Memory, as the API serves it. */
export function memoryResourceOf(operator: Pick<OperatorIdentity, "installation">): Resource {
  const apiVersion = `${memoryGroupOf(operator)}/v1`;
  return { apiVersion, kind: "Memory", plural: "memories", namespaced: true };
}

/** The uid of the object that a Memory is about. It is in the name of the Memory, which nobody can change. */
export function uidIn(memory: KubernetesObject, operator: OperatorIdentity): string | undefined {
  const prefix = memoryPrefixOf(operator);
  const { name } = memory.metadata;
  return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : undefined;
}

/** The name of the object that a Memory is about. Undefined if somebody has made a Memory of something else. */
export function nameIn({ object }: KubernetesObject): ObjectName | undefined {
  const { namespace, name } = isRecord(object) ? object : {};
  if (typeof name !== "string" || !["string", "undefined"].includes(typeof namespace)) return undefined;
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
