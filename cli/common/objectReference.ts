import { z } from "zod";
import { formatName, kindAndName, type ObjectName } from "../../runtime/base/objects";
import { safe } from "./terminal";

/** The schema of an {@link ObjectReference}. */
export const OBJECT_REFERENCE = z.strictObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional().describe("Left out if nothing in the cluster says it."),
  namespace: z.string().optional(),
  name: z.string(),
});

/** An object as the JSON of every command names it. */
export type ObjectReference = Readonly<z.infer<typeof OBJECT_REFERENCE>>;

/** The kind of an object, as far as it is known. */
export type KnownKind = Pick<ObjectReference, "apiVersion" | "kind">;

/** The reference to the object of this kind and name. */
export function referenceTo(
  { apiVersion, kind }: KnownKind,
  { namespace, name }: ObjectName,
): ObjectReference {
  return { apiVersion, kind, namespace, name };
}

/** A reference for people: "Memcached shop/sessions". Many kinds of Kubernetes allow nearly any name. */
export function formatReference({ kind, ...name }: ObjectReference): string {
  return safe(kind === undefined ? formatName(name) : kindAndName(kind, name));
}
