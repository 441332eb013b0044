import { PACKAGE_FOLDER } from "../../../cli/project";
import { manifestsOf } from "../../../cli/render/manifests";
import { runProgram } from "../../../cli/render/runProgram";
import { readStackConfiguration } from "../../../cli/render/stackConfiguration";
import { operatorsArgs, platformArgs } from "../../../components/configuration/args";
import { readConfiguration } from "../../../components/configuration/readConfiguration";
import { Operators } from "../../../components/operators";
import type { Operator } from "../../../runtime/definition/definition";
import type { Manifest } from "../../../runtime/kubernetes/objects";
import { argosyForms } from "./argosyForms";
import { barePodForm } from "./barePod";
import { CONTROLLER_NAMESPACE, type Form, OPERATOR_NAMESPACE } from "./form";
import { type PeerImages, peerForms } from "./peerForms";
import { tutorialForm } from "./tutorial";

/**
 * Every form that can be measured on a cluster. The peers' need their images.
 * @param runners replicas of the resident operator
 */
export async function allForms(memcached: Operator, images: PeerImages, runners: number): Promise<Form[]> {
  const resident = await rendered({ ...memcached, execution: "resident" }, runners);
  const pod = await rendered({ ...memcached, execution: "pod" }, runners);
  return [
    tutorialForm(resident, memcached),
    ...argosyForms({ resident, pod }),
    ...peerForms(images),
    barePodForm(),
  ];
}

/** What `pulumi up` makes of one operator in the dev stack, in the benchmark's namespaces, without its CRD. */
async function rendered(operator: Operator, runners: number): Promise<Manifest[]> {
  const { project, stack, values } = readStackConfiguration(PACKAGE_FOLDER, "dev");
  const own = {
    [`${project}:namespace`]: OPERATOR_NAMESPACE,
    [`${project}:controllerNamespace`]: CONTROLLER_NAMESPACE,
    [`${project}:runnerReplicas`]: String(runners),
  };
  const settings = readConfiguration(project, { ...values, ...own });
  const program = () =>
    new Operators("argosy", {
      ...operatorsArgs(settings),
      definitions: [operator],
      platform: platformArgs(settings),
    });
  const { resources } = await runProgram(program, { project, stack, values: {} });
  const { plural, group } = operator.customResource;
  return manifestsOf(resources).filter(({ metadata }) => metadata.name !== `${plural}.${group}`);
}
