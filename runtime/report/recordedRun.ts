import { identityOf, OPERATOR_LABEL, objectLabelsOf, TRACE_ID_LABEL } from "../base/names";
import { type Manifest, timeOf } from "../base/objects";
import { clean } from "../base/text";
import type { Operator } from "../operator/definition";
import { describeChanges, type ReconcileReport } from "../reconcile/report";
import { timingText } from "./traces/spans";
import {
  instanceLabel,
  type Parameter,
  RECONCILE_TEMPLATE,
  RUN_PARAMETERS,
  TIMINGS_OUTPUT,
  WORKFLOW_LABELS,
  WORKFLOWS,
  workflowTemplateOf,
} from "./workflows";

/** The facts about a recorded run that its report does not have. */
export interface RecordedRun {
  /** The Workflow's name. */
  readonly name: string;
  readonly report: ReconcileReport;
  readonly finishedAt: Date;
  /** How many runs this one stands for: see `RunRecorder`. @default 1 */
  readonly runs?: number | undefined;
}

/** Where, and for how long, a run is recorded. */
export interface RecordingPlace {
  readonly namespace: string;
  /** The operator's installation: see `identityOf`. */
  readonly installation: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
  /** After how many seconds the Workflow controller deletes it. */
  readonly keptSeconds: number;
  /** Whether the Workflow controller has an archive, to which it writes a run before it deletes it. @default false */
  readonly archive?: boolean | undefined;
}

/** How much of a message, of a list of changes and of a log a record carries: it is a line of a table, not a file. */
const LONGEST_MESSAGE = 1024;
const LONGEST_OUTPUT = 8 * 1024;

/**
 * Whether a run is recorded. A run that did nothing is not recorded, and neither is a run that could not reach the API server. A
 * success after a failure is recorded even if it changed nothing, because the object's conditions change.
 */
export function isRecorded(report: ReconcileReport, policy: Operator["record"]): boolean {
  const { result, failure, changes, due = [], attempt } = report;
  if (failure) return true;
  if (policy === "failures") return false;
  // The object changed during the run, or another process leads. The changes that the run made before that still count.
  if (result === "skipped") return changes.length > 0;
  if (policy === "all") return true;
  return changes.length > 0 || due.length > 0 || attempt > 1 || hasFinalized(report);
}

/** Whether the object goes: neither its handler nor its children hold it any more. */
function hasFinalized({ event, againAfterMs, ready }: ReconcileReport): boolean {
  return event === "finalize" && againAfterMs === undefined && ready !== false;
}

/**
 * A run as a Workflow that has completed already. It takes one POST. Argo's own views show the Workflow, and its controller does
 * nothing with it until its end (`reconciliationNeeded` and `common.IsDone` of argo-workflows v4.1.2 go by the labels).
 *
 * The Workflow carries only namespace, name and uid of the object. A resubmitted run takes over spec, labels and annotations
 * (`FormulateResubmitWorkflow`), and Argo replaces `{{...}}` in everything that it runs. The messages are in the status, which
 * Argo only shows.
 */
export function buildRecordedRun(run: RecordedRun, place: RecordingPlace): Manifest {
  const { name, report, finishedAt } = run;
  const { operator, namespace = "", uid = "" } = report;
  const phase = report.failure ? "Failed" : "Succeeded";
  const template = workflowTemplateOf(operator);
  const summary = {
    phase,
    startedAt: timeOf(new Date(finishedAt.getTime() - report.durationMs)),
    finishedAt: timeOf(finishedAt),
    message: describeRun(report, run.runs),
    progress: "1/1",
  };
  const node = {
    ...summary,
    id: name,
    name,
    displayName: name,
    type: "Plugin",
    templateName: RECONCILE_TEMPLATE,
    templateScope: "local/",
    outputs: { parameters: outputsOf(report) },
  };
  const parameters: Parameter[] = [
    { name: RUN_PARAMETERS.namespace, value: namespace },
    { name: RUN_PARAMETERS.name, value: report.name },
    { name: RUN_PARAMETERS.uid, value: uid },
  ];
  return {
    apiVersion: WORKFLOWS.apiVersion,
    kind: WORKFLOWS.kind,
    metadata: {
      name,
      namespace: place.namespace,
      labels: {
        [WORKFLOW_LABELS.completed]: "true",
        [WORKFLOW_LABELS.phase]: phase,
        [WORKFLOW_LABELS.template]: template,
        ...instanceLabel(place.instanceId),
        ...(place.archive && { [WORKFLOW_LABELS.archiving]: "Pending" }),
        [OPERATOR_LABEL]: identityOf({ installation: place.installation, name: operator }),
        ...(uid && objectLabelsOf(uid)),
        ...(report.traceId !== undefined && { [TRACE_ID_LABEL]: report.traceId }),
      },
    },
    spec: {
      workflowTemplateRef: { name: template },
      arguments: { parameters },
      ttlStrategy: { secondsAfterCompletion: place.keptSeconds },
    },
    status: { ...summary, nodes: { [name]: node } },
  };
}

/** What a run did, in one line: what failed, what was created, patched and pruned. */
export function describeRun(report: ReconcileReport, runs = 1): string {
  const { failure, changes, due = [], skipped, namespace, event } = report;
  const done = describeChanges(changes, namespace);
  const wasDue = due.length > 0 ? `${due.join(", ")} due` : "";
  const ended = hasFinalized(report) ? "finalized" : "not finalized yet";
  const nothing = event === "finalize" ? ended : "nothing to change";
  const parts = failure
    ? [`${failure.reason}: ${failure.message}`, done && `before that: ${done}`, wasDue]
    : [done || nothing, skipped ?? "", wasDue];
  const message = parts.filter((part) => part !== "").join("; ");
  return clean(runs > 1 ? `${runs} runs: ${message}` : message, LONGEST_MESSAGE);
}

/** The outputs of a run: the agreed parameters, all of them text. */
export function outputsOf(report: ReconcileReport): Parameter[] {
  const { changes, namespace, generation, durationMs, failure, log, event } = report;
  const changed = (...verbs: (typeof changes)[number]["verb"][]) =>
    clean(
      describeChanges(
        changes.filter(({ verb }) => verbs.includes(verb)),
        namespace,
      ),
      LONGEST_OUTPUT,
    );
  return [
    { name: "created", value: changed("created", "recreated") },
    { name: "patched", value: changed("patched", "adopted") },
    { name: "pruned", value: changed("deleted") },
    { name: "event", value: event },
    { name: "generation", value: generation === undefined ? "" : String(generation) },
    { name: "durationMs", value: String(Math.round(durationMs)) },
    { name: "reason", value: failure?.reason ?? "" },
    { name: "log", value: endOfLog(log) },
    { name: TIMINGS_OUTPUT, value: clean(timingText([report]), LONGEST_OUTPUT) },
  ];
}

/** The end of a log, where the error is. */
export function endOfLog(log: string): string {
  // The cut may leave half of a character.
  return clean(log.slice(-LONGEST_OUTPUT).replace(/^\p{Cs}/u, ""), LONGEST_OUTPUT);
}
