/** The prefix of every label, annotation and finalizer of ours. */
export const DOMAIN = "argosy.dev";

/** On a custom resource: any value but "false" stops its reconciliation, deletion included. */
export const PAUSED_ANNOTATION = `${DOMAIN}/paused`;
/**
 * On a custom resource that is being deleted: any value but "false" lets it go without asking the handler, which may be
 * broken for ever. Children that no owner reference covers are deleted all the same.
 */
export const SKIP_FINALIZE_ANNOTATION = `${DOMAIN}/skip-finalize`;
/** On a custom resource: each new value asks for a reconcile. */
export const RECONCILE_AT_ANNOTATION = `${DOMAIN}/reconcile-at`;
/** On an object that is not ours: any value but "false" lets a custom resource of ours take it as its child. */
export const ADOPT_ANNOTATION = `${DOMAIN}/adopt`;

/** On every child: the operator's name. */
export const OPERATOR_LABEL = `${DOMAIN}/operator`;
/** On a child that can have no owner reference: the uid of its custom resource. A name may be too long for a label. */
export const OWNER_UID_LABEL = `${DOMAIN}/owner-uid`;
/** Beside {@link OWNER_UID_LABEL}: "namespace/name" of the custom resource. */
export const OWNER_ANNOTATION = `${DOMAIN}/owner`;

/** On every Workflow of ours that is about one custom resource: that resource's uid. */
export const OBJECT_UID_LABEL = `${DOMAIN}/object-uid`;

/** Fields of a custom resource's status that Argosy writes itself, whatever the author's schema says of them. */
export const OWN_STATUS_FIELDS: readonly string[] = ["observedGeneration", "conditions"];

/** The field manager with which an operator applies children, finalizers and status. */
export function fieldManagerOf(operator: string): string {
  return `argosy/${operator}`;
}

/** The finalizer that an operator puts on its custom resources where it needs one. */
export function finalizerOf(operator: string): string {
  return `${DOMAIN}/${operator}`;
}

/** The Lease by which the replicas of an operator's runner agree on a leader. */
export function leaseNameOf(operator: string): string {
  return `argosy-${operator}`;
}

/** Whether an annotation is there and does not say "false". */
export function annotated(metadata: { annotations?: Record<string, string> }, annotation: string): boolean {
  const value = metadata.annotations?.[annotation];
  return value !== undefined && value !== "false";
}
