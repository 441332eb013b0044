import { kindKey, type Resource } from "../base/resource";
import type { KubernetesClient } from "../kubernetes/client";
import { UnknownKindError } from "../kubernetes/discovery";
import type { Operator } from "../operator/definition";
import { ChildStore } from "./childStore";
import { FollowedKind, type NotSynced } from "./kindWatch";
import { childSelectorOf } from "./marks";
import type { Emit } from "./news";
import type { AnswersOthers } from "./watchFailures";

/**
 * The children of an operator's objects, kept up to date by watches. They are selected by the label that all of them have, so that
 * other objects are not even read. A declared kind that the cluster does not serve is looked for until it does, in the background.
 */
export class ChildWatches {
  readonly store: ChildStore;
  /** The declared kinds that were found so far. */
  readonly resources: Resource[] = [];
  private readonly kinds: readonly FollowedKind[];

  constructor(
    private readonly options: {
      readonly answersOthers?: AnswersOthers | undefined;
      readonly client: KubernetesClient;
      readonly operator: Operator;
      /** The kind of the objects that own the children. */
      readonly ownerKind: Resource;
      readonly emit: Emit;
      readonly onInterruption: (kind: string, error: Error) => void;
    },
  ) {
    const { client, operator, ownerKind, emit, onInterruption } = options;
    const onRefused = ({ kind }: Resource, error: Error) => onInterruption(kind, error);
    this.store = new ChildStore({ client, operator, ownerKind, emit, onRefused });
    this.kinds = operator.children.map((declared) => this.newKind(declared));
  }

  /**
   * Begins to watch. Resolves when every kind was listed that the cluster serves.
   * @throws Error if it was stopped before that
   */
  async startWatching(): Promise<void> {
    await Promise.all(this.kinds.map((kind) => kind.startWatching()));
  }

  /** Lists everything again, at another path if the cluster serves a kind there now. */
  async resync(): Promise<void> {
    await Promise.all(this.kinds.map((kind) => kind.resync()));
  }

  /** The declared kinds that were not found in the cluster yet, and of which there may be objects. */
  notFound(): NotSynced[] {
    return this.kinds.flatMap((kind) => kind.notFound() ?? []);
  }

  /** The kinds that were found, and are not known yet where they must be: see {@link FollowedKind.notSynced}. */
  notSynced(namespace: string | undefined): NotSynced[] {
    return this.kinds.flatMap((kind) => kind.notSynced(namespace));
  }

  async stopWatching(): Promise<void> {
    await Promise.all(this.kinds.map((kind) => kind.stopWatching()));
  }

  private newKind(declared: Operator["children"][number]): FollowedKind {
    const { client, operator, emit, onInterruption, answersOthers } = this.options;
    return new FollowedKind({
      client,
      declared,
      answersOthers,
      onFound: (now, before) => {
        const place = before ? this.resources.indexOf(before) : this.resources.length;
        this.resources.splice(place, 1, now);
        return [
          {
            namespaces: operator.namespaces,
            labelSelector: childSelectorOf(operator),
            sink: (namespace) => this.store.sink(now, namespace),
            onSynced: (namespace) => emit({ kind: "kind listed", listed: now, namespace }),
            onUnserved: (namespace) => {
              const owners = this.store.owners(
                (child) =>
                  kindKey(child.resource) === kindKey(now) &&
                  (namespace === undefined || child.namespace === namespace),
              );
              emit({ kind: "children unserved", owners });
            },
          },
        ];
      },
      onInterruption: (error) => onInterruption(declared.kind, error),
      onWait: (reason) => {
        const { apiVersion, kind } = declared;
        const unserved = `operator.yaml declares ${kind} (${apiVersion}) under "children", but the cluster does not serve this kind. Check the spelling, or install the software that provides it. Objects without such children do not wait for it.`;
        onInterruption(kind, reason instanceof UnknownKindError ? new Error(unserved) : reason);
      },
    });
  }
}
