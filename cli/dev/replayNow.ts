import { kindAndName, timeOf } from "../../runtime/base/objects";
import { buildRecordedRun } from "../../runtime/cli";
import { DEFAULT_HOME } from "../inspect/installed";
import { unknownSchedule } from "../inspect/schedule";
import type { Answer } from "./answer";
import type { DevRecord } from "./devRecord";
import type { Running } from "./workshop";

/**
 * Runs a schedule of an operator for an object now, in addition to its own times.
 * @param asked a `DevReplay`
 * @returns the run as a Workflow. None if no operator of the kind runs
 */
export async function replayNow(
  asked: Readonly<Record<string, unknown>>,
  running: readonly Running[],
  record: DevRecord,
): Promise<Answer> {
  const [kind, name, due] = [String(asked["kind"]), String(asked["name"]), String(asked["due"])];
  const ofKind = running.filter(
    ({ operator: { customResource } }) =>
      customResource.kind === kind && customResource.group === asked["group"],
  );
  const hasIt = ({ operator: { schedules = {} } }: Running) => Object.hasOwn(schedules, due);
  const found = ofKind.find(hasIt) ?? ofKind[0];
  if (!found) return { code: 200, json: {} };
  const { operator, controller } = found;
  if (!hasIt(found)) return { code: 400, text: unknownSchedule(operator, due) };
  const { namespace } = asked;
  const object = { name, ...(namespace !== undefined && { namespace: String(namespace) }) };
  try {
    const report = await controller.reconcileNow(object, { name: due, at: timeOf(new Date()) });
    if (report.skipped === "gone") return { code: 409, text: `${kindAndName(kind, object)} does not exist.` };
    const place = { namespace: DEFAULT_HOME, ...operator, instanceId: "", keptSeconds: 0 };
    // A definition may say that only failures are recorded.
    const unrecorded = () => buildRecordedRun({ name: report.id, report, finishedAt: new Date() }, place);
    return { code: 200, json: { run: record.runOf(report) ?? unrecorded() } };
  } catch (error) {
    return { code: 409, text: `${operator.name}: ${(error as Error).message}` };
  }
}
