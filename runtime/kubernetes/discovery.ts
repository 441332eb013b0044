import { setTimeout as pause } from "node:timers/promises";
import { isRecord } from "../base/json";
import { isNamespaced, pluralOf } from "../base/kinds";
import { groupOf } from "../base/objects";
import type { Resource } from "../base/resource";
import type { KubernetesClient } from "./client";
import { ifRefused, isApiError } from "./errors";
import { answerOfAnother } from "./exchange";

/** One of the `resources` of an `APIResourceList`, which `/apis/<group>/<version>` gives. */
export interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly singularName?: string;
  readonly shortNames?: readonly string[];
}

/** The API server serves no such kind. */
export class UnknownKindError extends Error {
  constructor(apiVersion: string, kind: string) {
    super(
      `the cluster serves no kind ${kind} in ${apiVersion}. Check the spelling, or first install the software that provides the kind.`,
    );
    this.name = "UnknownKindError";
  }
}

/** Whether a kind is not served: the API server says so of it, or answers 404 at the path where it was. */
export function isKindMissing(error: unknown): boolean {
  return error instanceof UnknownKindError || isApiError(error, 404);
}

/**
 * How the API server serves a kind. For Kubernetes' own kinds that is known without a request, also if the API server does not
 * serve the version. For any other kind the API server is asked.
 * @throws UnknownKindError if the API server does not serve a kind that is not Kubernetes' own
 */
export async function findResource(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource> {
  return isNamespaced(apiVersion, kind) === undefined
    ? discover(client, apiVersion, kind)
    : builtIn(apiVersion, kind);
}

/** How every API server serves a kind of Kubernetes' own. */
export function builtIn(apiVersion: string, kind: string): Resource {
  const namespaced = isNamespaced(apiVersion, kind) ?? false;
  return { apiVersion, kind, plural: pluralOf(apiVersion, kind), namespaced };
}

/**
 * Reads what the API server says of the kinds that it serves.
 * @param field the field of the answer that has them
 * @throws ApiUnreachableError for an answer without it: nothing may pass for an API without kinds
 */
export async function readArray<Entry>(
  client: Pick<KubernetesClient, "read">,
  path: string,
  field: "resources" | "versions" | "groups",
): Promise<readonly Entry[]> {
  const answer = await client.read<unknown>(path);
  const entries = isRecord(answer) ? answer[field] : undefined;
  if (Array.isArray(entries) && entries.every(isRecord)) return entries as Entry[];
  throw answerOfAnother({ method: "GET", path }, "a list of kinds");
}

/**
 * Asks the API server how it serves a kind.
 * @throws UnknownKindError if it does not serve the kind
 */
export async function discover(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource> {
  const path = `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`;
  const resources = await readArray<ApiResource>(client, path, "resources").catch((error: unknown) => {
    if (isApiError(error, 404)) throw new UnknownKindError(apiVersion, kind);
    throw error;
  });
  // Subresources are listed next to their resource, as "deployments/scale".
  const found = resources.find((resource) => resource.kind === kind && !resource.name.includes("/"));
  if (!found) throw new UnknownKindError(apiVersion, kind);
  return { apiVersion, kind, plural: found.name, namespaced: found.namespaced };
}

/** As {@link discover}. Undefined if the API server does not serve the kind. */
export function discoverIfServed(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource | undefined> {
  return discover(client, apiVersion, kind).catch((error: unknown) => {
    if (error instanceof UnknownKindError) return undefined;
    throw error;
  });
}

/**
 * How the API server serves the objects of a kind: in this version, or else in another one of the group, since all versions have the
 * same objects. The API server is asked, also about Kubernetes' own kinds.
 * @returns undefined if it serves the kind in no version, so that there are no such objects
 */
export async function discoverObjects(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource | undefined> {
  const found = await discoverIfServed(client, apiVersion, kind);
  const group = groupOf(apiVersion);
  // The core group has one version.
  if (found || group === "") return found;
  const versions = await readArray<{ groupVersion: string }>(client, `/apis/${group}`, "versions").catch(
    ifRefused(404, []),
  );
  for (const { groupVersion } of versions) {
    const other = await discoverIfServed(client, groupVersion, kind);
    if (other) return other;
  }
  return undefined;
}

/** Usually the kind is just being created, so the first tries follow each other quickly. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;
const WAIT_GROWTH = 1.2;

/**
 * The same as {@link discover}, for a kind that may come later, from an API server that may be away. Asks again until there is an
 * answer.
 * @param signal ends the wait
 * @param onWait called with the reason for the wait: once for each reason, not for each try
 * @param onFailure called after each try that failed, before `onWait`
 * @throws AbortError on the signal
 */
export async function awaitKind(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
  {
    signal,
    onWait,
    onFailure,
  }: { signal: AbortSignal; onWait: (reason: Error) => void; onFailure?: (error: Error) => Promise<void> },
): Promise<Resource> {
  let reported = "";
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_GROWTH, LONGEST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await discover(client, apiVersion, kind);
    } catch (error) {
      const reason = error as Error;
      await onFailure?.(reason);
      if (reason.message !== reported) onWait(reason);
      reported = reason.message;
    }
    // The wait is random, so that the replicas of many operators do not ask at the same time.
    await pause(waitMs * (0.8 + Math.random() * 0.4), undefined, { signal });
  }
}

/**
 * A text that changes when the schema of a kind in this API version does: the hash in the API server's index of its OpenAPI documents,
 * which every account may read (kube-openapi, pkg/handler3/handler.go). Undefined if it gives none.
 */
export async function schemaHashOf(
  client: Pick<KubernetesClient, "read">,
  apiVersion: string,
): Promise<string | undefined> {
  const index = await client.read<{ paths?: Record<string, { serverRelativeURL?: string }> }>("/openapi/v3");
  const { serverRelativeURL = "" } =
    index.paths?.[`${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}`] ?? {};
  return /[?&]hash=([^&]+)/.exec(serverRelativeURL)?.[1];
}
