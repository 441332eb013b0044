import { isRecord } from "../json/json";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
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
