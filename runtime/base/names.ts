// Every label, annotation, finalizer and field manager.
import { fnv64 } from "./json";

/** The prefix of all of Argosy's labels, annotations and finalizers. */
export const DOMAIN = "argosy.dev";

/** On a custom resource: any value but "false" stops its reconciliation, deletion included. */
export const PAUSED_ANNOTATION = `${DOMAIN}/paused`;
/**
 * On a custom resource that is being deleted: any value but "false" lets the object go without asking the handler, which may be
 * broken for ever. Children that no owner reference covers are still deleted, except in a namespace that the operator no longer
 * lists, or in which it has no rights.
 */
export const SKIP_FINALIZE_ANNOTATION = `${DOMAIN}/skip-finalize`;
/** On an object that we do not own: any value but "false" lets one of our custom resources take it as its child. */
export const ADOPT_ANNOTATION = `${DOMAIN}/adopt`;
/** On a custom resource: it is reconciled at once when the value changes. */
export const RECONCILE_AT_ANNOTATION = `${DOMAIN}/reconcile-at`;
/**
 * In an answer, on a child: the child is applied when the children that are named here are ready. Not written to the cluster:
 * see {@link FOLLOWS_ANNOTATION}.
 */
export const AFTER_ANNOTATION = `${DOMAIN}/after`;
/** In an answer, on a child: "true" if the child is created only once. Never written to the cluster. */
export const ONCE_ANNOTATION = `${DOMAIN}/once`;
/** In a request, on a child: "true" if only its metadata is given, since the children are too large together. Never in the cluster. */
export const TRUNCATED_ANNOTATION = `${DOMAIN}/truncated`;
/** On an object that was created from an event: the values of the id's fields, for readers. */
export const EVENT_ID_ANNOTATION = `${DOMAIN}/event-id`;
/** On the same object: a hash of the content with which the object was created. */
export const EVENT_CONTENT_ANNOTATION = `${DOMAIN}/event-content`;
/** On an object of which a cluster can have only one: the Pulumi program that made it, as "organization/project/stack". */
export const PROGRAM_ANNOTATION = `${DOMAIN}/program`;
/** The annotation in which `kubectl apply` keeps the applied manifest. Everything in it is in the object too. */
export const LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration";
/** On the Warning Event of a failure: the number of the next try, as the request to the handler will have it. */
export const NEXT_ATTEMPT_ANNOTATION = `${DOMAIN}/next-attempt`;
/** On the same Event: the time, in RFC 3339, by which the next try comes even if nothing changes. Absent if none comes then. */
export const NEXT_TRY_ANNOTATION = `${DOMAIN}/next-try`;

/** On every child: the identity of the operator that applied it. */
export const CHILD_OF_LABEL = `${DOMAIN}/child-of`;
/**
 * On every child: the uid of its custom resource, because a name may be too long for a label. The label proves an owner only if
 * no owner reference is possible: see `provenOwner`.
 */
export const OWNER_UID_LABEL = `${DOMAIN}/owner-uid`;
/**
 * On every child, Memory and Workflow of a custom resource: the first hexadecimal digit of the hash of the resource's uid. A list with
 * a selector of this label has all that belongs to a part of the custom resources. See {@link ownerRangeOf}.
 */
export const OWNER_RANGE_LABEL = `${DOMAIN}/owner-range`;
/** On a child that can have no owner reference: its custom resource, as "Kind.group/namespace/name". See `ownerMark`. */
export const OWNER_ANNOTATION = `${DOMAIN}/owner`;
/**
 * On a child that was applied after others: the keys of these, as `childKey` gives them. The child is deleted before them. An answer
 * says it by {@link AFTER_ANNOTATION}.
 */
export const FOLLOWS_ANNOTATION = `${DOMAIN}/follows`;
/** On a child of an object that is itself a child: how many objects in a row led to it. See `levelOf`. */
export const LEVEL_ANNOTATION = `${DOMAIN}/level`;
/** On a Workflow that the dispatcher has created: why, and an id that no other has. Its name follows from that. */
export const RUN_ANNOTATION = `${DOMAIN}/run`;

/** On the same Workflow: "true" if, in a staged roll-out, the run must not delete a child that the handler no longer returns. */
export const WITHHOLD_ANNOTATION = `${DOMAIN}/withhold-deletions`;

/** On an object that was created from an event: the event's name in `on`. */
export const EVENT_LABEL = `${DOMAIN}/event`;

/** On a Secret: the identity of the operator whose custom resources may use it by its name. */
export const USED_BY_LABEL = `${DOMAIN}/used-by`;

/** On every Workflow and every Memory, on the service accounts and the CRD of an operator: the operator's identity. */
export const OPERATOR_LABEL = `${DOMAIN}/operator`;
/** On each of our Workflows that is about one custom resource: that resource's uid. */
export const OBJECT_UID_LABEL = `${DOMAIN}/object-uid`;

/** On the Workflow of a recorded run that is traced: the trace's id, as 32 hexadecimal digits. */
export const TRACE_ID_LABEL = `${DOMAIN}/trace-id`;

/** The field of a custom resource's status in which the engine keeps its memory of the object. No other program writes it. */
export const MEMORY_FIELD = "argosy";

/** Fields of a custom resource's status that Argosy writes itself, whatever the author's schema says of them. */
export const OWN_STATUS_FIELDS: readonly string[] = ["observedGeneration", "conditions", MEMORY_FIELD];

/** The types of the conditions that the engine writes. A handler has others. */
export const ENGINE_CONDITIONS: readonly string[] = ["Ready", "Reconciling", "Stalled"];

/** The installation of a program that names none. */
export const DEFAULT_INSTALLATION = "argosy";

/**
 * The identity of an operator, which distinguishes it from all others in a cluster: two programs may both have an operator
 * "cache". An `Operator` is such an identity. Every name below that the operator leaves in a cluster contains it.
 */
export interface OperatorIdentity {
  /** A DNS label of at most 20 characters, the same for all operators of a program. */
  readonly installation: string;
  /** The operator's own name: a DNS label of at most 40 characters. */
  readonly name: string;
}

/** The identity of an operator, and the names that it had before. An `Operator` has them. */
export interface OperatorNames extends OperatorIdentity {
  /** Without a dot it is a name in the same installation; "shop.cache" is one in the installation "shop". */
  readonly formerNames: readonly string[];
}

/** The identity as text: "argosy.memcached". It fits into a label and into the name of a finalizer. */
export function identityOf({ installation, name }: OperatorIdentity): string {
  return `${installation}.${name}`;
}

/**
 * The value of {@link OWNER_RANGE_LABEL}: "0" to "f". Kubernetes divides objects by the same hash for `shardRange(object.metadata.uid,
 * ...)` (KEP-5866; apimachinery, pkg/sharding/hash.go), so a sixteenth of its range of hashes is one digit.
 */
export function ownerRangeOf(uid: string): string {
  return fnv64(uid).slice(0, 1);
}

/** The labels of a Workflow that is about the custom resource with this uid. */
export function objectLabelsOf(uid: string): Record<string, string> {
  return { [OBJECT_UID_LABEL]: uid, [OWNER_RANGE_LABEL]: ownerRangeOf(uid) };
}

/** What every field manager of every operator begins with. */
export const MANAGER_PREFIX = "argosy/";

/** The field manager with which an operator applies children and status. */
export function fieldManagerOf(operator: OperatorIdentity): string {
  return `${MANAGER_PREFIX}${identityOf(operator)}`;
}

/** How the names of an operator's finalizers on custom resources begin, by what each finalizer means. */
const FINALIZERS = {
  /** The handler must be asked before the object goes. */
  handler: "",
  /** The object has children that no owner reference can cover. */
  elsewhere: "elsewhere.",
  /** The object's children are deleted in an order. */
  order: "order.",
};
/** What a finalizer means. */
export type FinalizerMeaning = keyof typeof FINALIZERS;
/** All of them. */
export const FINALIZER_MEANINGS = Object.keys(FINALIZERS) as FinalizerMeaning[];

/** The finalizer of an operator with this meaning. */
export function finalizerOf(operator: OperatorIdentity, meaning: FinalizerMeaning = "handler"): string {
  return `${FINALIZERS[meaning]}${DOMAIN}/${identityOf(operator)}`;
}

/** The field manager with which an operator applies one of its finalizers: another one than {@link fieldManagerOf}. */
export function finalizerManagerOf(finalizer: string): string {
  return `${MANAGER_PREFIX}${finalizer}`;
}

/** The finalizers of an operator. */
export function finalizersOf(operator: OperatorIdentity): string[] {
  return FINALIZER_MEANINGS.map((meaning) => finalizerOf(operator, meaning));
}

/**
 * The Lease by which the replicas of an operator's runner agree on a leader. With a dot and a range of {@link OWNER_RANGE_LABEL}
 * behind it, as in "argosy-argosy.memcached.0-7", it would be that of a part of the objects: no operator's own Lease has a second dot.
 */
export function leaseNameOf(operator: OperatorIdentity): string {
  return `argosy-${identityOf(operator)}`;
}

/** The identities that an operator had before it was renamed, in the order in which its definition gives them. */
export function formerIdentitiesOf(operator: OperatorNames): OperatorIdentity[] {
  return operator.formerNames.map((former) => {
    const [name = "", installation = operator.installation] = former.split(".").reverse();
    return { installation, name };
  });
}

/** The operator's identity, and then those that it had before: see {@link formerIdentitiesOf}. */
export function allIdentitiesOf(operator: OperatorNames): readonly [OperatorIdentity, ...OperatorIdentity[]] {
  return [operator, ...formerIdentitiesOf(operator)];
}

/**
 * The API group of an installation's Memory objects: "argosy.dev" for the installation "argosy", "shop.argosy.dev" for "shop". So
 * each program of a cluster has a CRD of its own, and does not remove another program's with its own.
 */
export function memoryGroupOf({ installation }: { readonly installation: string }): string {
  return installation === DEFAULT_INSTALLATION ? DOMAIN : `${installation}.${DOMAIN}`;
}

/** The beginning of the name of each Memory object of an operator. The uid of the object that the Memory is about follows. */
export function memoryPrefixOf(operator: OperatorIdentity): string {
  return `${identityOf(operator)}.`;
}

/** The field managers that an operator had before it was renamed. */
export function formerManagersOf(operator: OperatorNames): string[] {
  return formerIdentitiesOf(operator).map(fieldManagerOf);
}

/** Whether an annotation exists and its value is not "false". */
export function annotated(metadata: { annotations?: Record<string, string> }, annotation: string): boolean {
  const value = metadata.annotations?.[annotation];
  return value !== undefined && value !== "false";
}
