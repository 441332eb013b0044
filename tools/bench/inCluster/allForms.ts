import { manifestsOf } from "../../../cli/render/manifests";
import { runProgram } from "../../../cli/render/runProgram";
import { Operators } from "../../../components/operators";
import type { Manifest } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";
import { argosyForms } from "./argosyForms";
import { barePodForm } from "./barePod";
import { CONTROLLER_NAMESPACE, type Form, OPERATOR_NAMESPACE } from "./form";
import { type PeerImages, peerForms } from "./peerForms";
import { tutorialForm } from "./tutorial";

/** The options of Argosy's installation. */
interface InstallationOptions {
  /** The replicas of the resident operator. */
  readonly runners: number;
  /** How long recorded runs are kept, in seconds. @default as in a stack */
  readonly runsKept?: number;
  /** Whether pods have no init container of Argo's own. @default false */
  readonly initlessPods?: boolean;
}

/** Every form that can be measured on a cluster. The peers' forms need their images. */
export async function allForms(
  memcached: Operator,
  images: PeerImages,
  options: InstallationOptions,
): Promise<Form[]> {
  const resident = await rendered({ ...memcached, execution: "resident" }, options);
  const ofPods = { ...memcached, execution: "pod" } as const;
  const pod = await rendered(ofPods, options);
  const initlessPod = await rendered(ofPods, { ...options, initlessPods: true });
  return [
    tutorialForm(resident, memcached),
    ...argosyForms({ resident, pod, initlessPod }),
    ...peerForms(images),
    barePodForm(),
  ];
}

/** The objects that `pulumi up` creates for one operator, in the benchmark's namespaces, without its CRD. */
async function rendered(
  operator: Operator,
  { runners: replicas, runsKept, initlessPods = false }: InstallationOptions,
): Promise<Manifest[]> {
  const namespaces = { namespace: OPERATOR_NAMESPACE, controllerNamespace: CONTROLLER_NAMESPACE };
  const platform = { ...namespaces, initlessPods };
  const kept = runsKept !== undefined && { runsKeptSeconds: runsKept };
  const program = () => new Operators("bench", { handlers: [operator], replicas, ...kept, platform });
  const { resources } = await runProgram(program, { project: "bench", stack: "bench", values: {} });
  const { plural, group } = operator.customResource;
  return manifestsOf(resources).filter(({ metadata }) => metadata.name !== `${plural}.${group}`);
}
