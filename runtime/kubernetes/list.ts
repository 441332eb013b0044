import { isRecord } from "../base/json";
import { isNamespaced } from "../base/kinds";
import type { KubernetesObject } from "../base/objects";
import { type Resource, resourcePath } from "../base/resource";
import { isApiError } from "./errors";
import { AnswerTooLongError, type ApiAnswer, type ApiRequest, answerOfAnother } from "./exchange";

/** What a list or a watch covers. */
export interface Selection {
  /** @default every namespace */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Such as "metadata.name=demo". */
  readonly fieldSelector?: string | undefined;
  /** Request only `metadata` (`PartialObjectMetadata`). @default false */
  readonly metadataOnly?: boolean | undefined;
}

/** A page of a list. */
interface ObjectList {
  /** Without a version if the API knows none, as that of PodMetrics. */
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  /** null if a list of metadata is empty. */
  items: KubernetesObject[] | null;
}

/** Sends a request, and resolves with its answer. */
type Send = <T>(request: ApiRequest) => Promise<ApiAnswer<T>>;

/** Only metadata, or the whole objects: an aggregated API server need not know the first form. */
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/** The most objects of a page. Most lists of metadata fit into one page. */
const LARGEST_PAGE = 500;
/** The size of the first page of whole objects. The size of each further page depends on how long the page before was. */
const FIRST_PAGE = 20;
/** How long a page should be, in characters. */
const PAGE_LENGTH = 2 * 1024 * 1024;
/**
 * The longest page, in bytes. A page is in memory several times while it is read, and its objects take up to 13 times as much. A
 * longer page is not read to its end, and is asked for again with fewer objects. A single object is always read whole.
 */
export const LONGEST_PAGE = 4 * 1024 * 1024;
/** The page is then asked for again with this many times fewer objects. */
const FEWER = 8;
/** In a list that had such a page, each page has at most this many times the objects of the page before. */
const GROWTH = 2;

/**
 * Reads every object of the selection, page by page. However large the objects are, a page of several objects has at most 4 MiB
 * (tests/unit/client.test.ts).
 *
 * If etcd forgets the list's version before the last page, the remaining pages show the objects of that later time: the refusal
 * (410) has the token for them (kubernetes, staging/src/k8s.io/apiserver/pkg/storage/etcd3/errors.go,
 * handleCompactedErrorForPaging). A watch from the version of the first page shows what the earlier pages lack.
 * @param onPage called with each page's items and the version of the first page, so that a caller need not hold all objects. The next
 *   page is asked for when it has ended
 * @returns the resourceVersion from which a watch continues: that of the first page. "" if the API knows no versions
 * @throws what `send` throws. ApiUnreachableError for an answer that is not a list of the kind
 */
export async function listPages(
  send: Send,
  resource: Resource,
  selection: Selection,
  onPage: (items: KubernetesObject[], resourceVersion: string) => void | Promise<void>,
  signal?: AbortSignal,
): Promise<string> {
  let continueToken = "";
  let limit = selection.metadataOnly ? LARGEST_PAGE : FIRST_PAGE;
  let growth = Number.POSITIVE_INFINITY;
  let version: string | undefined;
  for (;;) {
    let page: ApiAnswer<ObjectList>;
    try {
      page = await readPage(send, resource, selection, { limit, continueToken, ...(signal && { signal }) });
    } catch (error) {
      const token = tokenIn(error);
      if (error instanceof AnswerTooLongError) {
        limit = Math.ceil(limit / FEWER);
        growth = GROWTH;
      } else if (token === undefined || token === continueToken) throw error;
      else continueToken = token;
      continue;
    }
    const { body, length } = page;
    version ??= body.metadata.resourceVersion ?? "";
    const items = body.items ?? [];
    await onPage(
      items.map((item) => itemOf(resource, item, selection.metadataOnly)),
      version,
    );
    const next = body.metadata.continue ?? "";
    if (!next) return version;
    if (next === continueToken)
      throw answerOfAnother({ method: "GET", path: resourcePath(resource, selection) }, "a further page");
    continueToken = next;
    const fitting = Math.floor((PAGE_LENGTH * items.length) / length);
    limit = Math.max(1, Math.min(LARGEST_PAGE, fitting, limit * growth));
  }
}

/**
 * An item as a watch shows it. The items of built-in kinds have neither kind nor apiVersion. In all other answers, these two come
 * first, in this order, because two states of an object are compared by their texts.
 */
function itemOf(
  { apiVersion, kind }: Resource,
  item: KubernetesObject,
  metadataOnly = false,
): KubernetesObject {
  if (metadataOnly) return { apiVersion, kind, metadata: item.metadata };
  return item.kind === undefined ? { ...{ kind, apiVersion }, ...item } : { ...item, apiVersion, kind };
}

/**
 * Reads one page.
 * @throws AnswerTooLongError if it has several objects and is longer than a page may be; ApiUnreachableError if it is no list
 */
export async function readPage(
  send: Send,
  resource: Resource,
  selection: Selection,
  { limit, continueToken = "", signal }: { limit: number; continueToken?: string; signal?: AbortSignal },
): Promise<ApiAnswer<ObjectList>> {
  const query = selectionQuery(selection, { limit: String(limit), continue: continueToken });
  const request: ApiRequest = {
    method: "GET",
    path: `${resourcePath(resource, selection)}?${query}`,
    ...(selection.metadataOnly && { accept: METADATA_LIST }),
    ...(limit > 1 && { longestAnswer: LONGEST_PAGE }),
    ...(signal && { signal }),
  };
  const answer = await send<ObjectList>(request);
  if (isListOf(resource, answer.body)) return answer;
  throw answerOfAnother(request, "a list");
}

/**
 * Whether an answer is a list of a kind. What a list lacks counts as gone, so nothing else may pass for an empty one: no
 * Status, no single object, no table, no list of another kind.
 */
function isListOf({ apiVersion, kind }: Resource, body: unknown): boolean {
  if (!isRecord(body) || !isRecord(body["metadata"])) return false;
  const { items, kind: listKind, apiVersion: listVersion } = body;
  // Only the CRD of a custom kind may give its lists another name.
  const isNamed = isNamespaced(apiVersion, kind) !== undefined || listVersion !== apiVersion;
  const named = [undefined, `${kind}List`, "List", "PartialObjectMetadataList"];
  if (isNamed && !named.includes(listKind as string | undefined)) return false;
  if (items === null) return typeof listKind === "string" && listKind.endsWith("List");
  const kinds = [undefined, kind, "PartialObjectMetadata"];
  const isItem = (item: unknown) =>
    isRecord(item) && isRecord(item["metadata"]) && kinds.includes(item["kind"] as string | undefined);
  return Array.isArray(items) && items.every(isItem);
}

/** The token for the pages that are left of a list whose version etcd has forgotten. Undefined if an error has none. */
function tokenIn(error: unknown): string | undefined {
  const token: unknown = isApiError(error, 410) ? error.status.metadata?.continue : undefined;
  return typeof token === "string" && token !== "" ? token : undefined;
}

/** Selects the object of a name. @returns a part of a {@link Selection} */
export function named(name: string): { readonly fieldSelector: string } {
  // The name of an RBAC object may contain what has a meaning in a selector.
  return { fieldSelector: `metadata.name=${name.replace(/[\\,=]/g, "\\$&")}` };
}

/** A selection as the query of a path, with further parameters. Those that are empty are left out. */
export function selectionQuery(selection: Selection, more: Record<string, string>): URLSearchParams {
  const query = new URLSearchParams();
  if (selection.labelSelector) query.set("labelSelector", selection.labelSelector);
  if (selection.fieldSelector) query.set("fieldSelector", selection.fieldSelector);
  for (const [key, value] of Object.entries(more)) if (value) query.set(key, value);
  return query;
}

/** How many objects are read at once. Each may be as long as etcd allows. */
const READ_AT_ONCE = 8;

/** Reads objects, few of them at once. Yields each one that exists. */
export async function* readInParts<Item, Read>(
  items: readonly Item[],
  readOne: (item: Item) => Promise<Read | undefined>,
): AsyncGenerator<Read> {
  for (let from = 0; from < items.length; from += READ_AT_ONCE)
    for (const read of await Promise.all(items.slice(from, from + READ_AT_ONCE).map(readOne)))
      if (read !== undefined) yield read;
}
