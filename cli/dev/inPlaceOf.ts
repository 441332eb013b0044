import { identityOf } from "../../runtime/base/names";
import type { Operator } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { sameOperators } from "../diff/deployed";
import { DEFAULT_HOME, unreadableError } from "../inspect/installed";
import { type InstalledOperators, SEE_ALL } from "../inspect/readInstalled";
import { ClusterNotReadyError } from "../local/awaitedKind";

/** An operator of the working tree, and where it stands for election. */
export interface LocalOperator {
  readonly operator: Operator;
  /** The namespace of its Lease. */
  readonly namespace: string;
  /** What the user must know of the deployed one, in sentences. */
  readonly note?: string;
}

/**
 * Lets an operator of the working tree stand for election to the Lease of the operator that a program has deployed to the cluster,
 * so that only one of both reconciles.
 *
 * @param isOfStack whether a stack says to which installation the operator belongs
 * @throws ClusterNotReadyError if the deployed operator is of another installation than the stack; CommandError if its definition cannot be read, or if several installations have the operator, and none of them is meant
 */
export function inPlaceOfDeployed(
  operator: Operator,
  { operators, unreadable, unseen }: InstalledOperators,
  isOfStack: boolean,
): LocalOperator {
  const { name } = operator;
  const same = sameOperators(operator, operators);
  const found = same.find((each) => identityOf(each) === identityOf(operator));
  const [other] = same;
  if (!found && other && isOfStack && !operator.watch)
    throw new ClusterNotReadyError(
      `${name} is deployed to this cluster by the installation ${other.installation}, and the stack is of the installation ` +
        `${operator.installation}. Both would reconcile the same objects. Name a stack of ${other.installation} with --stack, or ` +
        "another cluster.",
    );
  if (!found && !isOfStack && same.length > 1) {
    const names = same.map((each) => each.installation).join(", ");
    throw new CommandError(
      `${name} is deployed more than once, in the installations ${names}. Name a stack of one of them with --stack.`,
    );
  }
  const deployed = found ?? (isOfStack ? undefined : other);
  const unread = unreadable.find((each) => each.name === name);
  if (!deployed && unread) throw unreadableError(unread);
  if (!deployed) {
    const note =
      unseen &&
      `${name}: whether it is deployed to this cluster is not known, because ${unseen}. If it is, both may reconcile the same ` +
        `objects. ${SEE_ALL}`;
    return { operator, namespace: DEFAULT_HOME, ...(note && { note }) };
  }
  return { operator: { ...operator, installation: deployed.installation }, namespace: deployed.home };
}
