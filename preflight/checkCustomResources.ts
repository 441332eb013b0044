// Are their CRDs free, or this program's, or to be taken over?
import { identityOf, OPERATOR_LABEL, type OperatorIdentity } from "../runtime/program";
import { type Findings, type Look, NOTHING, together } from "./lookInCluster";
import { ifGoing, ifRenamed, ifUnmarked, makerOf } from "./makers";

/** The CRD of an operator that a program is about to create. */
export interface ExpectedCustomResource {
  readonly operator: OperatorIdentity;
  readonly crd: string;
  /** Whether the operator's author takes over an existing CRD: `pulumi.com/patchForce`. */
  readonly takesExisting: boolean;
}

/** The CRDs of a program's operators. */
export interface ExpectedCustomResources {
  readonly customResources: readonly ExpectedCustomResource[];
  /** The program that creates them, as "organization/project/stack". */
  readonly program: string;
  /** The namespace of the platform, in which their accounts are. */
  readonly namespace: string;
  /** The service account by which an operator is known to be deployed. */
  readonly accountOf: (operator: string) => string;
}

/**
 * Checks that no other program has CRDs of these names. The CRD is created last: until Pulumi found it there, the runner would
 * work on the objects of another program's operator.
 */
export async function checkCustomResources(look: Look, expected: ExpectedCustomResources): Promise<Findings> {
  return together(
    await Promise.all(expected.customResources.map((each) => checkCustomResource(look, each, expected))),
  );
}

async function checkCustomResource(
  look: Look,
  { operator, crd, takesExisting }: ExpectedCustomResource,
  { program, namespace, accountOf }: ExpectedCustomResources,
): Promise<Findings> {
  const found = await look.crd(crd);
  if (found === undefined || found === "absent") return NOTHING;
  const maker = makerOf(found);
  const isOurs =
    maker === program || (maker === undefined && (await mayBeDeployed(look, operator, namespace, accountOf)));
  if (isOurs) return ifGoing(found);
  if (takesExisting) return together([ifGoing(found), ifTaken(operator, crd, maker)]);
  const complaint = `the operator ${operator.name} has the CRD ${crd}, which already exists in the cluster`;
  const object = `crd ${crd}`;
  const way = maker === undefined ? ifUnmarked(object, program) : ifRenamed(maker, object, program);
  return {
    problems: [
      `${complaint}${maker === undefined ? "" : `, from the stack ${maker}`}. ${way} Otherwise: a kind has one operator in a ` +
        "cluster. Give this operator another kind, or let it take over the CRD with all its objects: " +
        "https://github.com/argosy-dev/argosy/blob/main/docs/tasks/take-over.md#an-existing-crd",
    ],
  };
}

/** A warning only: the stack that had the CRD may have handed it over, or two stacks may share a file with the annotation. */
function ifTaken({ name }: OperatorIdentity, crd: string, maker: string | undefined): Findings {
  if (maker === undefined) return NOTHING;
  const warning =
    `the operator ${name} takes over the CRD ${crd}, with all its objects, from the stack ${maker}. If that stack still has the ` +
    "operator, both work on these objects: remove the annotation pulumi.com/patchForce from the CRD, and give this operator " +
    "another kind.";
  return { problems: [], warnings: [warning] };
}

/**
 * Whether this program has deployed the operator before, or the cluster does not show it. Then the CRD is its own, although its
 * mark was removed.
 */
async function mayBeDeployed(
  look: Look,
  operator: OperatorIdentity,
  namespace: string,
  accountOf: ExpectedCustomResources["accountOf"],
): Promise<boolean> {
  const account = await look.serviceAccount(namespace, accountOf(operator.name));
  if (account === undefined) return true;
  return account !== "absent" && account.metadata.labels?.[OPERATOR_LABEL] === identityOf(operator);
}
