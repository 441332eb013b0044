import type { Operator } from "../definition/definition";
import type { KubernetesClient } from "../kubernetes/client";
import { UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { kindKey, type Resource } from "../kubernetes/resource";
import { FollowedKind } from "../watch/followedKind";
import { KindWatch, type KindWatchOptions, type NotSynced } from "../watch/kindWatch";
import { ChildStore, type ChildStoreOptions } from "./childStore";
import { childSelectorOf } from "./marks";
import type { Owner } from "./ownership";

/** The operator whose children {@link ChildWatches} watch, and the callbacks that they call. */
export interface ChildWatchesOptions extends Pick<KindWatchOptions, "answersOthers"> {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The kind of the objects that own the children. */
  readonly ownerKind: Resource;
  readonly onChange: NonNullable<ChildStoreOptions["onChange"]>;
  /** Called when a kind was listed in a namespace for the first time: objects that wait for it can be reconciled. */
  readonly onSynced: () => void;
  /** Called once when the cluster no longer serves a kind of which these owners have children. */
  readonly onUnserved: (owners: readonly Owner[]) => void;
  readonly onInterruption: (kind: string, error: Error) => void;
}

type DeclaredChild = Operator["children"][number];

/**
 * The children of an operator's objects, kept up to date by watches. They are selected by the label that all of them have, so that
 * other objects are not even read. A declared kind that the cluster does not serve is looked for until it does, beside the work.
 */
export class ChildWatches {
  readonly store: ChildStore;
  /** The declared kinds that were found so far. */
  readonly resources: Resource[] = [];
  /** The watches of {@link resources}, in the same order. */
  private readonly watches: KindWatch[] = [];
  private readonly kinds: readonly FollowedKind[];

  constructor(private readonly options: ChildWatchesOptions) {
    const { client, operator, ownerKind, onChange } = options;
    this.store = new ChildStore({ client, operator, ownerKind, onChange });
    this.kinds = operator.children.map((declared) => this.newKind(declared));
  }

  /**
   * Begins to watch. Resolves when every kind was listed that the cluster serves.
   * @throws Error if it was stopped meanwhile
   */
  async start(): Promise<void> {
    await Promise.all(this.kinds.map((kind) => kind.start()));
    await Promise.all(this.watches.map((each) => each.whenListed()));
  }

  /** Lists everything again, at another path if the cluster serves a kind there now. */
  async relist(): Promise<void> {
    const looks = this.kinds.map((kind) => kind.look());
    await Promise.all([...looks, ...this.watches.map((each) => each.relist())]);
  }

  /** The declared kinds that were not found in the cluster yet, and of which there may be objects. */
  notFound(): NotSynced[] {
    return this.kinds.flatMap((kind) => kind.notFound() ?? []);
  }

  /** The kinds that were found, and are not known yet where they must be: see {@link KindWatch.notSynced}. */
  notSynced(namespace: string | undefined): NotSynced[] {
    return this.watches.flatMap((each) => each.notSynced(namespace));
  }

  async stop(): Promise<void> {
    for (const kind of this.kinds) kind.stop();
    await Promise.all(this.watches.map((each) => each.stop()));
  }

  private newKind(declared: DeclaredChild): FollowedKind {
    const { client, onInterruption, answersOthers } = this.options;
    const kind: FollowedKind = new FollowedKind({
      client,
      declared,
      answersOthers,
      onFound: async (now, before) => {
        const place = before ? this.resources.indexOf(before) : this.resources.length;
        const watch = this.newWatch(now, kind);
        // Before the old path is left: nobody may think that the kind is known meanwhile.
        watch.start();
        this.resources.splice(place, 1, now);
        const left = this.watches.splice(place, 1, watch);
        await Promise.all(left.map((each) => each.stop()));
      },
      onWait: (reason) =>
        onInterruption(declared.kind, reason instanceof UnknownKindError ? unserved(declared) : reason),
    });
    return kind;
  }

  private newWatch(resource: Resource, kind: FollowedKind): KindWatch {
    const { client, operator, onSynced, onUnserved, onInterruption, answersOthers } = this.options;
    return new KindWatch({
      client: client.with({ class: "list" }),
      resource,
      namespaces: operator.namespaces,
      labelSelector: childSelectorOf(operator),
      answersOthers,
      sink: (namespace) => this.store.sink(resource, namespace),
      onSynced,
      onInterruption: (error) => {
        onInterruption(resource.kind, error);
        if (isApiError(error, 404)) kind.lost(resource);
      },
      onUnserved: (namespace) => onUnserved(this.ownersOf(resource, namespace)),
    });
  }

  /** The owners of the known children of a kind. @param namespace of the children. Undefined: all of them */
  private ownersOf(kind: Resource, namespace: string | undefined): Owner[] {
    return this.store.owners(
      (child) =>
        kindKey(child.resource) === kindKey(kind) &&
        (namespace === undefined || child.namespace === namespace),
    );
  }
}

function unserved({ apiVersion, kind }: DeclaredChild): Error {
  return new Error(
    `operator.yaml declares ${kind} (${apiVersion}) under "children", but the cluster does not serve this kind. Check the spelling, or install the software that provides it. Objects without such children do not wait for it.`,
  );
}
