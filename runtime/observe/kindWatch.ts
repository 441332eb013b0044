import { monotonicNow } from "../base/clock";
import { isServedAlike, kindKey, type Resource, scopesOf, type TypeMeta } from "../base/resource";
import type { KubernetesClient } from "../kubernetes/client";
import { awaitKind, findResource, schemaHashOf, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { Selection } from "../kubernetes/list";
import { Reflector, type ReflectorSink } from "./reflector";
import { type AnswersOthers, WatchFailures } from "./watchFailures";

/** The kind in one namespace, or in all of them. */
interface Scope {
  readonly namespace: string | undefined;
  readonly reflector: Reflector;
}

/** Why a kind is not known in a namespace. */
export interface NotSynced {
  readonly resource: TypeMeta;
  readonly namespace: string | undefined;
  /**
   * Why the kind cannot be listed: the API server's refusal, that its lists get no answer, or that there is no such kind. Undefined:
   * the list is in progress.
   */
  readonly problem: Error | undefined;
}

/** A kind of more objects is not listed as a whole in each resync. */
export const MANY_OBJECTS = 5_000;

/** What a {@link KindWatch} shows, and who is called. */
export interface KindWatchOptions extends Omit<Selection, "namespace"> {
  readonly client: KubernetesClient;
  readonly resource: Resource;
  readonly namespaces: "all" | readonly string[];
  /** @param namespace undefined: all of them */
  readonly sink: (namespace: string | undefined) => ReflectorSink;
  readonly onInterruption: (error: Error) => void;
  /**
   * Called when the kind was listed in a namespace for the first time, or again after the API server had refused it.
   * @param namespace undefined: in all of them
   */
  readonly onSynced: (namespace: string | undefined) => void;
  readonly answersOthers?: AnswersOthers | undefined;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
  /** Called once when the cluster no longer serves the kind there, or never did. @param namespace undefined: in all of them */
  readonly onUnserved?: (namespace: string | undefined) => void;
}

/**
 * The watches of one kind, in all namespaces or in those that are listed.
 *
 * Guarantees:
 * - A namespace that is missing, or that we may not read, holds up no other (tests/unit/kindWatch.test.ts).
 * - In a resync, of a kind with more than {@link MANY_OBJECTS} objects only the metadata are listed, and that once an hour. After a
 *   change of its schema it is listed as a whole at once (tests/unit/kindWatch.test.ts).
 */
export class KindWatch {
  private readonly scopes: readonly Scope[];
  /** As {@link schemaHashOf} gave it last. */
  private schema: string | undefined;

  constructor(private readonly options: KindWatchOptions) {
    const { client, resource, namespaces, sink, onSynced, onUnserved, ...others } = options;
    const lists = client.with({ flow: kindKey(resource) });
    this.scopes = scopesOf(namespaces, resource).map((namespace) => ({
      namespace,
      reflector: new Reflector({
        ...others,
        client: lists,
        resource,
        namespace,
        sink: sink(namespace),
        onSynced: () => onSynced(namespace),
        onRefused: (error) => {
          if (isApiError(error, 404)) onUnserved?.(namespace);
        },
      }),
    }));
  }

  /** Begins to watch. */
  startWatching(): void {
    for (const { reflector } of this.scopes) reflector.startWatching();
  }

  /**
   * Lists everything again, also what the API server refused until now. A namespace that is being listed for the first time is
   * listed once more, because that list may be older than this call.
   * @returns whether nothing that is known is older than this call. False if the API server refused a part of which it has shown
   *   objects before
   */
  relist(): Promise<boolean> {
    return this.listAgain((reflector) => reflector.relist());
  }

  /** The same for a caller that need only know each object's version. Of many objects, the metadata suffice. @returns as {@link relist} */
  refresh(): Promise<boolean> {
    return this.listAgain((reflector) => reflector.relist(this.size > MANY_OBJECTS));
  }

  /** How many objects the last lists had. */
  get size(): number {
    return this.scopes.reduce((sum, { reflector }) => sum + reflector.size, 0);
  }

  /** How many pages of lists have come. */
  get pages(): number {
    return this.scopes.reduce((sum, { reflector }) => sum + reflector.pages, 0);
  }

  /**
   * Lists everything again, in turn with all other kinds. A kind of many objects is listed only if its schema may have changed since
   * the last time, and otherwise rarely: see {@link Reflector.relistRarely}.
   * @returns as {@link relist}
   */
  async resync(): Promise<boolean> {
    if (this.size <= MANY_OBJECTS || (await this.isSchemaNew())) return this.relist();
    return this.listAgain((reflector) => reflector.relistRarely());
  }

  private async listAgain(list: (reflector: Reflector) => Promise<boolean>): Promise<boolean> {
    const relisted = await Promise.all(
      this.scopes.map(async ({ reflector }) => (await list(reflector)) || !reflector.hasShown),
    );
    return !relisted.includes(false);
  }

  /** Whether the schema is another one than at the last call, or cannot be read. A new default shows in objects of all versions. */
  private async isSchemaNew(): Promise<boolean> {
    const { client, resource } = this.options;
    const schema = await schemaHashOf(client, resource.apiVersion).catch(() => undefined);
    const isKnown = schema !== undefined && schema === this.schema;
    this.schema = schema;
    return !isKnown;
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

  async stopWatching(): Promise<void> {
    await Promise.all(this.scopes.map(({ reflector }) => reflector.stopWatching()));
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

/** The objects are still being listed, so they are not all known. */
export class StillListingError extends Error {
  constructor(what: string) {
    super(`${what} is being listed`);
    this.name = "StillListingError";
  }
}

/** A kind as a definition declares it. */
type DeclaredKind = TypeMeta & { readonly retired?: boolean | undefined };

/** A selection of a kind's objects, as a {@link FollowedKind} watches them. */
type FollowedSelection = Omit<KindWatchOptions, "client" | "resource" | "answersOthers" | "onInterruption">;

/**
 * One kind, watched wherever the cluster serves it. It is looked for in the background until it is found. If its CRD was created
 * again with another scope or plural, which no watch reports, it is found at the new path.
 *
 * Guarantees, each with a test in tests/unit/followedKind.test.ts or usedObjects.test.ts:
 * - A kind that is no longer served at its path is looked for until the cluster serves it, there or at another path.
 * - If several looks find the kind at another path, it is watched there once.
 * - An API server that is away, or busy for a moment, says nothing about the kind. A lasting failure for this kind alone is a
 *   problem of the kind: see {@link WatchFailures}.
 */
export class FollowedKind {
  /** Where the kind was found. Undefined: it was not found yet. */
  private resource: Resource | undefined;
  /** Why it cannot be found, as far as that is known. */
  private problem: Error | undefined;
  private isSought = false;
  private watches: readonly KindWatch[] = [];
  private readonly failures: WatchFailures;
  private readonly stopping = new AbortController();

  constructor(
    private readonly options: {
      readonly answersOthers?: AnswersOthers | undefined;
      readonly client: KubernetesClient;
      readonly declared: DeclaredKind;
      /**
       * The cluster serves the kind here now.
       * @param before where the kind was. Undefined: it was not found before
       * @returns what is watched of it
       */
      readonly onFound: (now: Resource, before: Resource | undefined) => readonly FollowedSelection[];
      /** A watch was interrupted. It is tried again. */
      readonly onInterruption: (error: Error) => void;
      /** There may be objects of the kind, but it was not found, for this reason. It is looked for again. Called once for each reason. */
      readonly onWait: (reason: Error) => void;
      /** A monotonic clock, in milliseconds. @default performance.now */
      readonly now?: () => number;
    },
  ) {
    const { answersOthers, now = monotonicNow } = options;
    this.failures = new WatchFailures(answersOthers, now);
  }

  /**
   * Begins to look for the kind. Resolves when the kind was found and listed, was refused, or is not served by the cluster.
   * @throws Error if it was stopped before that
   */
  startWatching(): Promise<void> {
    return new Promise((resolve, reject) => {
      const onWait = (reason: Error) => {
        if (this.notFound()) this.options.onWait(reason);
        if (reason instanceof UnknownKindError) resolve();
      };
      this.seek(onWait).then(resolve, reject);
    });
  }

  /** Lists again in turn, as {@link KindWatch.resync} does, at another path if the cluster serves the kind there now. */
  async resync(): Promise<void> {
    const lists = this.watches.map((each) => each.resync());
    const before = this.resource;
    const { client, declared } = this.options;
    // The lists show what is wrong with a kind that is not found.
    const now =
      before && (await findResource(client, declared.apiVersion, declared.kind).catch(() => before));
    if (now) await this.found(now, before);
    await Promise.all(lists);
  }

  /** The kind is no longer served at its path. It is looked for until the cluster serves it, there or at another path. */
  lost(where: Resource): void {
    // Each namespace reports this again and again.
    if (where !== this.resource || this.isSought) return;
    // The lists report what is wrong. Only the stop ends the search.
    this.seek(() => {}).catch(() => {});
  }

  /** Where it is not known yet although it was found: see {@link KindWatch.notSynced}. */
  notSynced(namespace: string | undefined): NotSynced[] {
    return this.watches.flatMap((each) => each.notSynced(namespace));
  }

  /** Whether each change in these places is seen: see {@link KindWatch.isFollowing}. */
  isFollowing(namespace: string | undefined): boolean {
    return this.watches.every((each) => each.isFollowing(namespace));
  }

  /** Why nothing is known of the kind's objects. Undefined if the kind was found, or if there can be no objects. */
  notFound(): NotSynced | undefined {
    const { declared } = this.options;
    const { problem } = this;
    // No answer needs a retired kind. If the cluster does not serve this version, `Sweep` finds what is left in another one.
    if (this.resource || (declared.retired && problem instanceof UnknownKindError)) return undefined;
    return { resource: declared, namespace: undefined, problem };
  }

  async stopWatching(): Promise<void> {
    this.stopping.abort(new Error("stopped before the kind was found"));
    await Promise.all(this.watches.map((each) => each.stopWatching()));
  }

  private async seek(onWait: (reason: Error) => void): Promise<void> {
    const { client, declared } = this.options;
    const { signal } = this.stopping;
    this.isSought = true;
    const onFailure = (error: Error) => this.failed(error);
    const seeking = awaitKind(client, declared.apiVersion, declared.kind, { signal, onWait, onFailure });
    const now = await seeking.finally(() => {
      this.isSought = false;
    });
    // Another look may have found the kind first, at a path that is gone by now.
    await this.found(now, this.resource);
  }

  private async found(now: Resource, before: Resource | undefined): Promise<void> {
    // A look that was held up, since the API server was away, may find the same as the next one.
    if (this.resource !== before || (before && isServedAlike(now, before))) return;
    // The answer may come after the stop. A watch that began then would never be stopped.
    this.stopping.signal.throwIfAborted();
    this.resource = now;
    const left = this.watches;
    this.watches = this.options.onFound(now, before).map((selection) => this.watch(now, selection));
    // Before the old path is left: in between, the kind must not count as known.
    for (const watch of this.watches) watch.startWatching();
    const listed = this.watches.map((each) => each.whenListed());
    await Promise.all([...left.map((each) => each.stopWatching()), ...listed]);
  }

  private watch(resource: Resource, selection: FollowedSelection): KindWatch {
    const { client, answersOthers, onInterruption } = this.options;
    return new KindWatch({
      ...selection,
      client: client.with({ class: "read", flow: "lists" }),
      resource,
      answersOthers,
      onInterruption: (error) => {
        onInterruption(error);
        if (isApiError(error, 404)) this.lost(resource);
      },
    });
  }

  private async failed(error: Error): Promise<void> {
    const { signal } = this.stopping;
    const isKnown =
      error instanceof UnknownKindError ||
      (await this.failures.afterFailure(error, "list", false, signal)) === "refused";
    if (isKnown) this.problem = error;
  }
}
