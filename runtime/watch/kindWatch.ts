import type { KubernetesClient } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import type { Selection } from "../kubernetes/list";
import { kindKey, type Resource, scopesOf } from "../kubernetes/resource";
import { Reflector } from "./reflector";
import type { ReflectorSink } from "./reflectorSink";

/** What a {@link KindWatch} watches of its kind, and the callbacks that it calls. */
export interface KindWatchOptions extends Omit<Selection, "namespace"> {
  readonly client: KubernetesClient;
  readonly resource: Resource;
  readonly namespaces: "all" | readonly string[];
  /** @param namespace undefined: all of them */
  readonly sink: (namespace: string | undefined) => ReflectorSink;
  readonly onInterruption: (error: Error) => void;
  /** Called when the kind was listed in a namespace for the first time, or again after the API server had refused it. */
  readonly onSynced: () => void;
  /** @see ReflectorOptions.answersOthers */
  readonly answersOthers?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Called once when the cluster no longer serves the kind there, or never did. @param namespace undefined: in all of them */
  readonly onUnserved?: (namespace: string | undefined) => void;
}

/** The kind in one namespace, or in all of them. */
interface Scope {
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
 * The watches of one kind, in all namespaces or in those that are listed.
 *
 * Guarantee (tests/unit/kindWatch.test.ts): a namespace that is missing, or that we may not read, holds up no other.
 */
export class KindWatch {
  private readonly scopes: readonly Scope[];

  constructor(private readonly options: KindWatchOptions) {
    const { client, resource, namespaces, sink, onUnserved, ...others } = options;
    const lists = client.with({ flow: kindKey(resource) });
    this.scopes = scopesOf(namespaces, resource).map((namespace) => ({
      namespace,
      reflector: new Reflector({
        ...others,
        client: lists,
        resource,
        namespace,
        sink: sink(namespace),
        onRefused: (error) => {
          if (isApiError(error, 404)) onUnserved?.(namespace);
        },
      }),
    }));
  }

  /** Begins to watch. */
  start(): void {
    for (const { reflector } of this.scopes) reflector.start();
  }

  /**
   * Lists everything again, also what the API server refused until now. A namespace that is being listed for the first time is
   * listed once more, because that list may be older than this call.
   * @returns whether nothing that is known is older than this call. False if the API server refused a part of which it has shown
   *   objects before
   */
  async relist(): Promise<boolean> {
    const relisted = await Promise.all(
      this.scopes.map(async ({ reflector }) => (await reflector.relist()) || !reflector.hasShown),
    );
    return !relisted.includes(false);
  }

  /** Whether the API server lists the kind now. It is asked for one object, in a place that it listed before. */
  async answers(signal: AbortSignal): Promise<boolean> {
    const { client, resource, labelSelector } = this.options;
    const scope = this.scopes.find(({ reflector }) => reflector.isSynced);
    if (!scope) return false;
    const { namespace } = scope;
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
   * The places in which the kind must be known, and is not known yet.
   * @param namespace the namespace in which it must be known. A kind of cluster scope must be known in any case. Undefined: all
   */
  notSynced(namespace: string | undefined): NotSynced[] {
    return this.neededIn(namespace)
      .filter(({ reflector }) => !reflector.isSynced)
      .map(({ namespace: where, reflector }) => ({
        resource: this.options.resource,
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
