import { fingerprint } from "../json/fingerprint";
import { readJson } from "../json/json";
import {
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  withoutManagedFields,
} from "../kubernetes/objects";
import type { StoredObject } from "../watch/storedObject";
import { appliesNothing } from "./appliesNothing";
import { ownedValues } from "./ownedValues";
import { applyEntry } from "./ownership";

/** Fingerprints of the manifest that we applied last to a child, and of the fields that we owned right afterwards. */
interface Applied {
  readonly manifest: string;
  readonly owned: string;
  /** When the manifest is applied again, on the monotonic clock. Infinity: the child has exactly its values. */
  readonly until: number;
}

/** What {@link AppliedManifests} work with. */
export interface AppliedManifestsOptions {
  /** The field manager that applies children. */
  readonly fieldManager: string;
  /** How often every object is reconciled, in milliseconds. @default never */
  readonly resyncMs?: number | undefined;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/**
 * What we applied last to each child, so that nothing is applied again to a child that is as we left it. If the API server stored
 * other values than we applied, they are applied again at each resync: the webhook or policy that changed them may be gone.
 */
export class AppliedManifests {
  /** By the uid of the child. */
  private readonly applied = new Map<string, Applied>();
  private readonly fieldManager: string;
  private readonly now: () => number;

  constructor(private readonly options: AppliedManifestsOptions) {
    this.fieldManager = options.fieldManager;
    this.now = options.now ?? (() => performance.now());
  }

  /** A fingerprint of the fields that we own in an object, with their values. */
  ownedIn(object: KubernetesObject): string {
    const entry = applyEntry(object, this.fieldManager);
    return fingerprint([entry?.fieldsV1, ownedValues(object, entry)]);
  }

  /** The manifest was applied. @param object the child right afterwards */
  add(object: KubernetesObject, manifest: Manifest): void {
    // A resync comes a little earlier after the write than after the last resync.
    const until = this.isExact(object, manifest)
      ? Infinity
      : this.now() + (this.options.resyncMs ?? Infinity) / 2;
    const owned = this.ownedIn(object);
    this.applied.set(object.metadata.uid, { manifest: fingerprint(manifest), owned, until });
  }

  /** Nobody knows what was applied to the child. */
  forget(childUid: string): void {
    this.applied.delete(childUid);
  }

  /** Whether an apply of the manifest would change nothing. False if that is not known. */
  has(child: StoredObject<{ readonly owned: string }>, manifest: Manifest): boolean {
    const { uid, json, facts } = child;
    const known = this.applied.get(uid);
    if (known)
      return (
        known.manifest === fingerprint(manifest) && known.owned === facts.owned && this.now() < known.until
      );
    // After a restart nothing is remembered. Then `managedFields` of the object say what was applied.
    const observed = json === undefined ? undefined : (readJson(json) as KubernetesObject);
    if (!observed || !this.isExact(observed, manifest)) return false;
    this.applied.set(uid, { manifest: fingerprint(manifest), owned: facts.owned, until: Infinity });
    return true;
  }

  /** Whether the child has every value of the manifest, and `managedFields` say that we applied it. */
  private isExact(object: KubernetesObject, manifest: Manifest): boolean {
    const fields = applyEntry(object, this.fieldManager)?.fieldsV1;
    return fields !== undefined && appliesNothing(manifest, object, fields as JsonObject);
  }

  /**
   * The part of a child that a store keeps. Of its `managedFields`, that is our own entry, which is as long as everything else, and
   * only until we know what was applied.
   */
  kept(object: KubernetesObject): KubernetesObject {
    const child = withoutManagedFields(object);
    const entry = this.applied.has(object.metadata.uid) ? undefined : applyEntry(object, this.fieldManager);
    return entry ? { ...child, metadata: { ...child.metadata, managedFields: [entry] } } : child;
  }
}
