import type { ObjectName } from "./objects";

/** The key of a custom resource in the queue: "namespace/name". Without a namespace there is nothing before the slash. */
export function keyOf({ namespace = "", name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The name of which {@link keyOf} made the key. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
  return namespace ? { namespace, name } : { name };
}
