import { isFailure, statusOf, WORKFLOWS } from "../../argo/workflows";
import { ReconcileFailure } from "../../failure";
import type { KubernetesClient } from "../../kubernetes/client";
import { ApiUnreachableError } from "../../kubernetes/errors";
import { formatName, type KubernetesObject, type ObjectName } from "../../kubernetes/objects";
import { createdAt, type EndedRuns, hasFailed } from "./endedRuns";
import type { RunReporter } from "./runReporter";

/** The runs to look at, and the reporter. */
export interface SilentRunsOptions extends Pick<EndedRuns, "last"> {
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  readonly reporter: RunReporter;
  /** Called for each object on which nothing could be reported. */
  readonly onError?: (what: string, error: Error) => void;
}

/** An object, and when its verdict was written last. Its last run may not have been reported. */
export interface JudgedObject extends ObjectName {
  readonly uid: string;
  /**
   * Whether a failed run is reported on it. Nothing is reported on an object that is gone, or is handled only to let it go, or
   * that cannot be read well enough to say when it was written to.
   */
  readonly isReportedOn: boolean;
  /** When we wrote the object's verdict last, as RFC 3339. */
  readonly verdictAt: string | undefined;
}

/**
 * Reports on objects whose last run failed before it could report: its pod did not start, was lost or killed, or took
 * longer than it may. Otherwise nobody would learn that there was a run.
 *
 * @returns the uids of these objects
 * @throws ApiUnreachableError
 */
export async function reportSilentRuns(
  objects: readonly JudgedObject[],
  options: SilentRunsOptions,
): Promise<ReadonlySet<string>> {
  const { client, namespace, reporter, last } = options;
  const reported = new Set<string>();
  for (const object of objects) {
    const latest = last.get(object.uid);
    if (!latest || !isSilent(latest, object)) continue;
    try {
      const workflow = await client.get(WORKFLOWS, { namespace, name: latest.metadata.name });
      if (!workflow) continue;
      const failure = new ReconcileFailure("RunFailed", whyFailed(workflow));
      if (await reporter.report(object, workflow.metadata.name, failure)) reported.add(object.uid);
    } catch (error) {
      if (error instanceof ApiUnreachableError) throw error;
      options.onError?.(`the failed run of ${formatName(object)}`, error as Error);
    }
  }
  return reported;
}

/** Whether the run failed, and nobody has written the object's verdict since then. RFC 3339 in UTC sorts as text. */
function isSilent(run: KubernetesObject, { isReportedOn, verdictAt = "" }: JudgedObject): boolean {
  return isReportedOn && hasFailed(run) && verdictAt < createdAt(run);
}

/**
 * The message of the Workflow, which may only be that its time was up, and then the last message of the engine's
 * container.
 */
function whyFailed(workflow: KubernetesObject): string {
  const { message, nodes = {} } = statusOf(workflow);
  const engine = Object.values(nodes).find((node) => node.displayName === "main" && isFailure(node.phase));
  const words = new Set([message, engine?.message].filter((word) => word));
  return `the object's run failed before it could report a result: ${[...words].join("; ") || "its Workflow does not say why"}`;
}
