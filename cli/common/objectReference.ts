import { formatName, kindAndName, type ObjectName } from "../../runtime/base/objects";

/** An object as the JSON of every command names it. */
export interface ObjectReference {
  readonly apiVersion?: string | undefined;
  /** Undefined if nothing in the cluster says it. */
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The kind of an object, as far as it is known. */
export type KnownKind = Pick<ObjectReference, "apiVersion" | "kind">;

/** The reference to the object of this kind and name. */
export function referenceTo(
  { apiVersion, kind }: KnownKind,
  { namespace, name }: ObjectName,
): ObjectReference {
  return { apiVersion, kind, namespace, name };
}

/** A reference for people: "Memcached shop/sessions". */
export function formatReference({ kind, ...name }: ObjectReference): string {
  return kind === undefined ? formatName(name) : kindAndName(kind, name);
}
