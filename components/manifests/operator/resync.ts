import { type Manifest, type Operator, PENDING_SECONDS } from "../../../runtime/program";
import type { OperatorFiles } from "./configMaps";
import { buildResyncContainer } from "./containers";
import { resyncNameOf } from "./names";
import type { OperatorOptions } from "./options";
import { resyncSchedule } from "./resyncSchedule";
import { engineVolumes } from "./volumes";
import { podFields, workflowFields, workflowMetadata } from "./workflowParts";

/** How long it may take to look at all objects, and to submit what they need. In seconds. */
const RESYNC_SECONDS = 300;

/**
 * The WorkflowTemplate of the run that looks for objects which need one, in the form "pod". Its Workflows only refer
 * to it, since our Workflow controller takes no others (workflowRestrictions: templateReferencing Strict).
 */
export function buildResyncTemplate(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
): Manifest {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: workflowMetadata(operator, resyncNameOf(operator.name), options),
    spec: {
      ...workflowFields(operator, options),
      ...podFields(operator, "resync", options),
      entrypoint: "resync",
      serviceAccountName: resyncNameOf(operator.name),
      activeDeadlineSeconds: PENDING_SECONDS + RESYNC_SECONDS,
      templates: [
        {
          name: "resync",
          pendingTimeout: `${PENDING_SECONDS}s`,
          // No retries: the next one comes by itself.
          container: buildResyncContainer(options),
          volumes: engineVolumes(files),
        },
      ],
    },
  };
}

/**
 * The CronWorkflow that submits it, every `resyncSeconds` or somewhat more often: see {@link resyncSchedule}. It is
 * the one that mends what no event has told of, and that tries again what has failed.
 */
export function buildCronWorkflow(operator: Operator, options: OperatorOptions): Manifest {
  const name = resyncNameOf(operator.name);
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "CronWorkflow",
    metadata: workflowMetadata(operator, name, options),
    spec: {
      schedules: [resyncSchedule(operator.resyncSeconds)],
      concurrencyPolicy: "Forbid",
      // What a controller that was away has missed is made up for, once.
      startingDeadlineSeconds: operator.resyncSeconds,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 3,
      workflowSpec: { workflowTemplateRef: { name } },
    },
  };
}
