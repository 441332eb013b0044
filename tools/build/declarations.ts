import path from "node:path";
import { generateDtsBundle } from "dts-bundle-generator";

/** A declared name, as TypeScript represents it. */
type Name = object;

/** The part of the library that knows which declarations use which. */
interface UsageEvaluator {
  /** Each name with the names that use it. */
  readonly nodesParentsMap: ReadonlyMap<Name, ReadonlySet<Name>>;
  isSymbolUsedBySymbolImpl(used: Name, user: Name): boolean;
}

/**
 * The declarations of all exports of a file, in one text that imports no other file of this repository.
 * @param entry relative to the folder
 * @throws Error if a declaration cannot be written. Other type errors are not found here, but by `npm test`
 */
export function declarationsOf(entry: string, folder: string): string {
  const [declarations] = generateDtsBundle(
    [{ filePath: path.join(folder, entry), output: { noBanner: true, exportReferencedTypes: false } }],
    { preferredConfigPath: path.join(folder, "tools/build/tsconfig.declarations.json") },
  );
  if (declarations === undefined) throw new Error(`no declarations were made of ${entry}`);
  return declarations;
}

const { TypesUsageEvaluator } = require("dts-bundle-generator/dist/types-usage-evaluator") as {
  TypesUsageEvaluator: { readonly prototype: UsageEvaluator };
};
const everything = new WeakMap<UsageEvaluator, (user: Name) => ReadonlySet<Name>>();

// The library searches all names again for each question. With the many names of the Kubernetes SDK, these searches took two
// thirds of a build. Here one search answers all questions about a user.
TypesUsageEvaluator.prototype.isSymbolUsedBySymbolImpl = function (used, user) {
  const usedBy = everything.get(this) ?? searchOf(this.nodesParentsMap);
  everything.set(this, usedBy);
  return usedBy(user).has(used);
};

/** Finds everything that a name uses, directly or indirectly, including the name itself. */
function searchOf(usersOf: UsageEvaluator["nodesParentsMap"]): (user: Name) => ReadonlySet<Name> {
  const uses = new Map<Name, Name[]>();
  for (const [used, users] of usersOf) {
    for (const user of users) {
      const itsUses = uses.get(user) ?? [];
      uses.set(user, itsUses);
      itsUses.push(used);
    }
  }
  const known = new Map<Name, ReadonlySet<Name>>();
  return (user) => {
    const there = known.get(user);
    if (there) return there;
    const found = new Set([user]);
    // The iteration over a set includes elements that are added during it.
    for (const each of found) for (const used of uses.get(each) ?? []) found.add(used);
    known.set(user, found);
    return found;
  };
}
