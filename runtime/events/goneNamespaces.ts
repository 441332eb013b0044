import type { KubernetesClient } from "../kubernetes/client";
import { lookAtNamespace } from "../kubernetes/namespaces";

/** For how long a namespace must be gone or being deleted, in milliseconds. Somebody may be about to create it again. */
const GONE_MS = 10 * 60_000;

/**
 * Finds out which namespaces are gone for good, so that an event for one of them does not hold up the events for the others. A
 * namespace that is being deleted counts as gone: it never takes an object again, and a finalizer may keep it for days.
 */
export class GoneNamespaces {
  /** When each of them was first and last seen to be gone. */
  private readonly gone = new Map<string, { readonly first: number; readonly last: number }>();

  /** @param now a monotonic clock, in milliseconds */
  constructor(
    private readonly client: Pick<KubernetesClient, "get">,
    private readonly now: () => number,
  ) {}

  /**
   * Whether a namespace has been gone for ten minutes, as far as this process knows. If nobody has looked for as long, the namespace
   * may have been there meanwhile.
   * @throws ApiError, ApiUnreachableError
   */
  async has(namespace: string): Promise<boolean> {
    const state = await lookAtNamespace(this.client, namespace);
    if (state !== "gone" && state !== "going") {
      this.forget(namespace);
      return false;
    }
    const now = this.now();
    const { first, last } = this.gone.get(namespace) ?? { first: now, last: now };
    const since = now - last > GONE_MS ? now : first;
    this.gone.set(namespace, { first: since, last: now });
    return now - since >= GONE_MS;
  }

  /** The namespace was there. */
  forget(namespace: string): void {
    this.gone.delete(namespace);
  }
}
