import { runnerNameOf } from "../../components/manifests/names";
import type { OperatorIdentity } from "../../runtime/base/names";
import { builtIn, isApiError, type KubernetesClient } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { createAgain, type InstalledOperator } from "./readInstalled";

const DEPLOYMENTS = builtIn("apps/v1", "Deployment");
/** The reason of the condition Progressing of a Deployment whose roll-out is over. */
const ROLLED_OUT = "NewReplicaSetAvailable";

/** The Deployment of an operator's runner, as far as its state is examined. */
export interface Runner {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly unavailableReplicas?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastUpdateTime?: string;
    }[];
  };
}

/** Something that is wrong with an operator's runner. */
export interface RunnerProblem {
  /** Whether a user may want it so, or the operator works nevertheless. */
  readonly isWarning?: true;
  /** As a clause, mostly about the operator: "is scaled to zero". */
  readonly seen: string;
  readonly remedy: string;
}

/** A resident operator of which no runner leads. */
export interface Unled {
  readonly operator: OperatorIdentity;
  /** The end of a sentence: ": the operator is scaled to zero". Empty if the runner's Deployment shows no reason. */
  readonly why: string;
  readonly remedy: string;
}

/** The Deployment of a resident operator's runner. Undefined if there is none. @throws ApiError */
export async function runnerOf(
  client: KubernetesClient,
  { name, home }: InstalledOperator,
): Promise<Runner | undefined> {
  const found = await client.get(DEPLOYMENTS, { namespace: home, name: runnerNameOf(name) });
  return found as Runner | undefined;
}

/** Why a resident operator has no ready runner. Undefined if it has one. */
export function whyNoneReady(
  operator: InstalledOperator,
  runner: Runner | undefined,
): RunnerProblem | undefined {
  const { name, home } = operator;
  if (!runner) {
    return {
      seen: `has no Deployment ${runnerNameOf(name)} in ${home}`,
      remedy: createAgain("Deployment"),
    };
  }
  if (runner.spec?.replicas === 0) {
    return {
      isWarning: true,
      seen: "is scaled to zero",
      remedy: `Scale it to the number of runners that the program has, 1 by default: kubectl -n ${home} scale deployment ${runnerNameOf(name)} --replicas=1`,
    };
  }
  if (runner.status?.readyReplicas) return undefined;
  return { seen: "has no ready runner", remedy: `See why: ${describe(operator)}` };
}

/** Why the roll-out of a runner is not over, if it makes no progress. A former pod may still work. Undefined otherwise. */
export function whyNotRolledOut(
  operator: InstalledOperator,
  runner: Runner,
  isOld: (time: string) => boolean,
): RunnerProblem | undefined {
  const { conditions = [], unavailableReplicas = 0 } = runner.status ?? {};
  const progressing = conditions.find(({ type }) => type === "Progressing");
  if (!progressing || progressing.reason === ROLLED_OUT || unavailableReplicas === 0) return undefined;
  const { status, message = "", lastUpdateTime } = progressing;
  if (status !== "False" && !(lastUpdateTime && isOld(lastUpdateTime))) return undefined;
  return {
    isWarning: true,
    seen:
      status === "False"
        ? `its roll-out has failed: ${message.replace(/\.$/, "")}`
        : "its roll-out has made no progress for a minute",
    remedy: `See why: ${describe(operator)}. If the Deployment was changed by hand, run pulumi up --refresh.`,
  };
}

/** Why no runner of a resident operator leads, as far as this account sees it. */
export async function whyUnled(client: KubernetesClient, operator: InstalledOperator): Promise<Unled> {
  try {
    const problem = whyNoneReady(operator, await runnerOf(client, operator));
    return problem
      ? { operator, why: `: the operator ${problem.seen}`, remedy: problem.remedy }
      : { operator, why: "", remedy: `See why: ${asTyped(`logs ${operator.name}`)}` };
  } catch (error) {
    if (!isApiError(error, 403)) throw error;
    return { operator, why: "", remedy: `See why: ${describe(operator)}` };
  }
}

/** The command that shows the Deployment of an operator's runner, its pods, and the Events of both. */
function describe({ name, home }: InstalledOperator): string {
  return `kubectl -n ${home} describe deployments,pods --selector app.kubernetes.io/name=${name}`;
}
