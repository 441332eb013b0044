import { fingerprint } from "../json/fingerprint";
import { readJson } from "../json/json";
import { appliesNothing } from "../kubernetes/appliesNothing";
import { applyEntry } from "../kubernetes/managedFields";
import {
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  withoutManagedFields,
} from "../kubernetes/objects";
import { ownedValues } from "../kubernetes/ownedValues";
import { fieldManagerOf, formerManagersOf, type OperatorNames } from "../names";
import type { StoredObject } from "../watch/storedObject";

/** Fingerprints of the manifest that we applied last to a child, and of the fields that we owned right afterwards. */
interface Applied {
  readonly manifest: string;
  readonly owned: string;
}

/** What we applied last to each child, so that nothing is applied again to a child that is as we left it. */
export class AppliedManifests {
  /** By the uid of the child. */
  private readonly applied = new Map<string, Applied>();
  private readonly fieldManager: string;
  private readonly formerManagers: readonly string[];

  /** @param operator that applies the children */
  constructor(operator: OperatorNames) {
    this.fieldManager = fieldManagerOf(operator);
    this.formerManagers = formerManagersOf(operator);
  }

  /** A fingerprint of the fields that we own in an object, with their values. */
  ownedIn(object: KubernetesObject): string {
    const entry = applyEntry(object, this.fieldManager);
    return fingerprint([entry?.fieldsV1, ownedValues(object, entry)]);
  }

  /** The manifest was applied to the child. @param owned as {@link ownedIn} gives it right afterwards */
  add(childUid: string, manifest: Manifest, owned: string): void {
    this.applied.set(childUid, { manifest: fingerprint(manifest), owned });
  }

  /** Nobody knows what was applied to the child. */
  forget(childUid: string): void {
    this.applied.delete(childUid);
  }

  /** A fingerprint of the manifest that was applied, if the child still is as it was applied. Undefined also if that is not known. */
  lastOf({ uid, facts }: StoredObject<{ readonly owned: string }>): string | undefined {
    const known = this.applied.get(uid);
    return known?.owned === facts.owned ? known.manifest : undefined;
  }

  /** Whether an apply of the manifest would change nothing. False if that is not known. */
  has(child: StoredObject<{ readonly owned: string }>, manifest: Manifest): boolean {
    const { uid, json, facts } = child;
    if (this.applied.has(uid)) return this.lastOf(child) === fingerprint(manifest);
    // After a restart nothing is remembered. Then `managedFields` of the object say what was applied.
    const observed = json === undefined ? undefined : (readJson(json) as KubernetesObject);
    const fields = observed && applyEntry(observed, this.fieldManager)?.fieldsV1;
    if (!observed || !fields || !appliesNothing(manifest, observed, fields as JsonObject)) return false;
    this.add(uid, manifest, facts.owned);
    return true;
  }

  /**
   * The part of a child that a store keeps. Of its `managedFields`, this is only our own entry, and only until we know what was
   * applied, because the entry is as long as the rest of the object. If a former name of the operator still owns fields, no entry
   * is kept: the child must be applied again, so that these fields are released.
   */
  kept(object: KubernetesObject): KubernetesObject {
    const child = withoutManagedFields(object);
    const isKnown = this.applied.has(object.metadata.uid);
    const isReleased = !this.formerManagers.some((manager) => applyEntry(object, manager));
    const entry = isKnown || !isReleased ? undefined : applyEntry(object, this.fieldManager);
    return entry ? { ...child, metadata: { ...child.metadata, managedFields: [entry] } } : child;
  }
}
