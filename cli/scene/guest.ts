import { crdNameOf } from "../../components/manifests/customResourceDefinition";
import { buildRoles } from "../../components/manifests/operator/rbac";
import { leaseNameOf } from "../../runtime/base/names";
import {
  formatName,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type Manifest,
} from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import {
  builtIn,
  ifRefused,
  type KubernetesClient,
  named,
  type Operator,
  resourceOf,
} from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { until } from "../common/until";
import { isHeld } from "../inspect/running";
import { FIELD_MANAGER } from "../local/installOperator";

const CRD = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition");
const NAMESPACE = builtIn("v1", "Namespace");
const LEASE = builtIn("coordination.k8s.io/v1", "Lease");
/** Pods may take their time to end. */
const DEADLINE_MS = 120_000;

/** The scene as a guest in the user's cluster: it enters only if it disturbs no other program, and leaves nothing behind. */
export class Guest {
  private constructor(
    private readonly client: KubernetesClient,
    private readonly operator: Operator,
    private readonly namespace: string,
    private readonly bringsDefinition: boolean,
  ) {}

  /**
   * Checks whether the scene may be played in this cluster.
   *
   * @throws CommandError if another client made the CRD or a cluster-wide role, or if the CRD has objects, because the scene would
   *   change them; or if the operator runs, because the scene would take its rights
   */
  static async enter(client: KubernetesClient, operator: Operator, namespace: string): Promise<Guest> {
    const selection = named(leaseNameOf(operator));
    const held = (await client.listAll(LEASE, selection)).find(isHeld);
    if (held) {
      throw new CommandError(
        `the operator ${operator.name} runs in this cluster: the Lease ${formatName(held.metadata)} is held. The scene would ` +
          `disturb it. Stop it first, or use another cluster.`,
      );
    }
    const name = crdNameOf(operator);
    const definition = await notOfOthers(client, CRD, name);
    for (const { apiVersion, kind, metadata } of clusterRoles(operator, namespace))
      await notOfOthers(client, builtIn(apiVersion, kind), metadata.name);
    if (definition) {
      const objects = await listAll(client, resourceOf(operator.customResource));
      const [first] = objects;
      if (first) {
        throw new CommandError(
          `the cluster has ${objects.length} objects of ${name}, such as ${formatName(first.metadata)}, and the scene ` +
            `would handle them. Use another cluster.`,
        );
      }
    }
    return new Guest(client, operator, namespace, definition === undefined);
  }

  /**
   * Removes everything that the scene has made, including objects that its handler would have finalized. The engine must have
   * stopped.
   * @returns what had to stay, as a sentence
   */
  async leave(): Promise<string | undefined> {
    const { client, operator, namespace } = this;
    const resource = resourceOf(operator.customResource);
    for (const { metadata } of await listAll(client, resource, namespace)) {
      await client.delete(resource, metadata);
      const released = client.mergePatch(resource, metadata, { metadata: { finalizers: [] } });
      await released.catch(ifRefused(404, undefined));
    }
    await this.deleteUntilGone(NAMESPACE, namespace);
    for (const { apiVersion, kind, metadata } of clusterRoles(operator, namespace))
      await client.delete(builtIn(apiVersion, kind), metadata);
    if (!this.bringsDefinition) return undefined;
    const name = crdNameOf(operator);
    const [first] = await listAll(client, resource);
    if (first)
      return `the CustomResourceDefinition ${name} stays, because objects of this kind were created during the scene, such as ${formatName(first.metadata)}`;
    await this.deleteUntilGone(CRD, name);
    return undefined;
  }

  private async deleteUntilGone(resource: Resource, name: string): Promise<void> {
    await this.client.delete(resource, { name });
    const isGone = async () => !(await this.client.get(resource, { name }));
    await until(isGone, { what: `${resource.kind} ${name} is removed`, deadlineMs: DEADLINE_MS });
  }
}

/** The roles and bindings of the scene that are in no namespace. */
function clusterRoles(operator: Operator, namespace: string): Manifest[] {
  return buildRoles(operator, namespace).filter(({ metadata }) => metadata.namespace === undefined);
}

/** An object of the cluster that the scene would change. @throws CommandError if the command line has not installed it */
async function notOfOthers(
  client: KubernetesClient,
  resource: Resource,
  name: string,
): Promise<KubernetesObject | undefined> {
  const object = await client.get(resource, { name });
  const isOurs = ({ manager, operation }: ManagedFieldsEntry) =>
    manager === FIELD_MANAGER && operation === "Apply";
  if (!object || object.metadata.managedFields?.some(isOurs)) return object;
  throw new CommandError(
    `the cluster has a ${resource.kind} ${name} that Argosy did not apply, and the scene would change it. Use another cluster.`,
  );
}

/** All objects of a kind. None if the kind is not served. */
function listAll(
  client: KubernetesClient,
  resource: Resource,
  namespace?: string,
): Promise<KubernetesObject[]> {
  const selection = { metadataOnly: true, ...(namespace !== undefined && { namespace }) };
  return client.listAll(resource, selection).catch(ifRefused(404, []));
}
