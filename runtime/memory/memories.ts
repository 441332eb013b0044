import type { JsonObject, KubernetesObject } from "../kubernetes/objects";
import type { Statuses } from "../status/statuses";
import { type Memory, memoryAbout, memoryIn, memoryOf, writtenMemory } from "./memory";

/**
 * Where the engine keeps its memory of an object and the last verdict about it.
 *
 * | objects | are remembered | by |
 * | --- | --- | --- |
 * | custom resources of our own | in their status | {@link statusMemories} |
 * | objects of others | in Memory objects | `MemoryObjects`, which know those that `MemoryStore` watches, or `ReadMemories` reads |
 */
export interface Memories extends Pick<Statuses, "write"> {
  /**
   * The memory of an object.
   * @throws ApiError, ApiUnreachableError if the memory must be read and cannot be
   */
  of(object: KubernetesObject): Promise<Memory>;
}

/**
 * The memories of custom resources, in their own status.
 * @param lastOf the memory that an object's status had before somebody emptied it. @default none is known
 */
export function statusMemories(
  statuses: Pick<Statuses, "write">,
  lastOf: (object: KubernetesObject) => JsonObject | undefined = () => undefined,
): Memories {
  return {
    of: async (object) => {
      const last = writtenMemory(object) ? undefined : lastOf(object);
      return last ? memoryIn(last) : memoryOf(object);
    },
    write: (client, object, { memory, ...change }, along) => {
      const about = memory && { memory: memoryAbout(object.uid, memory) };
      return statuses.write(client, object, { ...change, ...about }, along);
    },
  };
}
