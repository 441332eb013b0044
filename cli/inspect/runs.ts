import { z } from "zod";
import { isRecord } from "../../runtime/base/json";
import { identityOf, OBJECT_UID_LABEL, OPERATOR_LABEL } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { compareTexts } from "../../runtime/base/text";
import {
  ifRefused,
  type KubernetesClient,
  named,
  parameterOf,
  RUN_PARAMETERS,
  specOf,
  statusOf,
  TIMINGS_OUTPUT,
  WORKFLOWS,
} from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { type KnownKind, OBJECT_REFERENCE, referenceTo } from "../common/objectReference";
import { kindInDev, runsInDev } from "./inDev";
import { homesOf } from "./installed";
import { type InstalledOperators, identityIn } from "./readInstalled";
import { listSeen, type Places, type Seen } from "./seen";

/** The schema of a {@link Run}. */
export const RUN = z.strictObject({
  name: z.string(),
  namespace: z.string().describe("The namespace of the run itself."),
  operator: z.string().optional().describe('The operator\'s name: "memcached".'),
  installation: z.string().optional(),
  object: OBJECT_REFERENCE.optional().describe("The object that the run is about. Left out for a trial."),
  phase: z.string().describe('"Pending", "Running", "Succeeded", "Failed" or "Error".'),
  startedAt: z.string().optional(),
  finishedAt: z.string().optional().describe("Left out while the run is in progress."),
  message: z.string().optional().describe("What its Workflow says, or why its pod waits."),
  reason: z.string().optional().describe("The reason of a failure, in one word."),
  log: z.string().optional().describe("The end of what the handler wrote to standard error."),
  timings: z
    .string()
    .optional()
    .describe("How long its steps took, a line each. Left out if this was not recorded."),
  traceId: z
    .string()
    .optional()
    .describe("The id of the run's trace, as 32 hexadecimal digits. Left out if it was not traced."),
});

/** A run of an operator, from its Workflow. */
export type Run = Readonly<z.infer<typeof RUN>>;

/** The kind of an operator's objects, by the operator's identity: a run contains only their names. */
export type KindOf = (identity: string) => KnownKind | undefined;

/** The selection of runs. */
export interface RunSelection {
  /** An object's uid. @default all */
  readonly uid?: string;
  /** Only the runs in this namespace. @default those of all namespaces */
  readonly namespace?: string | undefined;
  /** The namespaces of operators, where an account looks that may not list the runs of all namespaces. */
  readonly homes: readonly string[];
}

/** The runs that an account may list, and why there may be others. */
export interface SeenRuns extends Pick<Seen, "unseen"> {
  readonly runs: readonly Run[];
}

/**
 * Runs that are recorded as Workflows, and those of each `argosy dev` of this user with the cluster, the newest first. Without Argo
 * Workflows a cluster has none.
 * @throws ApiError, also if the account may list them nowhere
 */
export async function listRuns(
  client: KubernetesClient,
  { uid, namespace, homes }: RunSelection,
  kindOf: KindOf,
): Promise<SeenRuns> {
  const labels = [OPERATOR_LABEL];
  if (uid) labels.push(`${OBJECT_UID_LABEL}=${uid}`);
  const places = { scopes: [namespace], near: homes };
  const { objects, unseen } = await workflows(client, { labelSelector: labels.join(",") }, places);
  const inDev = (await runsInDev(client.server)).filter(
    ({ metadata }) => uid === undefined || metadata.labels?.[OBJECT_UID_LABEL] === uid,
  );
  const runs = [...objects, ...inDev]
    .map((workflow) => runOf(workflow, kindOf))
    .sort((one, other) => compareTexts(other.startedAt ?? "", one.startedAt ?? ""));
  return { runs, unseen };
}

/** Why a run may no longer exist. */
export const HOW_LONG_KEPT =
  "Runs are kept for an hour, and failed runs for a day, unless runsKeptSeconds and failedRunsKeptSeconds are set. In the form " +
  "pod only the newest failed run of an object is kept. Without Argo Workflows no runs are kept, except by argosy dev.";

/**
 * A run by its name, in any namespace. If several have this name, it is the one in the namespace of its operator: any user who may
 * create Workflows in another namespace can make up a run.
 * @throws CommandError if there is none, or if nothing says which one is real, as when the operator is made up too; ApiError, also
 *   if the account may list runs nowhere
 */
export async function findRun(
  client: KubernetesClient,
  name: string,
  installed: InstalledOperators,
): Promise<KubernetesObject> {
  const selection = { labelSelector: OPERATOR_LABEL, ...named(name) };
  const { objects, unseen } = await workflows(client, selection, { near: homesOf(installed) });
  const isAtHome = ({ metadata: { namespace, labels } }: KubernetesObject) =>
    installed.operators.some(
      (each) => each.home === namespace && identityOf(each) === labels?.[OPERATOR_LABEL],
    );
  const atHome = objects.filter(isAtHome);
  const inDev = (await runsInDev(client.server)).filter(({ metadata }) => metadata.name === name);
  const found = atHome.length > 0 ? atHome : [...objects, ...inDev];
  const [run, ...others] = found;
  if (others.length > 0) {
    const namespaces = found.map(({ metadata }) => metadata.namespace).join(" and ");
    throw new CommandError(
      `The namespaces ${namespaces} have a run ${name}, and only one of these can be real. Delete the others.`,
    );
  }
  if (run) return run;
  const none = unseen
    ? `Whether there is a run ${name} in this cluster is not known, because ${unseen}.`
    : `There is no run ${name} in this cluster.`;
  throw new CommandError(`${none} argosy runs lists those that exist. ${HOW_LONG_KEPT}`);
}

/** Workflows. None in a cluster without Argo Workflows, which does not serve the kind. */
function workflows(
  client: KubernetesClient,
  selection: { readonly labelSelector: string; readonly fieldSelector?: string },
  places: Places,
): Promise<Seen> {
  return listSeen(client, WORKFLOWS, selection, places).catch(ifRefused<Seen>(404, { objects: [] }));
}

/** The line of a run's timings that names its trace: see `timingText`. */
const TRACE = /^trace ([0-9a-f]{32})\n?/m;

/** A Workflow as a run. */
export function runOf(workflow: KubernetesObject, kindOf: KindOf): Run {
  const { metadata } = workflow;
  const { phase, message, nodes = {} } = statusOf(workflow);
  const waiting = Object.values(nodes).find((node) => node.phase === "Pending")?.message;
  const { startedAt, finishedAt } = (isRecord(workflow["status"]) ? workflow["status"] : {}) as {
    startedAt?: string;
    finishedAt?: string;
  };
  const timings = outputOf(workflow, TIMINGS_OUTPUT);
  const [namespace, name] = [RUN_PARAMETERS.namespace, RUN_PARAMETERS.name].map(
    (parameter) => parameterOf(workflow, parameter) || undefined,
  );
  const identity = metadata.labels?.[OPERATOR_LABEL] ?? "";
  const { installation, name: operator } = identityIn(identity) ?? {};
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? "",
    operator,
    installation,
    object:
      name === undefined
        ? undefined
        : referenceTo(kindOf(identity) ?? kindInDev(workflow) ?? {}, { namespace, name }),
    phase: specOf(workflow).shutdown && !phase ? "Terminating" : phase || "Pending",
    startedAt: startedAt ?? metadata.creationTimestamp,
    finishedAt: finishedAt || undefined,
    message: message || waiting || undefined,
    reason: outputOf(workflow, "reason") || undefined,
    log: outputOf(workflow, "log") || undefined,
    timings: timings.replace(TRACE, "") || undefined,
    // The label cannot be used, because a resubmitted run has the label of the first run.
    traceId: TRACE.exec(timings)?.[1],
  };
}

/** An output of a run, such as "generation"; "" if it has none of that name. */
export function outputOf(workflow: KubernetesObject, name: string): string {
  const outputs = Object.values(statusOf(workflow).nodes ?? {}).flatMap(parametersOf);
  return outputs.find((parameter) => parameter.name === name)?.value ?? "";
}

function parametersOf(node: object): { name: string; value: string }[] {
  const { outputs } = node as { outputs?: { parameters?: unknown } };
  const parameters: unknown[] = Array.isArray(outputs?.parameters) ? outputs.parameters : [];
  return parameters
    .filter(isRecord)
    .map(({ name, value }) => ({ name: String(name), value: value === undefined ? "" : String(value) }));
}
