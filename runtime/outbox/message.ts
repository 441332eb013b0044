import type { ChangedChild } from "../children/childNews";
import type { Owner } from "../children/ownership";
import { kindAndName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { CHILD_OF_LABEL } from "../names";
import type { ObjectEvent, Outcome } from "../reconcile/outcome";
import { describeChanges } from "../reconcile/report";
import type { RunRecord } from "./recorder";
import type { Message } from "./teller";

/**
 * What must be reported about a reconcile's outcome. Undefined: nothing.
 * @param record the record of the run, if it is recorded
 */
export function messageAbout(
  { report, verdict, events }: Outcome,
  { apiVersion, kind }: Resource,
  record: RunRecord | undefined,
): Message | undefined {
  const { uid, name, namespace, generation = 1, failure, changes } = report;
  if (uid === undefined) return undefined;
  const all: ObjectEvent[] = [...events];
  if (failure) all.push({ type: "Warning", reason: failure.reason, note: failure.message });
  else if (changes.length > 0)
    all.push({
      type: "Normal",
      reason: "Reconciled",
      note: describeChanges(changes, namespace),
      isInRecord: true,
    });
  if (!verdict && !record && all.length === 0) return undefined;
  return {
    regarding: { apiVersion, kind, metadata: { name, namespace, uid } },
    verdict: verdict && { verdict, generation },
    records: record ? [record] : [],
    events: all,
  };
}

/** A message with one Event about an object, apart from the outcomes of its reconciles. */
export function messageWith(
  event: ObjectEvent,
  { uid, ...name }: Owner,
  { apiVersion, kind }: Resource,
): Message {
  return {
    regarding: { apiVersion, kind, metadata: { ...name, uid } },
    verdict: undefined,
    records: [],
    events: [event],
  };
}

/** Says that an object is in a cycle with an object that it uses: each change of one changes the other. */
export function cycleWarning(what: string): ObjectEvent {
  const note = `this object uses ${what}, and each change of this object makes an operator change ${what}. Until this cycle ends, the object is reconciled less and less often`;
  return { type: "Warning", reason: "UseCycle", note };
}

/** Says that somebody else changes a child back each time, and names that writer. */
export function contestWarning(child: ChangedChild): ObjectEvent {
  // A watch that selects by the label shows a child without the label as deleted.
  const name = kindAndName(child.kind, child);
  const act =
    child.by === undefined
      ? `somebody deletes ${name}, or removes its label ${CHILD_OF_LABEL},`
      : `${child.by} changes ${name}`;
  const note = `${act} each time that the operator applies it. Until this ends, the operator corrects it less and less often`;
  return { type: "Warning", reason: "ChildContested", note, action: "Apply" };
}
