import type { KubernetesObject, Manifest } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { CHILD_OF_LABEL, identityOf, type OperatorIdentity } from "../../runtime/names";
import { CHILD_RESOURCES, childResource, type Ground } from "./ground";

/** All that there is at a time. */
export interface Snapshot {
  /** The custom resources, but for the bystanders. */
  readonly objects: readonly KubernetesObject[];
  /** Everything of the children's kinds in both namespaces, but for the bystanders. */
  readonly children: readonly KubernetesObject[];
  /** What other controllers have made as controlled by the objects, as it is now. */
  readonly foreigners: readonly KubernetesObject[];
  /** What is nobody's business, as it is now. */
  readonly bystanders: readonly KubernetesObject[];
}

const BYSTANDER = "bystander";
/** How the names of what other controllers make begin. */
export const FOREIGNER = "of-others";
/** Every namespace has one, from Kubernetes. */
const OF_KUBERNETES = "kube-root-ca.crt";

/** Looks at all that there is. */
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
 * Makes objects of every kind that nobody may touch, some of which look as if they were an operator's: by its labels, by
 * a name that begins with that of an object. A custom resource that is paused is among them.
 * @param operator whose they look to be
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
