import { ObjectGoneError } from "../../../runtime/base/failure";
import { fieldManagerOf, identityOf } from "../../../runtime/base/names";
import type { KubernetesObject, ManagedFieldsEntry } from "../../../runtime/base/objects";
import type { ChildStore } from "../../../runtime/observe/childStore";
import { ownedManifest } from "../../../runtime/observe/marks";
import type { UpdatePolicy } from "../../../runtime/operator/definition";
import type { WriteScope } from "../../../runtime/write/childApplier";
import type { ChildChange, ChildWriter } from "../../../runtime/write/childWriter";
import type { DesiredChild } from "../../../runtime/write/desiredChildren";
import { childrenIn } from "./fakeChildren";
import { FakeCluster } from "./fakeCluster";
import { CONFIG_MAPS, configMap, IDENTITY, observed, widget } from "./objects";

export const NAME = { namespace: "shop", name: "settings" };
/** A name that the operator had before. */
export const FORMER_NAME = "store";
/** Its field manager then. */
export const FORMER = fieldManagerOf({ ...IDENTITY, name: FORMER_NAME });
export const APPLY = "apply ConfigMap settings";
export const DELETE = "delete ConfigMap settings";
export const OWNER = widget();
/** A value of a Secret that the handler was given. */
export const SECRET = "s3cret".repeat(50);

/** The child that a handler answered for an owner. */
export function desired(
  data: Record<string, string> = { key: "1" },
  { update = "apply" as UpdatePolicy, isCreated = false, owner = OWNER } = {},
): DesiredChild {
  const manifest = ownedManifest(configMap({}, { data }), owner, CONFIG_MAPS, identityOf(IDENTITY));
  return { resource: CONFIG_MAPS, update, manifest, ownerUid: owner.metadata.uid, isCreated };
}

/** A ConfigMap of that name which another client made. */
export function foreign(metadata: Partial<KubernetesObject["metadata"]> = {}): KubernetesObject {
  const managedFields: ManagedFieldsEntry[] = [{ manager: "kubectl", operation: "Update", fieldsV1: {} }];
  return observed(
    "ConfigMap",
    { data: { theirs: "1" } },
    { ...NAME, uid: "foreign-uid", managedFields, ...metadata },
  );
}

/** The verb of a change. */
export function verbOf(change: ChildChange | undefined): string | undefined {
  return change?.verb;
}

/** A writer of children, and a cluster of its own. */
export class WriterBench {
  readonly cluster = new FakeCluster();
  store!: ChildStore;
  writer!: ChildWriter;
  /** Whether the owner is gone. */
  isGone = false;
  /** What else comes of a look at the owner. */
  look: () => void = () => {};
  confirmed = 0;
  /** The value that is masked. */
  hidden = SECRET;

  constructor() {
    this.begin();
  }

  /** Begins again with a store and a writer that know nothing. */
  begin(options: Parameters<typeof childrenIn>[1] = {}): void {
    ({ store: this.store, writer: this.writer } = childrenIn(this.cluster, options));
  }

  scope(): WriteScope {
    return {
      client: this.cluster.client(),
      namespace: "shop",
      masked: (text) => text.replaceAll(this.hidden, "***"),
      confirmOwner: async () => {
        this.confirmed++;
        this.look();
        if (this.isGone) throw new ObjectGoneError();
      },
    };
  }

  /** The child in the cluster. */
  there(): KubernetesObject | undefined {
    return this.cluster.find("ConfigMap", NAME);
  }

  apply(child: DesiredChild = desired()): Promise<ChildChange | undefined> {
    return this.writer.apply(child, this.scope());
  }

  /** Changes the child in the cluster, as another client would. */
  change(metadata: object, content: object = {}): void {
    this.cluster.change(this.there(), metadata, content);
  }

  /** Lets another client touch the child before this many of our requests. */
  touched(times: number): void {
    let left = times;
    this.cluster.beforeRequest = () => {
      if (left-- > 0) this.change({ annotations: { touched: String(left) } });
    };
  }
}
