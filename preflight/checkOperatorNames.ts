// Are the operators' names free on the platform?
import { identityOf, OPERATOR_LABEL, type OperatorIdentity } from "../runtime/program";
import { type Findings, type Look, NOTHING, together } from "./lookInCluster";
import { makerOf } from "./makers";

/** The operators that a program is about to create. */
export interface ExpectedOperators {
  readonly operators: readonly OperatorIdentity[];
  /** The namespace of the platform, in which their objects are. */
  readonly namespace: string;
  /** The program that creates them, as "organization/project/stack". */
  readonly program: string;
  /** The service account by which an operator's name is known to be taken. */
  readonly accountOf: (operator: string) => string;
  /** The ClusterRole that represents an installation. */
  readonly clusterRoleOf: (installation: string) => string;
}

/**
 * Checks that no other program has operators of these names on the same platform. The names of an operator's objects do not
 * contain its installation, so a deployment would fail half-way on existing objects.
 */
export async function checkOperatorNames(look: Look, expected: ExpectedOperators): Promise<Findings> {
  return together(
    await Promise.all(expected.operators.map((operator) => checkOperatorName(look, operator, expected))),
  );
}

async function checkOperatorName(
  look: Look,
  operator: OperatorIdentity,
  { namespace, program, accountOf, clusterRoleOf }: ExpectedOperators,
): Promise<Findings> {
  const { name } = operator;
  const found = await look.serviceAccount(namespace, accountOf(name));
  const holder = found && found !== "absent" ? found.metadata.labels?.[OPERATOR_LABEL] : undefined;
  if (holder === undefined || holder === identityOf(operator)) return NOTHING;
  const installation = holder.slice(0, holder.indexOf("."));
  const marker = await look.clusterRole(clusterRoleOf(installation));
  const maker = marker && marker !== "absent" ? makerOf(marker) : undefined;
  // This program had the other installation before.
  if (maker === undefined || maker === program) return NOTHING;
  return {
    problems: [
      `the platform in the namespace ${namespace} already has an operator "${name}", of the installation "${installation}" and the ` +
        `stack ${maker}. Give one of the two another name, or, if their kinds differ, give these operators a platform of their own.`,
    ],
  };
}
