// What must hold in the cluster first.
import { definitionFile, overridesOf } from "../../definition/definitionFile";
import { displayPath } from "../../definition/problems";
import { checkCustomResources, type ExpectedCustomResource } from "../../preflight/checkCustomResources";
import { checkImageVolumes, type ImageVolumesNeed } from "../../preflight/checkImageVolumes";
import { checkInstallation } from "../../preflight/checkInstallation";
import { checkLeftDefinitions } from "../../preflight/checkLeftDefinitions";
import { checkLeftPlatform } from "../../preflight/checkLeftPlatform";
import { checkNamespaces, type NeededNamespace } from "../../preflight/checkNamespaces";
import { checkOperatorNames } from "../../preflight/checkOperatorNames";
import { together } from "../../preflight/lookInCluster";
import type { Operator } from "../../runtime/program";
import { installationNameOf } from "../manifests/installation";
import { isTakenBack } from "../manifests/metadata";
import { runnerNameOf } from "../manifests/names";
import { namespacesFor } from "../manifests/outside/options";
import { crdsOf, type OperatorsManifests } from "../operatorsManifests";
import type { OperatorsPlan } from "../operatorsPlan";
import { checkInCluster } from "./checkInCluster";
import { claimant, crdKey } from "./claims";
import type { Cluster } from "./cluster";
import { isOfProgram } from "./thisRun";

/**
 * Checks that no other program has an installation of this name in the cluster, an operator of one of these names on the
 * platform, or one of these CRDs. Checks also that the cluster has everything that the operators need. Tells what becomes of the
 * CRDs of operators that are no longer in the program.
 */
export function checkOperatorsInCluster(
  plan: OperatorsPlan,
  sets: OperatorsManifests,
  cluster: Cluster,
  isAfterOthers: boolean,
): Promise<void> {
  const { component, installation, operators, platform, data } = plan;
  const { namespace } = platform;
  const accounts = { namespace, accountOf: runnerNameOf };
  // The platform creates its own namespace, or checks it. What the operators come after may create the others.
  const needed = isAfterOthers
    ? []
    : operators.flatMap(namespacesOf).filter((each) => each.namespace !== namespace);
  const own = crdsOf(sets).map(({ crd }) => crd.metadata.name);
  const has = (crd: string) => own.includes(crd) || claimant(cluster, crdKey(crd)) !== undefined;
  const hasPlatform = plan.toMake !== undefined || plan.made !== undefined;
  return checkInCluster(component, cluster, async (look, program) =>
    together(
      await Promise.all([
        checkInstallation(look, { installation, clusterRole: installationNameOf(installation), program }),
        checkOperatorNames(look, { operators, program, ...accounts, clusterRoleOf: installationNameOf }),
        checkCustomResources(look, { customResources: customResourcesOf(sets), program, ...accounts }),
        checkLeftDefinitions(look, { installation, program, operators, has, keeps: data === "keep" }),
        checkNamespaces(look, needed),
        ...(data === "keep" && !hasPlatform ? [checkLeftPlatform(look, { program, has: isOfProgram })] : []),
        checkImageVolumes(look, imageVolumesNeed(operators)),
      ]),
    ),
  );
}

function customResourcesOf(sets: OperatorsManifests): ExpectedCustomResource[] {
  return crdsOf(sets).map(({ operator, crd }) => ({
    operator,
    place: displayPath(definitionFile(operator.folder)),
    crd: crd.metadata.name,
    takesExisting: isTakenBack(crd),
  }));
}

/** The namespaces that an operator names. It gets a Role in each. */
function namespacesOf({ name, folder, overridden, namespaces, uses, on = [] }: Operator): NeededNamespace[] {
  const file = displayPath(definitionFile(folder));
  const list = overridden.includes("namespaces") ? overridesOf(name) : file;
  const listed = namespaces === "all" ? [] : namespaces;
  const others = [
    ...Object.values(uses).flatMap(({ namespace = [] }) => namespace),
    ...on.flatMap(namespacesFor),
  ];
  return [
    ...listed.map((namespace) => ({ namespace, place: list })),
    ...others.map((namespace) => ({ namespace, place: file })),
  ];
}

/** Files that come from images are mounted as image volumes. */
function imageVolumesNeed(operators: readonly Operator[]): ImageVolumesNeed | undefined {
  const names = operators.filter(({ files }) => files !== undefined).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return {
    reason: `files of ${names.join(", ")} names an image`,
    remedy: "Leave files out, or build an image of the handler with its files: image",
  };
}
