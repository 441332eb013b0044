import { identityOf, MANAGER_PREFIX, OPERATOR_LABEL, type OperatorIdentity } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { compareTexts } from "../../runtime/base/text";
import type { Known } from "./known";
import { type InstalledOperator, identityIn } from "./readInstalled";

/**
 * The operator that handles the object. If several operators handle its namespace, the right one has left its name or a Memory.
 */
export function operatorOf({
  object,
  operators,
  memory,
}: Pick<Known, "object" | "operators" | "memory">): InstalledOperator | undefined {
  const { namespace } = object.metadata;
  const here = operators.filter(
    ({ namespaces }) => namespaces === "all" || namespace === undefined || namespaces.includes(namespace),
  );
  const label = memory?.metadata.labels?.[OPERATOR_LABEL];
  const manager = label === undefined ? managerOf(object) : identityIn(label);
  return here.find((each) => manager && identityOf(each) === identityOf(manager)) ?? here[0];
}

/** The operator that last wrote the status. */
export function managerOf({ metadata }: KubernetesObject): OperatorIdentity | undefined {
  const entries = (metadata.managedFields ?? []).filter(
    ({ manager = "", subresource }) => subresource === "status" && manager.startsWith(MANAGER_PREFIX),
  );
  // A renamed operator leaves the entry of its former name, with the time of its last change.
  const [newest] = entries.sort((one, other) => compareTexts(other.time ?? "", one.time ?? ""));
  return identityIn(newest?.manager?.slice(MANAGER_PREFIX.length) ?? "");
}
