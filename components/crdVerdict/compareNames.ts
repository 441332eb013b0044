import { isJsonObject, type Json, type JsonObject } from "../../runtime/program";
import { breaking, type CrdChange, safe } from "./change";
import type { ChangeKind } from "./changeKind";
import { textsIn } from "./schema";
import { show } from "./wording";

/** What changes every address or name that clients use, from the group to the categories. */
export function compareNames(before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [namesOf(before), namesOf(after)];
  return [
    ...SINGLE.flatMap(({ name, path, change, breaks }) =>
      old[name] === now[name]
        ? []
        : [
            breaking(
              { path },
              change,
              `It went from ${show(old[name])} to ${show(now[name])}: ${breaks}; keep the old one.`,
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

/** Immutable are group, plural, and once the CRD is established kind and scope (validation.go of apiextensions). */
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
