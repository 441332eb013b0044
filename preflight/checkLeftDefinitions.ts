// Which CRDs are left of operators that the program no longer has, and with how many objects?
import {
  allIdentitiesOf,
  identityOf,
  isRecord,
  type KubernetesObject,
  OPERATOR_LABEL,
  type OperatorNames,
  PROGRAM_ANNOTATION,
  type Resource,
} from "../runtime/program";
import { type Findings, type Look, together } from "./lookInCluster";
import { isGoing, KEPT, makerOf } from "./makers";

/** The operators of one installation, and what becomes of the CRDs that leave the program. */
export interface ExpectedDefinitions {
  readonly installation: string;
  /** The program, as "organization/project/stack". */
  readonly program: string;
  /** The operators of the program. */
  readonly operators: readonly OperatorNames[];
  /** Whether the program has the CRD of this name. */
  readonly has: (crd: string) => boolean;
  /** Whether the program says that such CRDs are kept. */
  readonly keeps: boolean;
}

/**
 * Reports the CRDs that are no longer in the program, and how many objects they have. These objects stay in the cluster, or are
 * deleted with the CRD. Pulumi does what the last `pulumi up` has recorded, which shows on the CRD. So the program is refused if
 * it says "keep" but Pulumi would delete. It is also refused if objects would be deleted whose operator has another kind: no
 * operator would finalize them any more.
 */
export async function checkLeftDefinitions(look: Look, expected: ExpectedDefinitions): Promise<Findings> {
  const { installation, program, has } = expected;
  const left = ((await look.operatorDefinitions()) ?? []).filter(
    (crd) =>
      makerOf(crd) === program &&
      crd.metadata.labels?.[OPERATOR_LABEL]?.startsWith(`${installation}.`) &&
      !isGoing(crd) &&
      !has(crd.metadata.name),
  );
  return together(await Promise.all(left.map((crd) => describeLeft(look, crd, expected))));
}

async function describeLeft(
  look: Look,
  crd: KubernetesObject,
  { installation, keeps, operators }: ExpectedDefinitions,
): Promise<Findings> {
  const { name, labels, annotations = {} } = crd.metadata;
  const identity = labels?.[OPERATOR_LABEL] ?? "";
  const operator = identity.slice(installation.length + 1);
  const isServed = operators.flatMap(allIdentitiesOf).some((each) => identityOf(each) === identity);
  const kind = kindOf(crd);
  const count = kind && (await look.countOf(kind));
  const content = contentOf(kind?.kind, count);
  const where = isServed ? "which now has another kind" : "which is no longer in the program";
  const what = `the CRD ${name} of the operator ${operator}, ${where}, with ${content}`;
  if (annotations[KEPT] !== undefined) {
    const stays =
      count === 0
        ? `stays in the cluster. To delete it: kubectl delete crd ${name}.`
        : `stays in the cluster, and no operator reconciles these objects. To delete them all: kubectl delete crd ${name}, while the ` +
          "operator is deployed.";
    const quiet = `To hear no more of it: kubectl annotate crd ${name} ${PROGRAM_ANNOTATION}-`;
    return { problems: [], warnings: [`${what} ${stays} ${quiet}`] };
  }
  if (isServed && !keeps && count !== 0) {
    const problem =
      `pulumi up would delete ${what}, and no operator would finalize these objects. Delete them first, while the operator is deployed as ` +
      `before: kubectl delete ${name} --all --all-namespaces. Or give the operator of the new kind another name.`;
    return { problems: [problem] };
  }
  if (!keeps)
    return {
      problems: [],
      warnings: [`unless it is protected, pulumi up deletes ${what}. With data "keep" they stay.`],
    };
  const problem =
    `pulumi up would delete ${what}: data is "keep" now, and was not in the last pulumi up. Put the operator back, run pulumi up, ` +
    "and then take it out.";
  return { problems: [problem] };
}

/** What a CRD has, in words: "1 Greeting and its children". */
export function contentOf(kind: string | undefined, count: number | undefined): string {
  if (count === undefined) return "all its objects and their children";
  if (count === 0) return "no object";
  return count === 1 ? `1 ${kind} and its children` : `${count} objects ${kind} and their children`;
}

/** The kind that a CRD defines, in a version that is served. */
export function kindOf({ spec }: KubernetesObject): Resource | undefined {
  if (!isRecord(spec) || !isRecord(spec["names"]) || !Array.isArray(spec["versions"])) return undefined;
  const version = spec["versions"].find((each) => isRecord(each) && each["served"] === true)?.name;
  const { kind, plural } = spec["names"];
  if (version === undefined) return undefined;
  const namespaced = spec["scope"] === "Namespaced";
  return { apiVersion: `${spec["group"]}/${version}`, kind: `${kind}`, plural: `${plural}`, namespaced };
}
