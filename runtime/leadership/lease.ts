import { fingerprint, pointerOf } from "../base/json";
import { DOMAIN } from "../base/names";
import type { JsonObject, KubernetesObject } from "../base/objects";
import type { JsonPatchOperation, KubernetesClient } from "../kubernetes/client";
import { builtIn } from "../kubernetes/discovery";

/** What a Lease says of its holder (`coordination.k8s.io/v1`). */
export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/**
 * What a process writes to free the lease. No other client writes both fields by accident. Emptying only the holder, or the whole
 * specification, does not free the lease.
 */
export const FREE = { holderIdentity: "", leaseDurationSeconds: 1 };

/** The longest time that a Lease is believed to hold without renewal, in seconds. No runner's lease holds as long. */
export const LONGEST_LEASE_SECONDS = 60;

/** A Lease as the API server gives it. */
export type Lease = KubernetesObject & { readonly spec?: LeaseSpec };

/** One Lease of the API. Every method throws what `KubernetesClient` throws, and the reason of the signal that ends it. */
export interface LeaseApi {
  /** The Lease. Undefined if there is none. */
  get(signal: AbortSignal): Promise<Lease | undefined>;
  create(spec: LeaseSpec, annotations: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Lease>;
  /** Replaces exactly this version. */
  replace(lease: Lease, signal: AbortSignal): Promise<Lease>;
  patch(operations: readonly JsonPatchOperation[], signal: AbortSignal): Promise<Lease>;
}

/** A process that no longer leads and still ends the runs that it began. */
export interface Finishing {
  /** Who it is. */
  readonly identity: string;
  /** The objects whose runs have not ended. */
  readonly keys: readonly string[];
  /** After this time without a renewal of its entry, others take the process for dead. */
  readonly leaseSeconds: number;
  /** Counts its renewals: each changes the entry. */
  readonly renewal: number;
}

/** How the API server serves Leases. */
export const LEASES = builtIn("coordination.k8s.io/v1", "Lease");

/** The beginning of the name of an annotation in which a process names the runs that it has to finish. */
const FINISHING_PREFIX = `${DOMAIN}/finishing-`;
/** The annotation with the mark of the program that has asked its handler about every object. "" while it asks. */
export const ASKED_ANNOTATION = `${DOMAIN}/asked-by`;
/** The annotation with the state of a staged roll-out. */
export const ROLLOUT_ANNOTATION = `${DOMAIN}/rollout`;
/** The API server accepts 256 KiB of annotations: https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/ */
const LONGEST_ANNOTATIONS = 200 * 1024;

/** One Lease by its name, on the connection that only leases use. */
export function leaseApi(client: KubernetesClient, namespace: string, name: string): LeaseApi {
  const clientFor = (signal: AbortSignal) => client.with({ class: "lease", signal });
  const { apiVersion, kind } = LEASES;
  return {
    get: (signal) => clientFor(signal).get(LEASES, { namespace, name }),
    create: (spec, annotations, signal) =>
      clientFor(signal).create(LEASES, {
        apiVersion,
        kind,
        metadata: { name, namespace, annotations },
        spec,
      }),
    replace: (lease, signal) => clientFor(signal).replace(LEASES, lease),
    patch: (operations, signal) => clientFor(signal).jsonPatch(LEASES, { namespace, name }, operations),
  };
}

/** The annotation of one process that has runs to finish. */
export function finishingAnnotation(id: string): string {
  return `${FINISHING_PREFIX}${id}`;
}

/** The annotations of the processes that have runs to finish, by their names. */
export function finishingIn(annotations: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(annotations).filter(([name]) => name.startsWith(FINISHING_PREFIX)));
}

/** What such an annotation says. Undefined if it is not valid. */
export function readFinishing(annotation: string): Finishing | undefined {
  try {
    const { identity, keys, leaseSeconds, renewal } = JSON.parse(annotation) as JsonObject;
    if (typeof identity !== "string" || typeof leaseSeconds !== "number" || typeof renewal !== "number")
      return undefined;
    if (!Array.isArray(keys)) return undefined;
    return { identity, leaseSeconds, renewal, keys: keys.filter((key) => typeof key === "string") };
  } catch {
    return undefined;
  }
}

/**
 * The mark of a program that has asked its handler about every object. A change of any part of it is noticed.
 * @param exceptions objects that it may not have asked about
 */
export function askedMark(program: string, exceptions: readonly string[]): string {
  return [fingerprint([program, ...exceptions]), ...exceptions].join(" ");
}

/** The exceptions in a program's mark. Undefined if the annotations have no such mark. */
export function exceptionsIn(
  annotations: Readonly<Record<string, string>>,
  program: string | undefined,
): readonly string[] | undefined {
  const mark = annotations[ASKED_ANNOTATION];
  if (program === undefined || mark === undefined) return undefined;
  const exceptions = mark.split(" ").slice(1);
  return mark === askedMark(program, exceptions) ? exceptions : undefined;
}

/** Annotations with room for this program's mark, and without any other. A JSON patch adds only to annotations that exist. */
export function unmarked(
  annotations: Readonly<Record<string, string>>,
  program: string | undefined,
): Readonly<Record<string, string>> {
  const { [ASKED_ANNOTATION]: _, ...others } = annotations;
  return program === undefined ? others : { ...others, [ASKED_ANNOTATION]: "" };
}

/** What a Lease says of a staged roll-out. Undefined: nothing. */
export function rolloutTextIn(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[ROLLOUT_ANNOTATION];
}

/** Whether a Lease can have these annotations. */
export function haveRoom(annotations: Readonly<Record<string, string>>): boolean {
  let length = 0;
  for (const [name, value] of Object.entries(annotations))
    length += Buffer.byteLength(name) + Buffer.byteLength(value);
  return length <= LONGEST_ANNOTATIONS;
}

/** Where an annotation is, for a JSON patch. */
export function annotationPath(name: string): string {
  return pointerOf(["metadata", "annotations", name]);
}
