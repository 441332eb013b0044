import { hasWebhook } from "../../definition/customResourceDefinition";
import type { JsonObject } from "../../runtime/program";
import { breaking, type ChangeKind, type CrdChange } from "./change";
import { compareSchemas } from "./compareSchemas";
import { rootSchemaOf, storageVersionOf, versionsByName } from "./versions";

/** Versions, and another one that drops what they keep. */
interface Versions {
  readonly keeping: readonly JsonObject[];
  readonly dropping: JsonObject;
}

/** The changes from a schema to another by which objects lose something: what they lose, and what would keep it. */
const LOSSES: { readonly [change in ChangeKind]?: readonly [lost: string, remedy: string] } = {
  "field-removed": ["the field", "the field"],
  "additional-properties-removed": ["fields that the schema does not name", "additionalProperties"],
  "unknown-fields-pruned": ["fields that the schema does not name", "x-kubernetes-preserve-unknown-fields"],
  "embedded-resource-removed": ["apiVersion, kind and metadata", "x-kubernetes-embedded-resource"],
};

/**
 * What objects lose from now on, because one version drops what another version keeps. Without a webhook, only `apiVersion` is
 * rewritten between versions. So a write drops what its version does not know, and what the storage version does not know.
 *
 * @param told the other changes. A loss at the place of a breaking one is not told again
 */
export function compareLosses(
  before: JsonObject,
  after: JsonObject,
  told: readonly CrdChange[],
): CrdChange[] {
  const known = [...lossesOf(before), ...told.filter(({ verdict }) => verdict === "breaking")];
  return lossesOf(after).filter(
    ({ version, path }) => !known.some((each) => each.version === version && each.path === path),
  );
}

/** What objects lose between the versions of a CRD. */
function lossesOf(crd: JsonObject): CrdChange[] {
  const storage = storageVersionOf(crd);
  if (!storage || hasWebhook(crd)) return [];
  const others = [...versionsByName(crd).values()].filter(
    (version) => version !== storage && version.served === true,
  );
  return [
    ...others.flatMap((version) => lossesBetween({ keeping: [storage], dropping: version })),
    ...lossesBetween({ keeping: others, dropping: storage }),
  ];
}

/** Each loss once, with all versions that keep what is lost. */
function lossesBetween({ keeping, dropping }: Versions): CrdChange[] {
  const dropper = String(dropping.name);
  const losses = new Map<string, Pick<CrdChange, "change" | "path"> & { readonly keepers: string[] }>();
  for (const keeper of keeping) {
    const place = { version: dropper, path: "." };
    const changes = compareSchemas(rootSchemaOf(keeper), rootSchemaOf(dropping), place);
    for (const { change, path } of changes.filter(({ verdict }) => verdict === "breaking")) {
      const loss = losses.get(`${change} ${path}`) ?? { change, path, keepers: [] };
      loss.keepers.push(String(keeper.name));
      losses.set(`${change} ${path}`, loss);
    }
  }
  return [...losses.values()].flatMap(({ change, path, keepers }) => {
    const [lost, remedy] = LOSSES[change] ?? [];
    if (lost === undefined) return [];
    const [when, more] =
      dropping.storage === true
        ? [`at once, because they are stored in ${dropper}`, ""]
        : [
            `when they are written through ${dropper}`,
            `, or set served: false for ${dropper} if no client uses it`,
          ];
    const keep = `${keepers.join(" and ")} ${keepers.length === 1 ? "keeps" : "keep"}`;
    const what = `${dropper} drops what ${keep}: objects lose ${lost} ${when}`;
    return [
      breaking(
        { version: dropper, path },
        "version-loses-fields",
        `${what}; add ${remedy} to ${dropper} too${more}.`,
      ),
    ];
  });
}
