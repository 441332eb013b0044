import { isNamespaced, isSecretKind, pluralOf } from "../runtime/base/kinds";
import { CHILD_OF_LABEL, DOMAIN, identityOf, type OperatorIdentity } from "../runtime/base/names";
import { groupOf } from "../runtime/base/objects";
import type { CustomResourceKind } from "../runtime/operator/definition";
import { checkKnownKind } from "./checkChildren";
import type { Report } from "./problems";
import type { CheckedDefinition } from "./schema";

/** The `watch` of a definition. */
type WatchDefinition = NonNullable<CheckedDefinition["watch"]>;

/** The watched kind. It is known whether Kubernetes' own kinds have namespaces. All other kinds are assumed to have them. */
export function watchedKind({ apiVersion, kind, plural }: WatchDefinition): CustomResourceKind {
  const group = groupOf(apiVersion);
  return {
    group,
    version: group === "" ? apiVersion : apiVersion.slice(group.length + 1),
    kind,
    plural: plural ?? pluralOf(apiVersion, kind),
    namespaced: isNamespaced(apiVersion, kind) ?? true,
  };
}

/** Kinds that the engine writes while it works. An operator that watches them would never stop working. */
const OWN_WORK: readonly (readonly [group: string, kind: string])[] = [
  ["", "Event"],
  ["events.k8s.io", "Event"],
  ["coordination.k8s.io", "Lease"],
];

/** Checks the `watch` of a definition. */
export function checkWatch(
  watch: WatchDefinition,
  namespaces: CheckedDefinition["namespaces"],
  operator: OperatorIdentity,
  report: Report,
): void {
  const { apiVersion, kind, labels = {} } = watch;
  const group = groupOf(apiVersion);
  checkKnownKind(watch, "watch", report);
  if (OWN_WORK.some(([other, name]) => other === group && name === kind)) {
    const complaint = `is ${kind}, which Argosy itself writes whenever it works`;
    report("watch.kind", complaint, "Watch the objects that these objects are about.");
  }
  if (group === DOMAIN || group.endsWith(`.${DOMAIN}`)) {
    report(
      "watch.apiVersion",
      `is "${apiVersion}", a group of Argosy's own`,
      "Watch the objects themselves.",
    );
  }
  if (isSecretKind(watch) && namespaces === "all") {
    const complaint = "is Secret, and the runner could read every Secret of the cluster";
    report("watch.kind", complaint, "List the namespaces, for example namespaces: [team-a].", ["namespaces"]);
  }
  if (labels[CHILD_OF_LABEL] === identityOf(operator)) {
    const complaint = `has the value "${identityOf(operator)}", which the operator's own children have`;
    report(`watch.labels.${CHILD_OF_LABEL}`, complaint, "Choose a label of your own.");
  }
}
