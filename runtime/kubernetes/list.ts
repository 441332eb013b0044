import { isRecord } from "../json/json";
import { AnswerTooLongError, type ApiAnswer, type ApiRequest, answerOfAnother } from "./exchange";
import type { KubernetesObject } from "./objects";
import { type Resource, resourcePath } from "./resource";

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
  metadata: { resourceVersion?: string; continue?: string };
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
const LONGEST_PAGE = 4 * 1024 * 1024;
/** The page is then asked for again with this many times fewer objects. */
const FEWER = 8;
/** In a list that had such a page, each page has at most this many times the objects of the page before. */
const GROWTH = 2;

/**
 * Reads every object of the selection, page by page. However large the objects are, a page of several objects has at most 4 MiB
 * (tests/unit/client.test.ts).
 * @param onPage called with each page's items and the list's version, so that a caller need not hold all objects
 * @returns the resourceVersion from which a watch continues. "" if the API knows no versions
 * @throws what `send` throws
 */
export async function listPages(
  send: Send,
  resource: Resource,
  selection: Selection,
  onPage: (items: KubernetesObject[], resourceVersion: string) => void,
  signal?: AbortSignal,
): Promise<string> {
  let continueToken = "";
  let limit = selection.metadataOnly ? LARGEST_PAGE : FIRST_PAGE;
  let growth = Number.POSITIVE_INFINITY;
  for (;;) {
    const page = await readPage(send, resource, selection, limit, continueToken, signal);
    if (!page) {
      limit = Math.ceil(limit / FEWER);
      growth = GROWTH;
      continue;
    }
    const { body, length } = page;
    const { resourceVersion = "" } = body.metadata;
    // The items of a list have neither apiVersion nor kind. Those of a watch do.
    const items = body.items ?? [];
    const { apiVersion, kind } = resource;
    onPage(
      items.map((item) =>
        selection.metadataOnly
          ? { apiVersion, kind, metadata: item.metadata }
          : { ...item, apiVersion, kind },
      ),
      resourceVersion,
    );
    continueToken = body.metadata.continue ?? "";
    if (!continueToken) return resourceVersion;
    const fitting = Math.floor((PAGE_LENGTH * items.length) / length);
    limit = Math.max(1, Math.min(LARGEST_PAGE, fitting, limit * growth));
  }
}

/** The version that a list of these objects has now. Only one object is requested. */
export async function versionOfList(
  send: Send,
  resource: Resource,
  selection: Selection,
  signal: AbortSignal,
): Promise<string> {
  const path = `${resourcePath(resource, selection)}?${selectionQuery(selection, { limit: "1" })}`;
  const { body } = await sendForList(send, { method: "GET", path, signal });
  return body.metadata.resourceVersion ?? "";
}

/** A page of a list. Undefined if it is longer than a page may be. */
async function readPage(
  send: Send,
  resource: Resource,
  selection: Selection,
  limit: number,
  continueToken: string,
  signal: AbortSignal | undefined,
): Promise<ApiAnswer<ObjectList> | undefined> {
  const query = selectionQuery(selection, { limit: String(limit), continue: continueToken });
  try {
    return await sendForList(send, {
      method: "GET",
      path: `${resourcePath(resource, selection)}?${query}`,
      ...(selection.metadataOnly && { accept: METADATA_LIST }),
      ...(limit > 1 && { longestAnswer: LONGEST_PAGE }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (error instanceof AnswerTooLongError) return undefined;
    throw error;
  }
}

async function sendForList(send: Send, request: ApiRequest): Promise<ApiAnswer<ObjectList>> {
  const answer = await send<ObjectList>(request);
  if (isRecord(answer.body) && isRecord(answer.body.metadata)) return answer;
  throw answerOfAnother(request, "a list");
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

/** Reads objects, few of them at once. Yields each one that exists, with the item for which it was read. */
export async function* readInParts<Item, Read>(
  items: readonly Item[],
  readOne: (item: Item) => Promise<Read | undefined>,
): AsyncGenerator<readonly [item: Item, read: Read]> {
  for (let from = 0; from < items.length; from += READ_AT_ONCE) {
    const part = items.slice(from, from + READ_AT_ONCE);
    const found = await Promise.all(part.map(async (item) => [item, await readOne(item)] as const));
    for (const [item, read] of found) if (read !== undefined) yield [item, read];
  }
}
