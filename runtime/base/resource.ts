import { groupOf, type ObjectName } from "./objects";

/** A kind in one version of its group (`metav1.TypeMeta`). */
export interface TypeMeta {
  /** "apps/v1", "v1" */
  readonly apiVersion: string;
  readonly kind: string;
}

/** A kind as the API serves it. */
export interface Resource extends TypeMeta {
  /** "deployments" */
  readonly plural: string;
  readonly namespaced: boolean;
}

/**
 * The path of a resource's collection, of one object or of an object's subresource. Every part is escaped, so a name in a
 * handler's answer cannot reach another path.
 */
export function resourcePath(resource: Resource, name: Partial<ObjectName>, subresource?: string): string {
  const { apiVersion, plural, namespaced } = resource;
  const parts = apiVersion.includes("/") ? ["apis", ...apiVersion.split("/")] : ["api", apiVersion];
  if (namespaced && name.namespace) parts.push("namespaces", name.namespace);
  parts.push(plural);
  if (name.name !== undefined) parts.push(name.name);
  if (subresource) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/**
 * The namespaces in which to list or watch a kind, given the namespaces that count. Undefined: all of them, or the kind has none.
 */
export function scopesOf(
  namespaces: "all" | readonly string[],
  { namespaced }: Resource,
): readonly (string | undefined)[] {
  return namespaces === "all" || !namespaced ? [undefined] : namespaces;
}

/** Whether a namespace is one of those that count. An object without a namespace always counts. */
export function isListed(namespaces: "all" | readonly string[], namespace: string | undefined): boolean {
  return namespaces === "all" || namespace === undefined || namespaces.includes(namespace);
}

/** Whether a kind is served at the same paths as before. */
export function isServedAlike(one: Resource, other: Resource): boolean {
  return one.plural === other.plural && one.namespaced === other.namespaced;
}

/** The key of a kind: "apps/v1/Deployment". */
export function kindKey({ apiVersion, kind }: TypeMeta): string {
  return `${apiVersion}/${kind}`;
}

/** Whether a text is what {@link kindKey} gives of a kind that an API server may serve. */
export function isKindKey(text: string): boolean {
  return /^([a-z0-9.-]+\/)?v[a-z0-9]+\/[A-Za-z][A-Za-z0-9]*$/.test(text);
}

/** A kind in whatever version, as kubectl takes it: "Deployment.apps", "ConfigMap" of the core group. */
export function groupKind({ apiVersion, kind }: TypeMeta): string {
  const group = groupOf(apiVersion);
  return group ? `${kind}.${group}` : kind;
}

/** Whether two keys of {@link kindKey} name one kind. The versions of a group have the same objects. */
export function isSameKind(one: string, other: string): boolean {
  const [a, b] = [kindOfKey(one), kindOfKey(other)];
  return a.kind === b.kind && groupOf(a.apiVersion) === groupOf(b.apiVersion);
}

/** The kind of which {@link kindKey} made the key. */
export function kindOfKey(key: string): TypeMeta {
  const slash = key.lastIndexOf("/");
  return { apiVersion: key.slice(0, Math.max(slash, 0)), kind: key.slice(slash + 1) };
}
