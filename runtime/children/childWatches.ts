import type { Operator } from "../definition/definition";
import { awaitKind } from "../kubernetes/awaitKind";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { isServedAlike, kindKey, type Resource } from "../kubernetes/resource";
import { Scopes, type ScopesOptions } from "../watch/scopes";
import { SoughtKinds } from "../watch/soughtKinds";
import { ChildStore, type ChildStoreOptions } from "./childStore";
import { childSelectorOf } from "./marks";
import type { Owner } from "./ownership";

/** The operator whose children {@link ChildWatches} watch, and the callbacks that they call. */
export interface ChildWatchesOptions extends Pick<ScopesOptions, "answersOthers"> {
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
  readonly scopes: Scopes;
  /** The declared kinds that were not found in the cluster yet. */
  readonly sought = new SoughtKinds();
  /** The declared kinds that were found so far. */
  readonly resources: Resource[] = [];
  /** The kinds that are not where they were. */
  private readonly lookedFor = new Set<Resource>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: ChildWatchesOptions) {
    const { client, operator, ownerKind, onChange, onSynced, onInterruption, answersOthers } = options;
    this.store = new ChildStore({ client, operator, ownerKind, onChange });
    this.scopes = new Scopes({
      client,
      namespaces: operator.namespaces,
      labelSelector: childSelectorOf(operator),
      answersOthers,
      sink: (kind, namespace) => this.store.sink(kind, namespace),
      onSynced,
      onInterruption: (resource, error) => {
        onInterruption(resource.kind, error);
        if (isApiError(error, 404)) void this.lookFor(resource).catch(() => {});
      },
      onRefused: (kind, error, namespace) => {
        if (isApiError(error, 404)) options.onUnserved(this.ownersOf(kind, namespace));
      },
    });
  }

  /**
   * Begins to watch. Resolves when every kind was listed that the cluster serves.
   * @throws Error if it was stopped meanwhile
   */
  async start(): Promise<void> {
    await Promise.all(this.options.operator.children.map((declared) => this.seek(declared)));
    await this.scopes.whenListed();
  }

  /**
   * Lists everything again, and looks whether somebody has created a CRD again with another scope or plural. The kind is at
   * another path then, and no watch reports that.
   */
  async relist(): Promise<void> {
    const followed = this.resources.map((resource) => this.follow(resource));
    await Promise.all([...followed, this.scopes.relist()]);
  }

  /** A kind is not where it was. It is looked for until the cluster serves it, there or at another path. */
  private async lookFor(resource: Resource): Promise<void> {
    // Each namespace reports this again and again.
    if (this.lookedFor.has(resource)) return;
    this.lookedFor.add(resource);
    try {
      const { apiVersion, kind } = resource;
      const { signal } = this.stopping;
      await awaitKind(this.options.client, apiVersion, kind, { signal, onWait: () => {} });
      await this.follow(resource);
    } finally {
      this.lookedFor.delete(resource);
    }
  }

  /** Watches a kind at another path, if the cluster serves it there now. */
  private async follow(resource: Resource): Promise<void> {
    const { apiVersion, kind } = resource;
    // The lists show what is wrong with a kind that is not found.
    const now = await findResource(this.options.client, apiVersion, kind).catch(() => resource);
    const place = this.resources.indexOf(resource);
    // A look that was held up, since the API server was away, may find the same as the next one.
    if (place < 0 || isServedAlike(now, resource)) return;
    this.stopping.signal.throwIfAborted();
    this.resources.splice(place, 1, now);
    // Before the old path is left: nobody may think that the kind is known meanwhile.
    this.scopes.add(now);
    await this.scopes.remove(resource);
  }

  stop(): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    return this.scopes.stop();
  }

  /**
   * Looks for a kind until the cluster serves it, and begins to watch it then. Resolves when the cluster has said for the first
   * time whether it serves the kind.
   */
  private seek(declared: DeclaredChild): Promise<void> {
    const { client, onInterruption } = this.options;
    const { apiVersion, kind, retired } = declared;
    const { signal } = this.stopping;
    this.sought.seek(declared);
    const found = (resource: Resource) => {
      // The answer may come after the stop. Nobody would end a watch that begins then.
      signal.throwIfAborted();
      this.resources.push(resource);
      this.scopes.add(resource);
      this.sought.ended(declared);
    };
    return new Promise((resolve, reject) => {
      const onWait = (reason: Error) => {
        this.sought.failed(declared, reason);
        const isUnserved = reason instanceof UnknownKindError;
        // Nothing can be left of a retired kind that the cluster does not serve.
        if (!isUnserved || !retired) onInterruption(kind, isUnserved ? unserved(declared) : reason);
        if (isUnserved) resolve();
      };
      awaitKind(client, apiVersion, kind, { signal, onWait }).then(found).then(resolve, reject);
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
