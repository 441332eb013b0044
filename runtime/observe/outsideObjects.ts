import type { ObjectName } from "../base/objects";
import { isListed, type Resource } from "../base/resource";
import type { KubernetesClient } from "../kubernetes/client";
import { CustomResources } from "./customResources";
import { KindWatch } from "./kindWatch";
import type { Emit } from "./news";

/**
 * The custom resources with one of our finalizers outside of the namespaces that an operator lists, in namespaces that it listed
 * before. They are left alone until they are deleted. Then they wait for us: without us, neither they nor their namespace could
 * ever go. Only the metadata is watched, and hardly any of it is kept.
 *
 * Guarantee (tests/integration/hostile/namespaces.test.ts): a finalizer can be removed wherever it is.
 */
export class OutsideObjects {
  private readonly objects: CustomResources;
  private readonly watch: KindWatch;

  constructor({
    client,
    resource,
    namespaces,
    finalizers,
    emit,
    onInterruption,
  }: {
    readonly client: KubernetesClient;
    /** The custom resource's kind. */
    readonly resource: Resource;
    /** The namespaces that the operator lists. */
    readonly namespaces: readonly string[];
    /** Our finalizers. An object without any of them needs nothing from us. */
    readonly finalizers: readonly string[];
    /** Called when an object is being deleted and waits for us, and when it no longer does. */
    readonly emit: Emit;
    readonly onInterruption: (kind: string, error: Error) => void;
  }) {
    this.objects = new CustomResources({
      client,
      resource,
      // The event path sends no hints for them.
      emit: (news) => emit(news.kind === "object changed" ? { ...news, isHinted: false } : news),
      watched: {
        isWatched: ({ metadata: { deletionTimestamp, namespace, finalizers: its = [] } }) =>
          deletionTimestamp !== undefined &&
          !isListed(namespaces, namespace) &&
          its.some((each) => finalizers.includes(each)),
        // The status of the object may change with each try.
        partsOf: ({ metadata }) => metadata.generation,
        isReady: () => false,
      },
    });
    this.watch = new KindWatch({
      client,
      resource,
      namespaces: "all",
      metadataOnly: true,
      sink: (namespace) => this.objects.sink(namespace),
      onSynced: () => {},
      onInterruption: (error) => onInterruption(resource.kind, error),
    });
  }

  /** Begins to watch. */
  startWatching(): void {
    this.watch.startWatching();
  }

  stopWatching(): Promise<void> {
    return this.watch.stopWatching();
  }

  /** Those that are being deleted. */
  names(): ObjectName[] {
    return this.objects.names();
  }
}
