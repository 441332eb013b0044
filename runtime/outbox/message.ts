import type { Resource } from "../kubernetes/resource";
import type { ObjectEvent, Outcome } from "../reconcile/outcome";
import { describeChanges } from "../reconcile/report";
import type { RunRecord } from "./recorder";
import type { Message } from "./teller";

/**
 * What is to be reported about a reconcile's outcome. Undefined: nothing.
 * @param record the record of the run, if it is recorded
 */
export function messageAbout(
  { report, verdict, events }: Outcome,
  { apiVersion, kind }: Resource,
  record: RunRecord | undefined,
): Message | undefined {
  const { uid, name, namespace, generation = 1, failure, changes } = report;
  if (uid === undefined) return undefined;
  const told: ObjectEvent[] = [...events];
  if (failure) told.push({ type: "Warning", reason: failure.reason, note: failure.message });
  else if (changes.length > 0)
    told.push({ type: "Normal", reason: "Reconciled", note: describeChanges(changes, namespace) });
  if (!verdict && !record && told.length === 0) return undefined;
  return {
    regarding: { apiVersion, kind, metadata: { name, namespace, uid } },
    verdict: verdict && { verdict, generation },
    records: record ? [record] : [],
    events: told,
  };
}
