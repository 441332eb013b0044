import type { Lease } from "./lease";

/**
 * Whether the holder may have written a Lease between two looks. Only a change of the specification counts. If somebody has
 * reverted this change before the second look, only `resourceVersion` and the entries of the specification in `managedFields`
 * differ. Other writers, such as a process that finishes its runs, change something outside the specification. They have entries
 * of their own in `managedFields`.
 * @param lease as it is now. Undefined: there is none
 * @param before as it was at the last look
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function isSignOfLife(lease: Lease | undefined, before: Lease | undefined): boolean {
  if (JSON.stringify(lease?.spec) !== JSON.stringify(before?.spec)) return true;
  if (lease?.metadata.resourceVersion === before?.metadata.resourceVersion) return false;
  if (rest(lease) !== rest(before)) return false;
  const [writers, writersBefore] = [specWriters(lease), specWriters(before)];
  // Somebody has taken out who wrote the specification, or all of it. It is safer to wait than to lead beside another process.
  const isUnknown = writers === undefined || writersBefore === undefined;
  return isUnknown || writers !== writersBefore;
}

/** What a Lease has besides its specification and what the API server keeps, as JSON. */
function rest(lease: Lease | undefined): string {
  const { resourceVersion: _, managedFields: __, ...rest } = lease?.metadata ?? {};
  return JSON.stringify(rest);
}

/** Who wrote which fields of the specification, and when, as JSON. Undefined if that is not known. */
function specWriters(lease: Lease | undefined): string | undefined {
  const entries = (lease?.metadata.managedFields ?? []).filter(({ fieldsV1 }) => fieldsV1?.["f:spec"]);
  return entries.length > 0 ? JSON.stringify(entries) : undefined;
}
