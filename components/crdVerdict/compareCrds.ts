import type { JsonObject, Manifest } from "../../runtime/program";
import { breaking, type CrdChange, safe } from "./change";
import { compareNames } from "./compareNames";
import { compareStorage } from "./compareStorage";
import { compareVersions } from "./compareVersions";
import { objectIn } from "./version";

/** What has changed in one CustomResourceDefinition. */
export interface CrdComparison {
  /** "<plural>.<group>" */
  readonly name: string;
  /** Empty where nothing has. */
  readonly changes: readonly CrdChange[];
}

/** A CustomResourceDefinition of apiextensions.k8s.io/v1. */
export type CrdManifest = JsonObject | Manifest;

/**
 * Every change between two states of a CustomResourceDefinition, with a verdict. Both are as they are installed
 * (`buildCustomResourceDefinition`): what Argosy adds counts as much as what the author wrote.
 *
 * The rule is that of Kubernetes' own API changes: what was in order yesterday, stored or sent, must be in order
 * tomorrow and mean the same. What cannot be judged, such as another pattern, counts as breaking. That the API server
 * lets an invalid value pass that an update leaves as it was (ratcheting, on by default since Kubernetes 1.30) does not
 * make a change safe: who applies the same manifest to another cluster, or after a deletion, is refused.
 *
 * @see https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api_changes.md
 * @returns the changes of the names first, then version by version; none where the two mean the same
 */
export function compareCustomResourceDefinitions(before: CrdManifest, after: CrdManifest): CrdChange[] {
  // A manifest's fields are JSON, though its type does not say so.
  const [old, now] = [before as JsonObject, after as JsonObject];
  return [...compareNames(old, now), ...compareStorage(old, now), ...compareVersions(old, now)];
}

/**
 * Compares two sets of CustomResourceDefinitions by their names. One that is gone is breaking: all its objects are
 * deleted with it.
 *
 * @returns one comparison for each CRD of either set, in the order of their names
 */
export function compareCrdSets(
  before: readonly CrdManifest[],
  after: readonly CrdManifest[],
): CrdComparison[] {
  const [old, now] = [byName(before), byName(after)];
  return [...new Set([...old.keys(), ...now.keys()])].sort().map((name) => {
    return { name, changes: compareEntries(name, old.get(name), now.get(name)) };
  });
}

function compareEntries(
  name: string,
  old: CrdManifest | undefined,
  now: CrdManifest | undefined,
): CrdChange[] {
  if (old && now) return compareCustomResourceDefinitions(old, now);
  const place = { path: "metadata.name" };
  if (now) return [safe(place, "crd-added", `${name} is new.`)];
  const what = `${name} was removed: all its objects are deleted with it, and its clients find nothing`;
  return [breaking(place, "crd-removed", `${what}; keep it until no object is left.`)];
}

function byName(crds: readonly CrdManifest[]): Map<string, CrdManifest> {
  return new Map(crds.map((crd) => [String(objectIn(crd as JsonObject, "metadata").name), crd]));
}
