import type { ObjectName } from "../../../runtime/base/objects";
import type { ClearingUp } from "../../../runtime/reconcile/departures";
import type { ReconcileContext } from "../../../runtime/reconcile/run";
import { Timeline } from "../../../runtime/reconcile/timeline";
import type { ChildChange } from "../../../runtime/write/childWriter";

/** A run, as far as it clears up after objects that are gone. */
export function clearingUp(
  name: ObjectName,
  context: ReconcileContext,
  changes: ChildChange[] = [],
): ClearingUp {
  return { name, context, timeline: new Timeline(), changes, note: () => {} };
}
