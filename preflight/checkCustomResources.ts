// Are their CRDs free, or this program's, or to be taken over?
import {
  allIdentitiesOf,
  identityOf,
  type KubernetesObject,
  OPERATOR_LABEL,
  type OperatorIdentity,
  type OperatorNames,
} from "../runtime/program";
import { contentOf, kindOf } from "./checkLeftDefinitions";
import { type Findings, type Look, NOTHING, together } from "./lookInCluster";
import { ifGoing, ifRenamed, ifUnmarked, makerOf } from "./makers";

/** The CRD of an operator that a program is about to create. */
export interface ExpectedCustomResource {
  readonly operator: OperatorNames;
  /** The operator's file, for messages. */
  readonly place: string;
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
  expected: ExpectedCustomResource,
  { program, namespace, accountOf }: ExpectedCustomResources,
): Promise<Findings> {
  const { operator, crd, takesExisting } = expected;
  const found = await look.crd(crd);
  if (found === undefined || found === "absent") return NOTHING;
  const maker = makerOf(found);
  const isOurs =
    maker === program || (maker === undefined && (await mayBeDeployed(look, operator, namespace, accountOf)));
  if (isOurs || takesExisting) {
    const taken = isOurs ? NOTHING : ifTaken(operator, crd, maker);
    return together([ifGoing(found), taken, await ifOfAnotherName(look, found, expected)]);
  }
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
 * Refuses a renamed operator that does not give its former name. It would leave the finalizers and the children of that name alone,
 * and with the runner of that name goes the last one that knows them.
 */
async function ifOfAnotherName(
  look: Look,
  found: KubernetesObject,
  { operator, place, crd }: ExpectedCustomResource,
): Promise<Findings> {
  const identity = found.metadata.labels?.[OPERATOR_LABEL];
  if (identity === undefined || allIdentitiesOf(operator).map(identityOf).includes(identity)) return NOTHING;
  const kind = kindOf(found);
  const count = kind && (await look.countOf(kind));
  if (count === 0) return NOTHING;
  const [installation, name] = identity.split(".");
  const former = installation === operator.installation ? name : identity;
  return {
    problems: [
      `${place} has the CRD ${crd}, with ${contentOf(kind?.kind, count)}, of the operator ${identity}, and is called ` +
        `${identityOf(operator)} now. Without its former name, it would leave their finalizers and children alone. Add to the file: ` +
        `formerNames: ["${former}"]`,
    ],
  };
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
