import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { compareTexts } from "../text/compareTexts";
import type { Change } from "../watch/store";
import type { StoredObject } from "../watch/storedObject";
import type { Owner } from "./ownership";

/** A changed child, as its owner learns of it. */
export interface ChangedChild extends ObjectName {
  readonly kind: string;
  /** The last field manager, other than ours, that wrote to the child. Undefined if there is none, or the child is gone. */
  readonly by?: string | undefined;
}

/** What the change of a child means for an owner. */
export type ChildNews =
  /** Something else of the child has changed than the fields that we applied, or it is going as we wanted. */
  | { readonly kind: "report" }
  /** The same, and the child was not ready before and still is not. */
  | { readonly kind: "progress" }
  /** Somebody else removed or changed what we applied. */
  | { readonly kind: "drifted"; readonly child: ChangedChild }
  /** The child is gone at last, because we deleted it. */
  | { readonly kind: "gone" };

/** What the news depend on. */
interface Facts {
  readonly owner: Owner;
  /** A fingerprint of the fields that we own, with their values. */
  readonly owned: string;
  readonly isReady: boolean;
}

/**
 * The one table of news: what a change of a child means for its owners.
 *
 * | the child | means | for |
 * | --- | --- | --- |
 * | is gone, and we deleted it | gone | its last owner |
 * | is gone | drifted | its last owner |
 * | has another owner | drifted | its last owner |
 * | is new, and is being deleted: we deleted it, and it has not gone yet | report | its owner |
 * | is new | drifted | its owner |
 * | has other values in the fields that we own | drifted | its owner |
 * | was not ready and is not | progress | its owner |
 * | has changed otherwise | report | its owner |
 *
 * A child that loses its marks of ownership is gone too: it is no child any more.
 *
 * @param isByUs whether we deleted the child that is gone
 * @param managers our field managers
 */
export function newsOf(
  { before, after, object }: Change<Facts>,
  isByUs: boolean,
  managers: readonly string[],
): (readonly [owner: Owner, news: ChildNews])[] {
  const drifted = (child: StoredObject<Facts>): ChildNews => ({
    kind: "drifted",
    child: { ...named(child), by: object && lastWriter(object, managers) },
  });
  const news: (readonly [Owner, ChildNews])[] = [];
  if (before && before.facts.owner.uid !== after?.facts.owner.uid) {
    const lost: ChildNews = after ? drifted(before) : { kind: "drifted", child: named(before) };
    news.push([before.facts.owner, isByUs ? { kind: "gone" } : lost]);
  }
  if (!after) return news;
  const { owner, owned, isReady } = after.facts;
  const known = before?.uid === after.uid ? before.facts : undefined;
  if (!isLingering(before, after) && known?.owned !== owned) news.push([owner, drifted(after)]);
  else news.push([owner, { kind: known?.isReady === false && !isReady ? "progress" : "report" }]);
  return news;
}

/** Whether a child that we deleted is shown again, as if it were new: it has not gone yet. */
export function isLingering(
  before: StoredObject<unknown> | undefined,
  after: StoredObject<unknown> | undefined,
): after is StoredObject<unknown> {
  return before === undefined && after?.deleting === true;
}

function lastWriter({ metadata }: KubernetesObject, managers: readonly string[]): string | undefined {
  const others = (metadata.managedFields ?? []).filter(
    ({ manager = "", subresource }) => !managers.includes(manager) && subresource !== "status",
  );
  return others.sort((a, b) => compareTexts(a.time ?? "", b.time ?? "")).at(-1)?.manager;
}

function named({ resource, namespace, name }: StoredObject<unknown>): ChangedChild {
  return { kind: resource.kind, namespace, name };
}
