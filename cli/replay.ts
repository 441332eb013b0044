import { RUN_PARAMETERS } from "../runtime/argo/runParameters";
import { isOver, parameterOf, specOf, WORKFLOW_LABELS, WORKFLOWS } from "../runtime/argo/workflows";
import type { KubernetesClient } from "../runtime/kubernetes/client";
import type { KubernetesObject, Manifest } from "../runtime/kubernetes/objects";
import { OBJECT_UID_LABEL, OPERATOR_LABEL, RECONCILE_AT_ANNOTATION } from "../runtime/names";
import { CommandError, EXIT_CODES } from "./commandError";
import { formatRun } from "./inspect/formatRun";
import { installedOperators, kindsOf, tellLeftOut } from "./inspect/installed";
import { findRun, type Run, runOf } from "./inspect/runs";
import { withCluster } from "./inspect/session";
import { findTarget, type NamespaceOptions, readTarget } from "./inspect/target";
import { formatReference, referenceTo } from "./objectReference";
import type { ClusterOptions } from "./openCluster";
import { indent, print, progress, safe, styleFor } from "./terminal";
import { until } from "./until";

/** @see replay */
export interface ReplayOptions extends ClusterOptions, NamespaceOptions {
  /** Whether to wait for the run's end. */
  readonly wait: boolean;
  /** How long to wait, in seconds. */
  readonly timeout: number;
  readonly json?: true;
}

/**
 * `argosy replay RUN`: submits a recorded run again, so that its object is reconciled in its present state. For KIND/NAME it
 * requests a reconcile by an annotation of the object, which does not need Argo Workflows.
 *
 * @returns the exit code: 1 if the run fails
 * @throws DeadlineError if it does not end in time
 */
export async function replay(of: string, options: ReplayOptions): Promise<number> {
  return withCluster(options, async (client) => {
    if (of.includes("/")) return reconcile(client, of, options);
    const installed = await installedOperators(client);
    const run = await findRun(client, of, installed);
    const submitted = await submitAgain(client, run);
    tellLeftOut(installed);
    const kindOf = kindsOf(installed);
    if (!options.wait) return tell(runOf(submitted, kindOf), options);
    progress(`submitted ${submitted.metadata.name}, which ends when its operator has finished`);
    return tell(runOf(await ended(client, submitted, options.timeout), kindOf), options);
  });
}

async function reconcile(client: KubernetesClient, text: string, options: ReplayOptions): Promise<number> {
  const target = await findTarget(client, text, options);
  await readTarget(client, target);
  const at = new Date().toISOString();
  await client.mergePatch(target.resource, target.name, {
    metadata: { annotations: { [RECONCILE_AT_ANNOTATION]: at } },
  });
  const object = referenceTo(target.resource, target.name);
  print(
    options.json
      ? JSON.stringify({ object, reconcileAt: at })
      : `${formatReference(object)}: its operator will reconcile it at once`,
  );
  return EXIT_CODES.fine;
}

/**
 * Submits the same run again, as `argo resubmit` does: with the template and the parameters, but without the uid, because the
 * object may have been replaced meanwhile.
 */
async function submitAgain(client: KubernetesClient, run: KubernetesObject): Promise<KubernetesObject> {
  const { workflowTemplateRef } = specOf(run);
  const { namespace, labels = {} } = run.metadata;
  const kept = [OPERATOR_LABEL, OBJECT_UID_LABEL, WORKFLOW_LABELS.instanceId];
  const parameters = Object.values(RUN_PARAMETERS)
    .filter((name) => name !== RUN_PARAMETERS.uid)
    .map((name) => ({ name, value: parameterOf(run, name) }))
    .filter(({ value }) => value !== "");
  const manifest = {
    apiVersion: WORKFLOWS.apiVersion,
    kind: WORKFLOWS.kind,
    metadata: {
      generateName: `${workflowTemplateRef?.name ?? "run"}-again-`,
      namespace,
      labels: Object.fromEntries(Object.entries(labels).filter(([label]) => kept.includes(label))),
    },
    spec: { workflowTemplateRef, arguments: { parameters } },
  };
  return client.create(WORKFLOWS, manifest as unknown as Manifest);
}

async function ended(
  client: KubernetesClient,
  { metadata }: KubernetesObject,
  seconds: number,
): Promise<KubernetesObject> {
  return until(
    async () => {
      const now = await client.get(WORKFLOWS, metadata);
      if (!now) throw new CommandError(`The run ${metadata.name} was deleted before its end.`);
      return isOver(now) ? now : undefined;
    },
    {
      what: `the end of the run ${metadata.name}; argosy doctor checks the Workflow controller and the runner`,
      deadlineMs: seconds * 1_000,
      pollMs: 500,
    },
  );
}

function tell(run: Run, { json, wait }: ReplayOptions): number {
  print(json ? JSON.stringify(run) : formatRun(run, new Date(), styleFor(process.stdout)));
  if (!json && run.log) print(indent(safe(run.log)));
  return !wait || run.phase === "Succeeded" ? EXIT_CODES.fine : EXIT_CODES.failed;
}
