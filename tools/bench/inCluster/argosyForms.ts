import type { Manifest } from "../../../runtime/base/objects";
import { type Form, type FormName, OPERATOR_NAMESPACE } from "./form";
import { POD_STAGES, RESIDENT_STAGES } from "./stages";

/** Kinds of Argo Events in the order in which they must be created, because a sensor receives only events after its start. */
const EVENT_KINDS = ["EventBus", "Sensor", "EventSource"];

/** The objects that `pulumi up` creates for the Memcached operator, in either form. */
export interface ArgosyManifests {
  readonly resident: readonly Manifest[];
  readonly pod: readonly Manifest[];
  /** The form "pod" on a platform whose pods have no init container of Argo's own. */
  readonly initlessPod: readonly Manifest[];
}

/** The path of recorded runs, and of runs in pods. */
export const WORKFLOWS_PATH = `/apis/argoproj.io/v1alpha1/namespaces/${OPERATOR_NAMESPACE}/workflows`;

/** Argosy as `pulumi up` installs it: resident, and with a pod for each run. */
export function argosyForms({ resident, pod, initlessPod }: ArgosyManifests): Form[] {
  const cluster = { size: 0, further: [WORKFLOWS_PATH] };
  const form = (name: FormName, manifests: readonly Manifest[]) => ({
    name,
    groups: inGroups(manifests),
    cluster,
  });
  return [
    { ...form("pod", pod), isSlow: true, stages: POD_STAGES },
    { ...form("initless-pod", initlessPod), isSlow: true, stages: POD_STAGES },
    { ...form("resident", resident), isSlow: false, stages: RESIDENT_STAGES },
  ];
}

/**
 * Manifests in groups that each need the groups before: the definitions, the other objects, then the event path from its end to
 * its beginning.
 */
export function inGroups(manifests: readonly Manifest[]): Manifest[][] {
  const early = ["Namespace", "CustomResourceDefinition"];
  const groups = [
    manifests.filter(({ kind }) => early.includes(kind)),
    manifests.filter(({ kind }) => !early.includes(kind) && !EVENT_KINDS.includes(kind)),
    ...EVENT_KINDS.map((name) => manifests.filter(({ kind }) => kind === name)),
  ];
  return groups.filter((group) => group.length > 0);
}
