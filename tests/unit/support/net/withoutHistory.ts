import type { JsonObject } from "../../../../runtime/base/objects";

/**
 * What a snapshot says apart from what may depend on the way to it: whether an object is the first of its name, the finalizer that
 * stays on an object that once had children elsewhere, and what the engine remembers of an object.
 */
export function withoutHistory(snapshot: Record<string, unknown>): unknown {
  const anyLife = JSON.stringify(snapshot).replace(/\b([a-z]+\.[a-z]*\.[\w-]+)\.\d+(?=["\\])/g, "$1");
  const objects = JSON.parse(anyLife) as Record<string, JsonObject>;
  for (const { kind, metadata, status } of Object.values(objects)) {
    if (kind !== "Thing") continue;
    delete (metadata as JsonObject)["finalizers"];
    delete (metadata as JsonObject)["managedFields"];
    delete (status as JsonObject | undefined)?.["argosy"];
  }
  return objects;
}
