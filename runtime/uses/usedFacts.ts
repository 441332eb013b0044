import { fingerprint } from "../json/fingerprint";
import type { KubernetesObject } from "../kubernetes/objects";
import { MANAGER_PREFIX } from "../names";

/** The facts that are kept of every used object. */
export interface UsedFacts {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Differs if the handler would see another object. */
  readonly seen: string;
  readonly isByOperator: boolean;
}

/** The facts of an object. @param isMetadataOnly whether only its metadata was seen */
export function usedFactsOf(object: KubernetesObject, isMetadataOnly: boolean): UsedFacts {
  const { labels, resourceVersion, uid, managedFields: _, ...metadata } = object.metadata;
  const { metadata: __, ...content } = object;
  return {
    labels,
    seen: fingerprint(isMetadataOnly ? [uid, resourceVersion] : [uid, labels, metadata, content]),
    isByOperator: isByOperator(object),
  };
}

/** Whether an operator of Argosy wrote last to an object. */
export function isByOperator(object: KubernetesObject | undefined): boolean {
  const entries = object?.metadata.managedFields ?? [];
  const latest = entries.reduce((last, { time = "" }) => (time > last ? time : last), "");
  return entries.some(({ time = "", manager = "" }) => time === latest && manager.startsWith(MANAGER_PREFIX));
}
