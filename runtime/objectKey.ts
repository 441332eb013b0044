import type { ObjectName } from "./kubernetes/objects";

/** The key of a custom resource in the queue: "namespace/name", with nothing before the slash where it has none. */
export function keyOf({ namespace = "", name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The name that {@link keyOf} made the key of. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
  return namespace ? { namespace, name } : { name };
}
