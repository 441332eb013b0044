import { fingerprint } from "../json/fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import type { ObjectName } from "../kubernetes/objects";
import { isListed, type Resource } from "../kubernetes/resource";
import type { ObjectChange } from "./customResources";
import { KindWatch } from "./kindWatch";
import { type Change, Store } from "./store";
import { ownAnnotationsOf } from "./watched";

/** The objects that {@link OutsideObjects} look for, and the callbacks that they call. */
export interface OutsideObjectsOptions {
  readonly client: KubernetesClient;
  /** The custom resource's kind. */
  readonly resource: Resource;
  /** The namespaces that the operator lists. */
  readonly namespaces: readonly string[];
  /** Our finalizers. An object without any of them needs nothing from us. */
  readonly finalizers: readonly string[];
  /** An object is being deleted, and waits for us. */
  readonly onChange: (change: ObjectChange) => void;
  /** An object is gone, or has none of our finalizers any more. */
  readonly onGone: (name: ObjectName, uid: string) => void;
  readonly onInterruption: (kind: string, error: Error) => void;
}

interface Facts {
  /** Another try is made if this changes: the status of the object may change with each try. */
  readonly trigger: string;
}

/**
 * The custom resources with one of our finalizers outside of the namespaces that an operator lists, in namespaces that it listed
 * before. They are left alone until they are deleted. Then they wait for us: without us, neither they nor their namespace could
 * ever go. Only the metadata is watched, and hardly any of it is kept.
 *
 * Guarantee (tests/integration/hostile/namespaces.test.ts): a finalizer can be removed wherever it is.
 */
export class OutsideObjects {
  private readonly store: Store<Facts>;
  private readonly watch: KindWatch;

  constructor(private readonly options: OutsideObjectsOptions) {
    const { client, resource, namespaces, finalizers, onInterruption } = options;
    this.store = new Store<Facts>({
      client,
      isMetadataOnly: true,
      factsOf: (object) => {
        const { metadata } = object;
        const isOurs = (metadata.finalizers ?? []).some((each) => finalizers.includes(each));
        if (!isOurs || isListed(namespaces, metadata.namespace)) return undefined;
        return { trigger: fingerprint([metadata.generation, ownAnnotationsOf(object)]) };
      },
      onChange: (change) => this.changed(change),
    });
    this.watch = new KindWatch({
      client,
      resource,
      namespaces: "all",
      metadataOnly: true,
      sink: () => this.store.sink(resource, undefined),
      onSynced: () => {},
      onInterruption: (error) => onInterruption(resource.kind, error),
    });
  }

  /** Begins to watch. */
  start(): void {
    this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  /** Those that are being deleted. */
  names(): ObjectName[] {
    return [...this.store.values()]
      .filter(({ deleting }) => deleting)
      .map(({ namespace, name }) => ({ namespace, name }));
  }

  private changed({ before, after }: Change<Facts>): void {
    const { onChange, onGone } = this.options;
    if (before && before.uid !== after?.uid) {
      const { namespace, name, uid } = before;
      onGone({ namespace, name }, uid);
    }
    if (!after?.deleting) return;
    const isKnown = before?.uid === after.uid && before.deleting;
    if (isKnown && before.facts.trigger === after.facts.trigger) return;
    const { namespace, name, resourceVersion } = after;
    onChange({ name: { namespace, name }, resourceVersion, isReady: false, isHinted: false });
  }
}
