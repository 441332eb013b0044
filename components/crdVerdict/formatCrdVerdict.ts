import { anyBreaks, type CrdChange } from "./change";
import type { CrdComparison } from "./compareCrds";

/**
 * The comparison for people: a line for each CRD that has changed, and below it a line for each change, breaking changes first.
 * If nothing has changed, one line says so.
 */
export function formatCrdVerdict(comparisons: readonly CrdComparison[]): string[] {
  const changed = comparisons.filter(({ changes }) => changes.length > 0);
  if (changed.length === 0) return ["No CustomResourceDefinition has changed."];
  return changed.flatMap(({ name, changes }) => [
    `${name}: ${summary(changes)}`,
    ...[...changes.filter(breaks), ...changes.filter((change) => !breaks(change))].map(formatChange),
  ]);
}

/** Whether the comparisons have a breaking change, for which a CI job fails. */
export function anyCrdBreaks(comparisons: readonly CrdComparison[]): boolean {
  return comparisons.some(({ changes }) => anyBreaks(changes));
}

function summary(changes: readonly CrdChange[]): string {
  const count = changes.filter(breaks).length;
  return `${changes.length} ${changes.length === 1 ? "change" : "changes"}, ${count || "none"} breaking`;
}

function formatChange({ verdict, version, path, message }: CrdChange): string {
  // A path of the CRD has the version's name in it.
  const where = version === undefined || !path.startsWith(".") ? path : `${version} ${path}`;
  return `  ${verdict.padEnd("breaking".length)}  ${where}  ${message}`;
}

function breaks({ verdict }: CrdChange): boolean {
  return verdict === "breaking";
}
