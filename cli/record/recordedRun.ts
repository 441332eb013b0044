import { OPERATOR_LABEL } from "../../runtime/base/names";
import { type KubernetesObject, kindAndName } from "../../runtime/base/objects";
import {
  type DueSchedule,
  type HandlerEvent,
  type KubernetesClient,
  type Operator,
  parameterOf,
  RUN_PARAMETERS,
  type RunTarget,
  readExample,
  readUsed,
  resourceOf,
  runTargetOf,
  withServedKind,
} from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { CommandError, UsageError } from "../common/commandError";
import { writtenAs } from "../common/objectName";
import type { InstalledOperators } from "../inspect/readInstalled";
import { findRun, outputOf } from "../inspect/runs";

/** The parts of its handler's request that a run contains. */
export type RecordedRequest =
  /** A trial: the run has the whole request. */
  | {
      readonly kind: "trial";
      readonly operator: Operator;
      readonly object: KubernetesObject;
      readonly used: Record<string, unknown>;
    }
  /** A reconcile: the run has the object's name, and the object has not changed since then. */
  | {
      readonly kind: "object";
      readonly operator: Operator;
      readonly object: KubernetesObject;
      readonly event: HandlerEvent;
      readonly due: readonly DueSchedule[];
    };

/**
 * The parts of its request that a recorded run contains. A run contains only names, uid and generation, and neither the object
 * nor its children nor the objects that it used, because Argo shows all of a run to anyone who may read Workflows. So an
 * object that has changed since is not available.
 *
 * @param installed the deployed operators, in whose namespaces the run is
 * @throws UsageError if no operator of the working tree made the run; CommandError if the request is not available
 */
export async function requestOf(
  client: KubernetesClient,
  name: string,
  operators: readonly Operator[],
  installed: InstalledOperators,
): Promise<RecordedRequest> {
  const run = await findRun(client, name, installed);
  const identity = run.metadata.labels?.[OPERATOR_LABEL] ?? "";
  const operator = operators.find((each) => identity.endsWith(`.${each.name}`));
  if (!operator)
    throw new UsageError(`The run ${name} belongs to ${identity}, and no operator here has this name.`);
  const target = targetOf(run, operator);
  if (target.kind === "trial") return { kind: "trial", operator, ...trialOf(target, name, operator) };
  const resource = resourceOf((await withServedKind(operator, client)).customResource);
  const what = kindAndName(resource.kind, target.name);
  const instead = `The request was not recorded, only names, uid and generation. To record the object in its present state: ${asTyped(`record ${writtenAs(resource.plural, target.name)}`)}`;
  const object = await client.get(resource, target.name);
  if (!object)
    throw new CommandError(
      `${what}, which the run ${name} was about, no longer exists. A run does not contain its object.`,
    );
  const uid = target.uid ?? object.metadata.uid;
  if (object.metadata.uid !== uid)
    throw new CommandError(
      `The run ${name} was about another ${what}, which was deleted since then (uid ${uid}). ${instead}`,
    );
  const generation = outputOf(run, "generation");
  if (generation !== "" && generation !== String(object.metadata.generation ?? 1)) {
    throw new CommandError(
      `The run ${name} was about generation ${generation} of ${what}, and now it is generation ${object.metadata.generation}. ${instead}`,
    );
  }
  const event = outputOf(run, "event") === "finalize" ? "finalize" : "reconcile";
  return { kind: "object", operator, object, event, due: target.due ? [target.due] : [] };
}

function targetOf(run: KubernetesObject, operator: Operator): RunTarget {
  if ([RUN_PARAMETERS.name, RUN_PARAMETERS.object].every((each) => parameterOf(run, each) === ""))
    throw new CommandError(`The run ${run.metadata.name} is not about one object.`);
  try {
    return runTargetOf(run, operator);
  } catch (error) {
    throw new CommandError(`The run ${run.metadata.name}: ${(error as Error).message}.`);
  }
}

function trialOf({ object, used }: RunTarget & { kind: "trial" }, name: string, operator: Operator) {
  try {
    // Any user who may create Workflows can make up a run.
    readExample(object, operator);
    readUsed(used, operator);
  } catch (error) {
    throw new CommandError(`The run ${name}: ${(error as Error).message}.`);
  }
  return { object: object as KubernetesObject, used: used as Record<string, unknown> };
}
