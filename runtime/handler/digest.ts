// Whether a question differs from one that was asked before.
import { fingerprint, isRecord } from "../base/json";
import { isSecretKind } from "../base/kinds";
import { ENGINE_CONDITIONS, MEMORY_FIELD } from "../base/names";
import type { KubernetesObject } from "../base/objects";
import type { HandlerQuestion } from "./contract";

/** What the digest of a question is made of: all that an answer may follow from. */
export type QuestionContent = Pick<
  HandlerQuestion,
  "event" | "object" | "children" | "used" | "due" | "state"
>;

/**
 * The digest of a question: a short text. A pure handler gives the same answer to two questions of the same digest.
 *
 * Guarantees (tests/unit/digest.test.ts)
 * - It does not depend on `id`, `attempt` and `trace`, on any `resourceVersion` or `managedFields`, or on what the engine itself writes
 *   into the status: `observedGeneration`, its memory and its three conditions.
 * - Anything else that differs makes another digest: other conditions, the status of children, `state`, `due` and used objects too.
 * - It reveals nothing about the values of a Secret. A Secret counts by its version, which each write changes.
 *
 * Assumption: the children are sorted, and so are lists of used objects. In another order they would only be another question.
 * @param isOurs whether the object is a custom resource of the operator's own. The status of any other object is not the engine's
 */
export function digestOf(question: QuestionContent, isOurs: boolean): string {
  const { event, object, children, used, due, state } = question;
  const usedContent = Object.entries(used).map(([key, given]) => [
    key,
    Array.isArray(given) ? given.map(contentOf) : contentOf(given as KubernetesObject | null),
  ]);
  const subject = contentOf(isOurs ? { ...object, status: withoutEngines(object["status"]) } : object);
  return fingerprint([event, subject, children.map(contentOf), Object.fromEntries(usedContent), due, state]);
}

function contentOf(object: KubernetesObject | null): unknown {
  if (object === null) return null;
  const { metadata, ...content } = object;
  if (isSecretKind(object)) {
    const { namespace, name, uid, resourceVersion } = metadata;
    return [object.kind, namespace, name, uid, resourceVersion];
  }
  const { resourceVersion: _, managedFields: __, ...known } = metadata;
  return { ...content, metadata: known };
}

/** A status without what the engine writes there. Undefined if there is nothing else. */
function withoutEngines(status: unknown): unknown {
  if (!isRecord(status)) return status;
  const { observedGeneration: _, [MEMORY_FIELD]: __, conditions, ...others } = status;
  // The API server keeps conditions in the order in which they came.
  const theirs = Array.isArray(conditions)
    ? conditions.filter(isOfOthers).map(fingerprint).sort()
    : [conditions];
  const left = { ...others, ...(theirs.some((each) => each !== undefined) && { conditions: theirs }) };
  return Object.keys(left).length > 0 ? left : undefined;
}

function isOfOthers(condition: unknown): boolean {
  return !(isRecord(condition) && (ENGINE_CONDITIONS as readonly unknown[]).includes(condition["type"]));
}
