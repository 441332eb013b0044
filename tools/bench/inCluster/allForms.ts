import { manifestsOf } from "../../../cli/render/manifests";
import { runProgram } from "../../../cli/render/runProgram";
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

/** What `pulumi up` makes of one operator, in the benchmark's namespaces, without its CRD. */
async function rendered(operator: Operator, runners: number): Promise<Manifest[]> {
  const platform = { namespace: OPERATOR_NAMESPACE, controllerNamespace: CONTROLLER_NAMESPACE };
  const program = () => new Operators("bench", { handlers: [operator], replicas: runners, platform });
  const { resources } = await runProgram(program, { project: "bench", stack: "bench", values: {} });
  const { plural, group } = operator.customResource;
  return manifestsOf(resources).filter(({ metadata }) => metadata.name !== `${plural}.${group}`);
}
