import { isRecord } from "../base/json";
import type { KubernetesObject } from "../base/objects";
import { compareTexts } from "../base/text";
import type { ChangedChild, ChildNews } from "./news";
import type { Owner } from "./ownership";
import type { Change } from "./store";
import type { StoredObject } from "./storedObject";

/** What the news depend on. */
export interface Facts {
  readonly owner: Owner;
  /** A fingerprint of the fields that we own, with their values. It changes when another client removes or changes one of them. */
  readonly owned: string;
  /** Whether it is ready: see `ChildStore.whyNotReady`. */
  readonly isReady: boolean;
}

/**
 * The one table of news: what a change of a child means for its owners.
 *
 * | the child | means | for |
 * | --- | --- | --- |
 * | is gone, and we deleted it | child gone | its last owner |
 * | is gone | child drifted | its last owner |
 * | has another owner | child drifted | its last owner |
 * | is new, and is being deleted: we deleted it, and it has not gone yet | child reports | its owner |
 * | is new | child drifted | its owner |
 * | has other values in the fields that we own | child drifted | its owner |
 * | was not ready and is not | child progresses | its owner |
 * | has changed otherwise | child reports | its owner |
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
): ChildNews[] {
  const drifted = (child: StoredObject<Facts>): ChildNews => ({
    kind: "child drifted",
    owner: child.facts.owner,
    child: { ...named(child), by: object && lastWriter(object, managers) },
  });
  const news: ChildNews[] = [];
  if (before && before.facts.owner.uid !== after?.facts.owner.uid) {
    const { owner } = before.facts;
    const gone = { ...named(before), ...(object && isExpiring(object) && { isExpiring: true }) };
    if (isByUs) news.push({ kind: "child gone", owner });
    else news.push(after ? drifted(before) : { kind: "child drifted", owner, child: gone });
  }
  if (!after) return news;
  const { owner, owned, isReady } = after.facts;
  const known = before?.uid === after.uid ? before.facts : undefined;
  if (!isLingering(before, after) && known?.owned !== owned) news.push(drifted(after));
  else
    news.push({ kind: known?.isReady === false && !isReady ? "child progresses" : "child reports", owner });
  return news;
}

/** Whether a child that we deleted is shown again, as if it were new: it has not gone yet. */
export function isLingering(
  before: StoredObject<unknown> | undefined,
  after: StoredObject<unknown> | undefined,
): after is StoredObject<unknown> {
  return before === undefined && after?.deleting === true;
}

/** @see https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/ */
function isExpiring({ kind, spec }: KubernetesObject): boolean {
  return kind === "Job" && isRecord(spec) && typeof spec["ttlSecondsAfterFinished"] === "number";
}

function lastWriter({ metadata }: KubernetesObject, managers: readonly string[]): string | undefined {
  const others = (metadata.managedFields ?? []).filter(({ manager = "" }) => !managers.includes(manager));
  // Reports of the status are frequent, and hardly ever change what we own. Kubernetes' Deployment controller changes an annotation.
  const writers = others.filter(({ subresource }) => subresource !== "status");
  return (writers.length > 0 ? writers : others)
    .sort((a, b) => compareTexts(a.time ?? "", b.time ?? ""))
    .at(-1)?.manager;
}

function named({ resource, namespace, name }: StoredObject<unknown>): ChangedChild {
  return { kind: resource.kind, namespace, name };
}
