import { groupOf, type KubernetesObject, kindAndName, type ObjectName } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { type ApiResource, type KubernetesClient, readArray, resourceOf } from "../../runtime/cli";
import { CommandError, UsageError } from "../common/commandError";
import { readObjectName } from "../common/objectName";
import { installedOperators } from "./installed";
import type { InstalledOperator, InstalledOperators } from "./readInstalled";

/** An object that the user named, and the operators that handle its kind. Those that are unreadable may handle it. */
export interface Target extends InstalledOperators {
  readonly resource: Resource;
  readonly name: ObjectName;
}

/** The namespace of a command, from its options. */
export interface NamespaceOptions {
  /** The object's namespace. @default that of the kubeconfig's context */
  readonly namespace?: string;
}

/**
 * Finds the object that "memcached/sessions" names. The kind, its plural or either with its group is before the slash, as
 * `kubectl get` takes them, and the name is behind it.
 *
 * @param known the installed operators, if the caller has read them already.
 * @default they are read
 * @throws UsageError if it names no kind of this cluster, or several
 */
export async function findTarget(
  client: KubernetesClient,
  text: string,
  { namespace }: NamespaceOptions,
  known?: InstalledOperators,
): Promise<Target> {
  const { kind, name } = readObjectName(text);
  const { operators: installed, ...rest } = known ?? (await installedOperators(client));
  const resource = await findKind(client, kind, installed);
  const operators = installed.filter(
    ({ customResource }) =>
      customResource.kind === resource.kind && customResource.group === groupOf(resource.apiVersion),
  );
  const place = resource.namespaced ? { namespace: namespace ?? client.namespace } : {};
  return { ...rest, resource, name: { ...place, name }, operators };
}

/** The object itself. @throws CommandError if there is none */
export async function readTarget(
  client: KubernetesClient,
  { resource, name }: Target,
): Promise<KubernetesObject> {
  const object = await client.get(resource, name);
  if (object) return object;
  const place = resource.namespaced ? " Name its namespace with --namespace." : "";
  throw new CommandError(`There is no ${kindAndName(resource.kind, name)} in this cluster.${place}`);
}

async function findKind(
  client: KubernetesClient,
  word: string,
  installed: readonly InstalledOperator[],
): Promise<Resource> {
  const ours = unique(installed.map(({ customResource }) => resourceOf(customResource))).filter((each) =>
    answersTo(each, word),
  );
  const found = ours.length > 0 ? ours : await servedKinds(client, word);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only) {
    throw new UsageError(`The cluster has no kind "${word}". kubectl api-resources shows its kinds.`);
  }
  const names = found.map(({ plural, apiVersion }) => `${plural}.${groupOf(apiVersion)}`);
  throw new UsageError(`"${word}" may mean ${names.join(" or ")}. Write one of these.`);
}

function unique(resources: readonly Resource[]): Resource[] {
  return [...new Map(resources.map((each) => [`${each.apiVersion} ${each.plural}`, each])).values()];
}

/** Whether a word means a kind: the kind, its plural or one of `more`, each alone or with its group. */
export function answersTo(
  { apiVersion, kind, plural }: Resource,
  word: string,
  more: readonly string[] = [],
): boolean {
  const names = [kind.toLowerCase(), plural, ...more];
  const group = groupOf(apiVersion);
  return [...names, ...names.map((name) => `${name}.${group}`)].includes(word.toLowerCase());
}

/** The kinds that the API server serves under this name, each in its group's preferred version. */
async function servedKinds(client: KubernetesClient, word: string): Promise<Resource[]> {
  const groups = await readArray<{ preferredVersion: { groupVersion: string } }>(client, "/apis", "groups");
  const versions = ["v1", ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
  const lists = await Promise.all(
    versions.map(async (apiVersion) => {
      const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
      // Another project's API server behind an APIService may be unavailable.
      const resources = await readArray<ApiResource>(client, path, "resources").catch(() => []);
      return resources
        .filter(({ name }) => !name.includes("/"))
        .map(({ name, kind, namespaced, singularName = "", shortNames = [] }) => ({
          resource: { apiVersion, kind, plural: name, namespaced },
          more: [singularName, ...shortNames],
        }));
    }),
  );
  return lists
    .flat()
    .filter(({ resource, more }) => answersTo(resource, word, more))
    .map(({ resource }) => resource);
}
