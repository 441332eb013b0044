import { awaitKind } from "../kubernetes/awaitKind";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource, UnknownKindError } from "../kubernetes/discovery";
import { isServedAlike, type Resource } from "../kubernetes/resource";
import type { NotSynced } from "./kindWatch";
import { WatchFailures, type WatchFailuresOptions } from "./watchFailures";

/** A kind as a definition declares it. */
type DeclaredKind = Pick<Resource, "apiVersion" | "kind"> & { readonly retired?: boolean | undefined };

/** The kind that {@link FollowedKind} follows, and the callbacks that it calls. */
export interface FollowedKindOptions extends Pick<WatchFailuresOptions, "answersOthers"> {
  readonly client: KubernetesClient;
  readonly declared: DeclaredKind;
  /**
   * The cluster serves the kind here now.
   * @param before where the kind was. Undefined: it was not found before
   */
  readonly onFound: (now: Resource, before: Resource | undefined) => Promise<void>;
  /** There may be objects of the kind, but it was not found, for this reason. It is looked for again. Called once for each reason. */
  readonly onWait: (reason: Error) => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/**
 * One kind, wherever the cluster serves it. It is looked for until it is found, beside the work. It is found again at another path
 * if somebody created its CRD again with another scope or plural, which no watch reports.
 *
 * Guarantees, each with a test in tests/unit/followedKind.test.ts, childWatches.test.ts or usedObjects.test.ts:
 * - A kind that is not where it was is looked for until the cluster serves it, there or at another path.
 * - If several looks find the kind at another path, the callback is called once.
 * - An API server that is away, or busy for a moment, says nothing about the kind. But if it goes on failing to say how it serves
 *   this kind while it answers others, that is a problem of the kind: see {@link WatchFailures}.
 */
export class FollowedKind {
  /** Where the kind was found. Undefined: it was not found yet. */
  private resource: Resource | undefined;
  /** Why it cannot be found, as far as that is known. */
  private problem: Error | undefined;
  private isSought = false;
  private readonly failures: WatchFailures;
  private readonly stopping = new AbortController();

  constructor(private readonly options: FollowedKindOptions) {
    const { answersOthers, now = () => performance.now() } = options;
    this.failures = new WatchFailures({ answersOthers, now });
  }

  /**
   * Begins to look for the kind. Resolves when it was found, and `onFound` has ended, or when the cluster has said that it does not
   * serve the kind.
   * @throws Error if it was stopped meanwhile
   */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const onWait = (reason: Error) => {
        if (this.notFound()) this.options.onWait(reason);
        if (reason instanceof UnknownKindError) resolve();
      };
      this.seek(onWait).then(resolve, reject);
    });
  }

  /** Looks once whether the kind is at another path. If the kind is, this resolves when `onFound` has ended. */
  async look(): Promise<void> {
    const before = this.resource;
    if (!before) return;
    const { client, declared } = this.options;
    // The lists show what is wrong with a kind that is not found.
    const now = await findResource(client, declared.apiVersion, declared.kind).catch(() => before);
    await this.found(now, before);
  }

  /** The kind is not where it was. It is looked for until the cluster serves it, there or at another path. */
  lost(where: Resource): void {
    // Each namespace reports this again and again.
    if (where !== this.resource || this.isSought) return;
    // The lists report what is wrong. Only the stop ends the search.
    this.seek(() => {}).catch(() => {});
  }

  /** Why nothing is known of the kind's objects. Undefined if the kind was found, or if there can be no objects. */
  notFound(): NotSynced | undefined {
    const { declared } = this.options;
    const { problem } = this;
    // No answer needs a retired kind. If the cluster does not serve this version, `Sweep` finds what is left in another one.
    if (this.resource || (declared.retired && problem instanceof UnknownKindError)) return undefined;
    return { resource: declared, namespace: undefined, problem };
  }

  /** Looks for the kind no longer. */
  stop(): void {
    this.stopping.abort(new Error("stopped before the kind was found"));
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
    // A look may have found the kind meanwhile, at a path that is gone again by now.
    await this.found(now, this.resource);
  }

  private async found(now: Resource, before: Resource | undefined): Promise<void> {
    // A look that was held up, since the API server was away, may find the same as the next one.
    if (this.resource !== before || (before && isServedAlike(now, before))) return;
    // The answer may come after the stop. Nobody would end a watch that begins then.
    this.stopping.signal.throwIfAborted();
    this.resource = now;
    await this.options.onFound(now, before);
  }

  private async failed(error: Error): Promise<void> {
    const { signal } = this.stopping;
    const isKnown =
      error instanceof UnknownKindError ||
      (await this.failures.afterFailure(error, "list", false, signal)) === "refused";
    if (isKnown) this.problem = error;
  }
}
