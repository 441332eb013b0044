import { keyOf, kindAndName } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { builtIn, isApiError, type KubernetesClient } from "../../runtime/cli";
import { referenceTo } from "../common/objectReference";
import { createAgain, type InstalledOperator } from "../inspect/readInstalled";
import { listSeen, type Places, type Seen } from "../inspect/seen";
import { type Finding, missing, warning } from "./checkup";
import {
  HOME_KINDS,
  type OwnOperator,
  type Part,
  type Parts,
  partsOfEventPaths,
  partsOfOperator,
  READ_KINDS,
  RIGHTS_KINDS,
} from "./parts";

const NAMESPACES = builtIn("v1", "Namespace");
const SELECTOR = "app.kubernetes.io/managed-by=argosy";

/**
 * Finds parts of operators that were deleted: their rights, their templates of Workflows, and the event paths. Only parts of
 * operators that this version of Argosy deployed are known. What the account may not list is not called missing.
 */
export async function checkParts(
  client: KubernetesClient,
  operators: readonly InstalledOperator[],
): Promise<Finding[]> {
  const all = operators.filter((each): each is OwnOperator => each.whole !== undefined);
  const built = new Map(all.map((operator) => [operator, partsIfUsable(operator)]));
  const unusable = all.filter((each) => !built.get(each)).map(unusableBy);
  const own = all.filter((each) => built.get(each));
  if (own.length === 0) return unusable;
  const ofOperators = own.flatMap((each) => built.get(each) ?? []);
  const homes = [...new Set(own.map(({ home }) => home))];
  const lists = await Promise.all([
    ...HOME_KINDS.map((kind) => listed(client, kind, { scopes: homes, near: [] })),
    ...RIGHTS_KINDS.map((kind) => listed(client, kind, { near: kind.namespaced ? homes : [] })),
  ]);
  const paths = partsOfEventPaths(
    own,
    lists.flatMap(({ objects }) => objects),
  );
  const absent = [...ofOperators, ...paths].flatMap((each) => absentOf(each, lists));
  const state = await namespaceStates(client, absent);
  return [
    ...unusable,
    ...absent.flatMap(({ about, part }) =>
      state(part) === "there" ? [{ ...gone(about.what, part), ...about }] : [],
    ),
    ...namespacesWithout(absent.filter(({ part }) => state(part) === "absent")),
    ...notSeen(lists),
  ];
}

/** Undefined if the definition is none of Argosy's: any user who may create ConfigMaps in a namespace can make one up. */
function partsIfUsable(operator: OwnOperator): Parts[] | undefined {
  try {
    return partsOfOperator(operator);
  } catch {
    return undefined;
  }
}

function unusableBy({ name, home, installation, argosyVersion }: OwnOperator): Finding {
  const remedy = "Run pulumi up --refresh. If no program has this operator, delete its ConfigMaps.";
  const found = warning(
    `operator ${name}`,
    `has a definition in the namespace ${home} that cannot be used`,
    remedy,
  );
  return { ...found, operator: name, installation, argosyVersion };
}

/** The objects of a kind, as far as the account may list them. */
interface Listed extends Seen {
  readonly kind: Resource;
  /** Their names with their namespaces: see `keyOf`. */
  readonly names: ReadonlySet<string>;
  /** Whether the account may list none of them. */
  readonly isRefused?: boolean;
}

async function listed(client: KubernetesClient, kind: Resource, places: Places): Promise<Listed> {
  const selection = { labelSelector: SELECTOR, metadataOnly: !READ_KINDS.includes(kind) };
  try {
    const seen = await listSeen(client, kind, selection, places);
    return { ...seen, kind, names: new Set(seen.objects.map(({ metadata }) => keyOf(metadata))) };
  } catch (error) {
    // Another finding says that the cluster lacks the kinds of a half of Argo.
    const isRefused = !isApiError(error, 404);
    if (isRefused && !isApiError(error, 403)) throw error;
    return { kind, objects: [], names: new Set(), namespaces: [], isRefused };
  }
}

/** A part that was deployed and no longer exists. */
interface Absent {
  readonly about: Parts["about"];
  readonly part: Part;
}

function absentOf({ about, parts, isDeployed }: Parts, lists: readonly Listed[]): Absent[] {
  const isThere = ({ resource, name }: Part): boolean | undefined => {
    const list = lists.find(({ kind }) => kind.kind === resource.kind);
    if (list?.names.has(keyOf(name))) return true;
    const isKnown = list && (!list.namespaces || list.namespaces.includes(name.namespace ?? ""));
    return isKnown ? false : undefined;
  };
  const states = parts.map((part) => ({ part, there: isThere(part) }));
  if (!isDeployed && !states.some(({ there }) => there)) return [];
  return states.flatMap(({ part, there }) => (there === false ? [{ about, part }] : []));
}

function gone(what: string, { resource, name, without }: Part): Finding {
  const { kind } = resource;
  return {
    ...missing(what, `has no ${kindAndName(kind, name)}, so ${without}`, createAgain(kind)),
    object: referenceTo(resource, name),
  };
}

type NamespaceState = "there" | "going" | "absent";

/** With a namespace, everything in it goes. Without the right to see namespaces, they count as there. */
async function namespaceStates(
  client: KubernetesClient,
  absent: readonly Absent[],
): Promise<(part: Part) => NamespaceState> {
  if (!absent.some(({ part }) => part.name.namespace !== undefined)) return () => "there";
  try {
    const namespaces = await client.listAll(NAMESPACES, { metadataOnly: true });
    const states = new Map(
      namespaces.map(({ metadata: { name, deletionTimestamp } }): [string, NamespaceState] => [
        name,
        deletionTimestamp === undefined ? "there" : "going",
      ]),
    );
    return ({ name: { namespace } }) =>
      namespace === undefined ? "there" : (states.get(namespace) ?? "absent");
  } catch (error) {
    if (!isApiError(error, 403)) throw error;
    return () => "there";
  }
}

/** One finding for each namespace that an operator names and the cluster does not have. */
function namespacesWithout(absent: readonly Absent[]): Finding[] {
  const findings = absent.map(({ about, part: { name } }) => ({
    ...warning(
      about.what,
      `names the namespace ${name.namespace}, which is not in the cluster`,
      "Create the namespace, and run pulumi up --refresh. Or take its name out of the operator's definition.",
    ),
    ...about,
  }));
  const ofOperators = findings.filter(({ operator }) => operator !== undefined);
  return [...new Map(ofOperators.map((each) => [`${each.what} ${each.seen}`, each])).values()];
}

function notSeen(lists: readonly Listed[]): Finding[] {
  const refused = lists.filter(({ isRefused }) => isRefused).map(({ kind }) => kind.plural);
  const reasons = [
    ...(refused.length > 0 ? [`this kubeconfig may not list ${refused.join(", ")}`] : []),
    ...lists.flatMap(({ unseen }) => unseen ?? []),
  ];
  if (reasons.length === 0) return [];
  const seen = `were not all looked for, because ${reasons.join(", and ")}`;
  return [warning("parts of the operators", seen, "Ask for these rights, or use an account that has them.")];
}
