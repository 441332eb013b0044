import { CHILD_OF_LABEL, identityOf, type OperatorIdentity } from "../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { CHILD_RESOURCES, childResource, type Ground } from "./ground";

/** All objects at one time. */
export interface Snapshot {
  /** The custom resources, except the bystanders. */
  readonly objects: readonly KubernetesObject[];
  /** All objects of the children's kinds in both namespaces, except the bystanders. */
  readonly children: readonly KubernetesObject[];
  /** The present objects that other controllers have created as dependents of the custom resources. */
  readonly foreigners: readonly KubernetesObject[];
  /** The present objects that must stay untouched. */
  readonly bystanders: readonly KubernetesObject[];
}

const BYSTANDER = "bystander";
/** The prefix of the names of other controllers' objects. */
export const FOREIGNER = "of-others";
/** The ConfigMap that Kubernetes creates in every namespace. */
const OF_KUBERNETES = "kube-root-ca.crt";

/** Reads all objects. */
export async function takeSnapshot({ client, resource, namespace, far }: Ground): Promise<Snapshot> {
  const list = async (of: Resource, from: string) => {
    const items = await client.listAll(of, { namespace: from });
    return items.filter(({ metadata }) => metadata.name !== OF_KUBERNETES);
  };
  const all = await list(resource, namespace);
  const children = await Promise.all(
    [namespace, far].flatMap((from) => CHILD_RESOURCES.map((of) => list(of, from))),
  );
  const isBystander = ({ metadata }: KubernetesObject) => metadata.name.includes(BYSTANDER);
  const isForeigner = ({ metadata }: KubernetesObject) => metadata.name.startsWith(FOREIGNER);
  const isOther = (object: KubernetesObject) => !isBystander(object) && !isForeigner(object);
  return {
    objects: all.filter(isOther),
    children: children.flat().filter(isOther),
    foreigners: children.flat().filter(isForeigner),
    bystanders: [...all, ...children.flat()].filter(isBystander),
  };
}

/**
 * Creates objects of every kind that must stay untouched. Some of them look as if they belonged to an operator, because of its
 * labels or because their names begin with that of an object. One is a paused custom resource.
 * @param operator the operator that they seem to belong to
 */
export async function makeBystanders(
  ground: Ground,
  operator: OperatorIdentity,
): Promise<readonly KubernetesObject[]> {
  const { client, resource, namespace, far } = ground;
  const labels = { app: "o-0", [CHILD_OF_LABEL]: identityOf(operator) };
  const made: Promise<KubernetesObject>[] = [];
  for (const [from, name] of [
    [namespace, "o-0-bystander"],
    [far, BYSTANDER],
  ] as const) {
    for (const { apiVersion, kind } of CHILD_RESOURCES) {
      const metadata = { name, namespace: from, labels };
      const content: Partial<Manifest> =
        kind === "Service" ? { spec: { ports: [{ port: 80 }] } } : { data: { value: "b3RoZXJz" } };
      made.push(client.create(childResource(kind), { apiVersion, kind, metadata, ...content } as Manifest));
    }
  }
  const { apiVersion, kind } = resource;
  const annotations = { "argosy.dev/paused": "true" };
  const spec = { value: 1, maps: 3, secret: true, service: true, far, delayMs: 0, trouble: "", until: 0 };
  const paused = { apiVersion, kind, metadata: { name: BYSTANDER, namespace, annotations }, spec };
  return Promise.all([...made, client.create(resource, paused)]);
}
