import { z } from "zod";
import { isJsonObject, type Json, type JsonObject, type Manifest } from "../../runtime/program";
import { objectIn } from "../manifests/customResourceDefinition";
import { breaking, type ChangeKind, CRD_CHANGE, type CrdChange, safe, show } from "./change";
import { compareLosses } from "./compareLosses";
import { compareStorage } from "./compareStorage";
import { compareVersions } from "./compareVersions";
import { textsIn } from "./schema";

/** The schema of a {@link CrdComparison}. */
export const CRD_COMPARISON = z.strictObject({
  name: z.string().describe("PLURAL.GROUP."),
  changes: z.array(CRD_CHANGE).readonly().describe("Empty if there are none."),
});

/** The changes of one CustomResourceDefinition. */
export type CrdComparison = Readonly<z.infer<typeof CRD_COMPARISON>>;

/** A CustomResourceDefinition of apiextensions.k8s.io/v1. */
export type CrdManifest = JsonObject | Manifest;

/**
 * Every change between two states of a CustomResourceDefinition, with a verdict. Both are as they are installed
 * (`buildCustomResourceDefinition`): the parts that Argosy adds count as much as the author's.
 *
 * The rule is that of Kubernetes' own API changes: objects and requests that were valid yesterday must be valid tomorrow and
 * mean the same. A change that cannot be judged, such as another pattern, counts as breaking. The API server accepts an invalid
 * value that an update does not touch (ratcheting, on by default since Kubernetes 1.30). That does not make a change safe: the
 * same manifest is refused in another cluster, or after a deletion.
 *
 * @see https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api_changes.md
 * @returns the changes of the names first, then version by version, then between versions. None if the two mean the same
 */
export function compareCustomResourceDefinitions(before: CrdManifest, after: CrdManifest): CrdChange[] {
  // A manifest's fields are JSON, though its type does not say so.
  const [old, now] = [before as JsonObject, after as JsonObject];
  const changes = [...compareNames(old, now), ...compareStorage(old, now), ...compareVersions(old, now)];
  return [...changes, ...compareLosses(old, now, changes)];
}

/**
 * Compares two sets of CustomResourceDefinitions by their names. To remove one is breaking, because all its objects are deleted
 * with it.
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

/** Compares the addresses and names that clients use, from the group to the categories. */
function compareNames(before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [namesOf(before), namesOf(after)];
  return [
    ...SINGLE.flatMap(({ name, path, change, breaks }) =>
      old[name] === now[name]
        ? []
        : [
            breaking(
              { path },
              change,
              `It changed from ${show(old[name])} to ${show(now[name])}: ${breaks}; keep the old one.`,
            ),
          ],
    ),
    ...compareLists("spec.names.shortNames", "short-name", old.shortNames, now.shortNames),
    ...compareLists("spec.names.categories", "category", old.categories, now.categories),
  ];
}

const ANOTHER =
  "this is another CRD, the objects of the old one are deleted with it, and its clients find nothing";
const REFUSED = "the API server refuses to change it, and a new CRD in its place begins without the objects";

/**
 * Group and plural can never change, and once the CRD is established, kind and scope cannot either (validation.go of
 * apiextensions).
 */
const SINGLE = [
  { name: "group", path: "spec.group", change: "group-changed", breaks: ANOTHER },
  { name: "plural", path: "spec.names.plural", change: "plural-changed", breaks: ANOTHER },
  { name: "kind", path: "spec.names.kind", change: "kind-changed", breaks: REFUSED },
  { name: "scope", path: "spec.scope", change: "scope-changed", breaks: REFUSED },
  {
    name: "listKind",
    path: "spec.names.listKind",
    change: "list-kind-changed",
    breaks: "clients that decode lists by their kind fail",
  },
  {
    name: "singular",
    path: "spec.names.singular",
    change: "singular-changed",
    breaks: "commands and scripts that use the old one fail",
  },
] as const satisfies readonly {
  readonly name: keyof Names;
  readonly path: string;
  readonly change: ChangeKind;
  readonly breaks: string;
}[];

interface Names {
  readonly group: Json | undefined;
  readonly scope: Json | undefined;
  readonly kind: Json | undefined;
  readonly plural: Json | undefined;
  readonly singular: Json | undefined;
  readonly listKind: Json | undefined;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** With the API server's defaults of singular and listKind (apiextensions/v1/defaults.go). */
function namesOf({ spec }: JsonObject): Names {
  const { group, scope, names } = isJsonObject(spec) ? spec : {};
  const { kind, plural, singular, listKind, shortNames, categories } = isJsonObject(names) ? names : {};
  return {
    group,
    scope,
    kind,
    plural,
    singular: singular || String(kind).toLowerCase(),
    listKind: listKind || `${kind}List`,
    shortNames: textsIn(shortNames),
    categories: textsIn(categories),
  };
}

function compareLists(
  path: string,
  what: "short-name" | "category",
  old: readonly string[],
  now: readonly string[],
): CrdChange[] {
  const removed = old.filter((name) => !now.includes(name));
  const added = now.filter((name) => !old.includes(name));
  const word = what.replace("-", " ");
  return [
    ...removed.map((name) =>
      breaking(
        { path },
        `${what}-removed`,
        `The ${word} ${name} was removed: commands and scripts that use it fail; keep it.`,
      ),
    ),
    ...added.map((name) => safe({ path }, `${what}-added`, `The ${word} ${name} is new.`)),
  ];
}
