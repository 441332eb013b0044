import type { Operator } from "../definition/definition";
import { isNeverGiven } from "../kubernetes/kinds";
import { applyEntries } from "../kubernetes/managedFields";
import { groupOf, type KubernetesObject } from "../kubernetes/objects";
import { OPERATOR_LABEL, type OperatorNames } from "../names";
import { hasLabels } from "../watch/watched";
import { managersOf } from "./marks";

/**
 * Which objects an operator looks after: every custom resource of its own. Of others' objects, those that have the labels of its
 * `watch`, that it did not make itself, and that are no Secrets which no handler is given.
 * @param home the namespace of the operator's Workflows
 */
export function isWatchedBy(
  operator: OperatorNames & Pick<Operator, "watch">,
  home: string,
): (object: KubernetesObject) => boolean {
  const { watch } = operator;
  if (!watch) return () => true;
  const managers = managersOf(operator);
  return (object) =>
    hasLabels(object, watch.labels) && !isOwnWork(object, managers, home) && !isNeverGiven(object);
}

/**
 * Whether we made an object: as a child of some object, or as the record of a run. An operator that watches others' objects must
 * not watch its own, because each would lead to another without end. A label by itself proves neither, since anybody may write
 * it. But only trusted accounts make objects in the namespace of the records.
 */
export function isOwnWork(object: KubernetesObject, managers: readonly string[], home: string): boolean {
  const { namespace, labels } = object.metadata;
  const isRecord =
    namespace === home &&
    groupOf(object.apiVersion) === "argoproj.io" &&
    labels?.[OPERATOR_LABEL] !== undefined;
  return isRecord || applyEntries(object, managers).length > 0;
}
