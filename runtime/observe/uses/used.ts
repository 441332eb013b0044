import {
  MISSING_KIND_REMEDY,
  ReconcileFailure,
  UNLISTED_KIND_REMEDY,
  type WarningReason,
} from "../../base/failure";
import { jsonOf } from "../../base/json";
import { isNeverGivenType, isSecretKind } from "../../base/kinds";
import { allIdentitiesOf, identityOf, USED_BY_LABEL } from "../../base/names";
import { formatName, isDnsName, type KubernetesObject, type ObjectName } from "../../base/objects";
import type { TypeMeta } from "../../base/resource";
import { compareTexts } from "../../base/text";
import { type HandlerEvent, MOST_GIVEN_BYTES, type Used } from "../../handler/contract";
import type { KubernetesClient } from "../../kubernetes/client";
import { discoverObjects } from "../../kubernetes/discovery";
import { isApiError } from "../../kubernetes/errors";
import { readInParts } from "../../kubernetes/list";
import type { Use } from "../../operator/definition";
import {
  isEmpty,
  isList,
  isTooMany,
  type LabelReference,
  listedNames,
  MOST_REFERENCES,
  type NameReference,
  type Reference,
  referencesOf,
  type UsingOperator,
  useOf,
} from "../../operator/uses";
import { StillListingError } from "../kindWatch";

/** Where the used objects are read: from the stores of watches, or from the API server. */
export interface UsedSource {
  /** Why a use cannot be read in this namespace. Undefined: it can be read. It may ask the API server. */
  problemOf(key: string, namespace: string | undefined): Promise<UsedProblem | undefined>;
  /** The object, without `metadata.managedFields`. Undefined if there is none. */
  get(key: string, name: ObjectName): Promise<KubernetesObject | undefined>;
  /** Passes on the selected objects, without `metadata.managedFields`, few of them in memory at once. */
  list(key: string, reference: LabelReference, take: Take): Promise<void>;
}

/** Takes an object. If it throws, nothing more is read. */
export type Take = (object: KubernetesObject) => void;

/** Why a use cannot be read. */
export type UsedProblem =
  /** The cluster serves the kind in no version, so there are no objects of that kind. */
  | { readonly kind: "missing"; readonly message: string }
  /** The kind may not be read, so it is not known whether there are objects. */
  | { readonly kind: "refused"; readonly message: string }
  /** The first list is in progress. */
  | { readonly kind: "listing" };

/** A problem with the objects that an object uses, about which the object's users should know. */
export interface UsedWarning {
  readonly reason: Extract<WarningReason, "UsedKindMissing" | "UsedSecretNotGiven" | "UsedNotReadable">;
  readonly note: string;
}

/** The objects that an object uses, as its handler gets them. */
export interface GatheredUse {
  readonly used: Used;
  readonly warnings: readonly UsedWarning[];
  /** The Secrets among the objects. None of their values may be reported. */
  readonly secrets: readonly KubernetesObject[];
}

const RETRY = { retryAfterSeconds: 60 };
const RIGHTS_REMEDY = "Deploy the operator again: its rights follow from its definition.";

/**
 * Why an operator is not given a Secret. Undefined: it is given. The author of a custom resource names the Secret and is not
 * trusted. So either the definition lists that name, or the Secret itself says who may use it.
 */
export function whyNotGiven(
  { metadata, ...secret }: KubernetesObject,
  use: Use,
  operator: UsingOperator,
): string | undefined {
  const type = secret["type"];
  if (isNeverGivenType(type)) return `a Secret of type ${type} is never provided`;
  if (use.name !== undefined && listedNames(use)?.includes(metadata.name)) return undefined;
  const identities = allIdentitiesOf(operator).map(identityOf);
  const usedBy = metadata.labels?.[USED_BY_LABEL];
  return usedBy !== undefined && identities.includes(usedBy)
    ? undefined
    : "it is not labelled for this operator";
}

/**
 * Reads the objects that an object uses. An object that does not exist is null, or missing in a list.
 *
 * While the first list of a kind is in progress, nothing is given: a handler must not take an object for gone that is only late.
 * If it is known that a kind or an object cannot be read, a request to finalize goes on without it: the object is null, and a
 * warning says so. A request to reconcile fails instead. If a single read fails, both requests are tried again.
 *
 * Guarantee (tests/unit/usedObjects.test.ts): if the objects are too large together to be given, reading stops as soon as that is known.
 *
 * @throws ReconcileFailure `UsedNotReadable`, StillListingError, ApiError, ApiUnreachableError
 */
export async function gatherUsed(
  operator: UsingOperator,
  object: KubernetesObject,
  event: HandlerEvent,
  source: UsedSource,
): Promise<GatheredUse> {
  const used: Record<string, Used[string]> = {};
  const warnings: UsedWarning[] = [];
  const secrets: KubernetesObject[] = [];
  let bytes = 0;
  for (const [key, reference] of referencesOf(operator.uses, object)) {
    const use = useOf(operator, key);
    used[key] = isList(use) ? [] : null;
    const objects: KubernetesObject[] = [];
    let more = 0;
    const take = (object: KubernetesObject) => {
      if (isSecretKind(use) && whyNotGiven(object, use, operator) !== undefined) return;
      more += lengthOf(object);
      if (bytes + more > MOST_GIVEN_BYTES) throw new NotGivenError(TOO_LARGE);
      objects.push(object);
    };
    const problem = await read(key, reference, source, take);
    if (problem?.kind === "listing") throw new StillListingError(`what uses.${key} names`);
    if (problem) {
      const note = `uses.${key}: ${problem.message}`;
      if (problem.kind === "missing") warnings.push({ reason: "UsedKindMissing", note });
      else if (event === "reconcile") throw new ReconcileFailure("UsedNotReadable", note, RETRY);
      else warnings.push({ reason: "UsedNotReadable", note });
      continue;
    }
    if (isSecretKind(use)) {
      secrets.push(...objects);
      if ("names" in reference) warnings.push(...notGiven(key, use, reference, objects, operator));
    }
    bytes += more;
    if ("labels" in reference) objects.sort(byName);
    used[key] = isList(use) ? objects : (objects[0] ?? null);
  }
  return { used, warnings, secrets };
}

/** An object is not given, and with it nothing of its use. The message says why. */
class NotGivenError extends Error {}

const TOO_LARGE = `the objects that it uses have more than ${MOST_GIVEN_BYTES / 1024 / 1024} MiB in all. Let it name fewer objects.`;

/** The length of an object's JSON, in bytes. @throws NotGivenError if it has none */
function lengthOf(object: KubernetesObject): number {
  const text = jsonOf(object);
  if (text === undefined)
    throw new NotGivenError("an object is nested too deeply for a request to a handler.");
  return Buffer.byteLength(text);
}

/** Reads the objects of one use. @returns why they cannot be read, or are not given. Undefined: they were */
async function read(
  key: string,
  reference: Reference,
  source: UsedSource,
  take: Take,
): Promise<UsedProblem | undefined> {
  if (isTooMany(reference)) {
    const message = `the object names more than ${MOST_REFERENCES} objects, or values of a label. Let it name fewer.`;
    return { kind: "refused", message };
  }
  // A kind that cannot be read holds up no object that needs nothing of it.
  if (isEmpty(reference)) return undefined;
  const { namespace } = reference;
  try {
    const problem = await source.problemOf(key, namespace);
    if (problem) return problem;
    if ("names" in reference) {
      const objects = readInParts(reference.names, (name) => source.get(key, { namespace, name }));
      for await (const object of objects) take(object);
    } else await source.list(key, reference, take);
    return undefined;
  } catch (error) {
    if (error instanceof NotGivenError) return { kind: "refused", message: error.message };
    if (!isApiError(error, 403)) throw error;
    return { kind: "refused", message: `${error.message}. ${RIGHTS_REMEDY}` };
  }
}

/**
 * Gives the same text for a Secret that does not exist and for one that is not given, so that a user cannot learn which Secrets
 * exist.
 */
function notGiven(
  key: string,
  use: Use,
  { namespace, names }: NameReference,
  given: readonly KubernetesObject[],
  operator: UsingOperator,
): UsedWarning[] {
  const there = new Set(given.map(({ metadata }) => metadata.name));
  const left = names.filter((name) => !there.has(name));
  if (left.length === 0) return [];
  const shown = left.slice(0, 10);
  const label = `${USED_BY_LABEL}=${identityOf(operator)}`;
  // A Secret has a DNS name. Any other text of the object's author must not get into a command.
  const labelled = shown.filter(isDnsName).join(" ");
  const how = labelled ? `kubectl -n ${namespace} label secret ${labelled} ${label}` : label;
  const remedy = listedNames(use) ? "" : ` It must exist and have a label: ${how}.`;
  const all = shown.map((name) => formatName({ namespace, name })).join(", ");
  const note = `uses.${key}: this operator was not given the ${left.length === 1 ? "Secret" : "Secrets"} ${all}.${remedy} Tokens of service accounts, bootstrap tokens and Helm's releases are never provided.`;
  return [{ reason: "UsedSecretNotGiven", note }];
}

/**
 * The problem with a kind that the cluster does not serve in the declared version. All versions have the same objects: if it serves
 * another one, or this one again by now, they still exist.
 */
export async function unservedProblem(
  client: KubernetesClient,
  { apiVersion, kind }: TypeMeta,
): Promise<UsedProblem> {
  const served = await discoverObjects(client, apiVersion, kind);
  if (!served) {
    const message = `the cluster serves no kind ${kind} in ${apiVersion}, so the handler gets no objects of it. ${MISSING_KIND_REMEDY}`;
    return { kind: "missing", message };
  }
  const message =
    served.apiVersion === apiVersion
      ? `${kind} in ${apiVersion} is not listed yet. If that lasts, repair what serves this kind.`
      : `the cluster serves ${kind} in ${served.apiVersion}, and not in ${apiVersion}. Declare that version in operator.yaml.`;
  return { kind: "refused", message };
}

/** Says why a kind cannot be read, and what to do. */
export function refusalNote({ kind }: TypeMeta, problem: Error): string {
  if (isApiError(problem, 403))
    return `the runner may not read ${kind}: ${problem.message}. ${RIGHTS_REMEDY}`;
  return `${kind} cannot be listed: ${problem.message}. ${UNLISTED_KIND_REMEDY}`;
}

/** By namespace and name. */
export function byName(a: KubernetesObject, b: KubernetesObject): number {
  return compareTexts(formatName(a.metadata), formatName(b.metadata));
}
