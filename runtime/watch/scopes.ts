import type { KubernetesClient } from "../kubernetes/client";
import type { Selection } from "../kubernetes/list";
import { kindKey, type Resource, scopesOf } from "../kubernetes/resource";
import { Reflector } from "./reflector";
import type { ReflectorSink } from "./reflectorSink";

/** What {@link Scopes} watch of their kinds, and the callbacks that they call. */
export interface ScopesOptions extends Omit<Selection, "namespace"> {
  readonly client: KubernetesClient;
  readonly namespaces: "all" | readonly string[];
  /** @param namespace undefined: all of them */
  readonly sink: (resource: Resource, namespace: string | undefined) => ReflectorSink;
  readonly onInterruption: (resource: Resource, error: Error) => void;
  /** Called when a kind was listed for the first time, or again after the API server had refused it. */
  readonly onSynced: (resource: Resource, namespace: string | undefined) => void;
  /** @see ReflectorOptions.answersOthers */
  readonly answersOthers?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Called when the API server no longer gives a kind, or never did. {@link Scopes.notSynced} has its refusal. */
  readonly onRefused?: (resource: Resource, error: Error, namespace: string | undefined) => void;
}

/** A kind in one namespace, or in all of them. */
interface Scope {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly reflector: Reflector;
}

/** Why a kind is not known in a namespace. */
export interface NotSynced {
  readonly resource: Pick<Resource, "apiVersion" | "kind">;
  readonly namespace: string | undefined;
  /**
   * Why the kind cannot be listed: the API server's refusal, that its lists get no answer, or that there is no such kind. Undefined:
   * the list is in progress.
   */
  readonly problem: Error | undefined;
}

/**
 * Watches of several kinds, each in all namespaces or in those that are listed.
 *
 * Guarantee (tests/unit/scopes.test.ts): a kind or a namespace that is missing, or that we may not read, holds up no other.
 */
export class Scopes {
  private scopes: Scope[] = [];

  constructor(private readonly options: ScopesOptions) {}

  /** Begins to watch a kind. */
  add(resource: Resource): void {
    const { namespaces, labelSelector, fieldSelector, metadataOnly, sink } = this.options;
    const { onInterruption, onSynced, onRefused, answersOthers } = this.options;
    const client = this.options.client.with({ class: "list", share: kindKey(resource) });
    for (const namespace of scopesOf(namespaces, resource)) {
      const reflector = new Reflector({
        client,
        resource,
        sink: sink(resource, namespace),
        onInterruption: (error) => onInterruption(resource, error),
        onSynced: () => onSynced(resource, namespace),
        onRefused: (error) => onRefused?.(resource, error, namespace),
        answersOthers,
        labelSelector,
        fieldSelector,
        metadataOnly,
        namespace,
      });
      this.scopes.push({ resource, namespace, reflector });
      reflector.start();
    }
  }

  /** Watches a kind no longer. Resolves when nothing more is reported of it. */
  async remove(resource: Resource): Promise<void> {
    const removed = this.scopes.filter((scope) => scope.resource === resource);
    this.scopes = this.scopes.filter((scope) => scope.resource !== resource);
    await Promise.all(removed.map(({ reflector }) => reflector.stop()));
  }

  /**
   * Lists everything again, also what the API server refused until now. A kind that is being listed for the first time is listed
   * once more, because that list may be older than this call.
   * @returns whether nothing that is known is older than this call. False if the API server refused a part of which it has shown
   *   objects before
   */
  async relist(): Promise<boolean> {
    const relisted = await Promise.all(
      this.scopes.map(async ({ reflector }) => (await reflector.relist()) || !reflector.hasShown),
    );
    return !relisted.includes(false);
  }

  /** Whether the API server lists any of these kinds now. It is asked for one object of a kind that it listed before. */
  async answers(signal: AbortSignal): Promise<boolean> {
    const { client, labelSelector } = this.options;
    const scope = this.scopes.find(({ reflector }) => reflector.isSynced);
    if (!scope) return false;
    const { resource, namespace } = scope;
    return client.versionOf(resource, { labelSelector, namespace }, signal).then(
      () => true,
      () => false,
    );
  }

  /** Resolves when everything has been listed once, or was refused. */
  async whenListed(): Promise<void> {
    const waiting = this.scopes.filter(({ reflector }) => !reflector.isSynced);
    await Promise.all(waiting.map(({ reflector }) => reflector.whenListed()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.scopes.map(({ reflector }) => reflector.stop()));
  }

  /**
   * The kinds that are not known yet in the places in which they must be.
   * @param namespace the namespace in which they must be known, besides kinds of cluster scope. Undefined: all
   */
  notSynced(namespace: string | undefined): NotSynced[] {
    return this.neededIn(namespace)
      .filter(({ reflector }) => !reflector.isSynced)
      .map(({ resource, namespace: where, reflector }) => ({
        resource,
        namespace: where,
        problem: reflector.problem,
      }));
  }

  /** Whether each change in these places is seen: see {@link Reflector.isFollowing}. @param namespace as for {@link notSynced} */
  isFollowing(namespace: string | undefined): boolean {
    return this.neededIn(namespace).every(({ reflector }) => reflector.isFollowing);
  }

  private neededIn(namespace: string | undefined): Scope[] {
    return this.scopes.filter(
      ({ namespace: where }) => where === undefined || namespace === undefined || where === namespace,
    );
  }
}

/** What is asked for is being listed, so it is not known yet which objects there are. */
export class StillListingError extends Error {
  constructor(what: string) {
    super(`${what} is being listed`);
    this.name = "StillListingError";
  }
}
