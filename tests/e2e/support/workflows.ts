import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { instanceLabel, WORKFLOW_LABELS, WORKFLOWS } from "../../../runtime/report/workflows";
import type { Reference } from "../../../tools/objects";
import { session } from "./hooks";
import { waitFor } from "./progress";
import { NAMESPACE } from "./session";

const INSTANCE_ID = "argosy";

/** A Workflow's status, as far as it is looked at here. */
export interface RunStatus {
  readonly phase?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly nodes?: Readonly<
    Record<string, { outputs?: { parameters?: { name: string; value?: string }[] } }>
  >;
}

/** A Workflow of the operators' namespace. */
export function runOf(name: string): Reference {
  return { apiVersion: WORKFLOWS.apiVersion, kind: WORKFLOWS.kind, metadata: { name, namespace: NAMESPACE } };
}

export function statusOf(workflow: KubernetesObject): RunStatus {
  return (workflow["status"] ?? {}) as RunStatus;
}

/** An output of any of a run's nodes. */
export function outputOf(status: RunStatus, name: string): string | undefined {
  const parameters = Object.values(status.nodes ?? {}).flatMap(({ outputs }) => outputs?.parameters ?? []);
  return parameters.find((parameter) => parameter.name === name && parameter.value)?.value;
}

/** Submits a Workflow of a template, as `argo submit --from workflowtemplate/…` does. Gives its name. */
export function submit(operator: string, parameters: Readonly<Record<string, string>>): Promise<string> {
  const given = Object.entries(parameters).map(([name, value]) => ({ name, value }));
  return create(operator, {}, { workflowTemplateRef: { name: operator }, arguments: { parameters: given } });
}

/** Submits a run again, as `argo resubmit` does: its specification, in a new Workflow. Gives its name. */
export async function resubmit(run: string): Promise<string> {
  const { spec } = await session().api.get(runOf(run));
  return create(run, { "workflows.argoproj.io/resubmitted-from-workflow": run }, spec);
}

let created = 0;

async function create(hint: string, labels: Record<string, string>, spec: unknown): Promise<string> {
  const { metadata, ...kind } = runOf(`${hint.slice(0, 40)}-by-hand-${++created}`);
  const own = { ...labels, ...instanceLabel(INSTANCE_ID) };
  await session().api.create({ ...kind, metadata: { ...metadata, labels: own }, spec });
  return metadata.name;
}

/** Waits for a run's end, which must be a failure whose message says why. */
export function fails(run: string, why: RegExp): Promise<RunStatus> {
  return waitFor(`run ${run} to fail`, async () => {
    const status = statusOf(await session().api.get(runOf(run)));
    assert.equal(status.phase, "Failed", status.message);
    assert.match(status.message ?? "", why);
    return status;
  });
}

/** Waits for a run's end, which must be a success. */
export function succeeds(run: string): Promise<RunStatus> {
  return waitFor(`run ${run} to succeed`, async () => {
    const workflow = await session().api.get(runOf(run));
    const status = statusOf(workflow);
    assert.equal(status.phase, "Succeeded", status.message);
    assert.equal(workflow.metadata.labels?.[WORKFLOW_LABELS.completed], "true");
    return status;
  });
}
