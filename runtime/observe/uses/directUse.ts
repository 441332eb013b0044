import { type KubernetesObject, type ObjectName, withoutManagedFields } from "../../base/objects";
import type { Resource } from "../../base/resource";
import type { KubernetesClient } from "../../kubernetes/client";
import { findResource, isKindMissing } from "../../kubernetes/discovery";
import { ApiError } from "../../kubernetes/errors";
import { type LabelReference, selectorOf, type Uses, useOf } from "../../operator/uses";
import { LISTING_PATIENCE_MS } from "../watchFailures";
import { refusalNote, type Take, type UsedProblem, type UsedSource, unservedProblem } from "./used";

/**
 * Used objects that are read from the API server each time they are needed, for a run in a pod of its own, which has no watches.
 * A kind that is not Kubernetes' own is looked up once.
 */
export class DirectUse implements UsedSource {
  private readonly resources = new Map<string, Promise<Resource | undefined>>();
  /** Since when the API server has not said how a kind is served, by the key of its use, on the monotonic clock. */
  private readonly failingSince = new Map<string, number>();

  constructor(
    private readonly operator: Uses,
    private readonly client: KubernetesClient,
  ) {}

  async problemOf(key: string): Promise<UsedProblem | undefined> {
    const use = useOf(this.operator, key);
    try {
      if (await this.find(key)) return undefined;
      return await unservedProblem(this.client, use);
    } catch (error) {
      const since = this.failingSince.get(key) ?? performance.now();
      this.failingSince.set(key, since);
      // The server of an aggregated API may be away for days, while the others answer.
      const isLasting = error instanceof ApiError && performance.now() - since >= LISTING_PATIENCE_MS;
      if (!isLasting) throw error;
      return { kind: "refused", message: refusalNote(use, error) };
    }
  }

  async get(key: string, { namespace, name }: ObjectName): Promise<KubernetesObject | undefined> {
    const resource = await this.find(key);
    if (!resource || (resource.namespaced && namespace === undefined)) return undefined;
    const object = await this.client.get(resource, resource.namespaced ? { namespace, name } : { name });
    return object && withoutManagedFields(object);
  }

  async list(key: string, reference: LabelReference, take: Take): Promise<void> {
    const resource = await this.find(key);
    const labelSelector = selectorOf(reference);
    const { namespace } = reference;
    if (!resource || labelSelector === undefined) return;
    if (resource.namespaced && namespace === undefined) return;
    const selection = { labelSelector, ...(resource.namespaced && namespace && { namespace }) };
    await this.client.list(resource, selection, (items) => {
      for (const item of items) take(withoutManagedFields(item));
    });
  }

  private find(key: string): Promise<Resource | undefined> {
    const known = this.resources.get(key);
    if (known) return known;
    const { apiVersion, kind } = useOf(this.operator, key);
    const finding = findResource(this.client, apiVersion, kind).catch((error: Error) => {
      this.resources.delete(key);
      if (isKindMissing(error)) return undefined;
      throw error;
    });
    this.resources.set(key, finding);
    return finding;
  }
}
