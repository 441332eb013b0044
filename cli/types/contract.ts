import { readdirSync } from "node:fs";
import path from "node:path";
import { foldersAbove } from "../../definition/foldersAbove";
import { apiVersionOf, groupOf } from "../../runtime/base/objects";
import { kindKey, kindOfKey } from "../../runtime/base/resource";
import { isList, type Operator } from "../../runtime/cli";

/** What the types of requests and answers depend on in addition to the CRD. */
export interface ContractShape {
  /** The kind that is watched, as "apps/v1/Deployment". Undefined if the kind is the operator's own. */
  readonly watched?: string | undefined;
  /** The kinds of children: "apps/v1/Deployment". */
  readonly children: readonly string[];
  /** The keys of `used`, each with its kind and whether it has a list of objects. */
  readonly used: readonly (readonly [key: string, kind: string, isList: boolean])[];
  /** The names of schedules. */
  readonly schedules: readonly string[];
}

/** The shape of an operator's requests and answers. */
export function contractOf({
  customResource: { group, version, kind },
  watch,
  children,
  uses,
  schedules = {},
}: Pick<Operator, "customResource" | "watch" | "children" | "uses" | "schedules">): ContractShape {
  return {
    watched: watch ? kindKey({ apiVersion: apiVersionOf({ group, version }), kind }) : undefined,
    children: children.map(kindKey),
    used: Object.entries(uses).map(([key, use]) => [key, kindKey(use), isList(use)]),
    schedules: Object.keys(schedules),
  };
}

/** The package in which a program in TypeScript has the types of Kubernetes' own kinds: it depends on it anyway. */
const SDK = "@pulumi/kubernetes";

/**
 * Finds the types of Kubernetes' own kinds in the packages that are installed for a folder.
 * @returns the type of a kind, as "types.input.apps.v1.Deployment" of {@link SDK}. Undefined if it has none, or nothing is installed
 */
export function kindsInstalledFor(folder: string): (kind: string) => string | undefined {
  const places = foldersAbove(folder).map((above) => path.join(above, "node_modules", SDK));
  return (key) => {
    const { apiVersion, kind } = kindOfKey(key);
    const group = groupOf(apiVersion);
    // The groups of CustomResourceDefinitions have a dot, and those of Kubernetes' own kinds have none or end so.
    if (group.includes(".") && !group.endsWith(".k8s.io")) return undefined;
    const [first = ""] = (group || "core").split(".");
    const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
    const isInstalled = places.some((place) => hasFile(path.join(place, first, version), `${kind}.d.ts`));
    return isInstalled ? `types.input.${first}.${version}.${kind}` : undefined;
  };
}

/** Whether a folder has a file, in capital or small letters. */
function hasFile(folder: string, file: string): boolean {
  try {
    return readdirSync(folder).some((each) => each.toLowerCase() === file.toLowerCase());
  } catch {
    return false;
  }
}
