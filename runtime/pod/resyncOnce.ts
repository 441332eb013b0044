import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { runName } from "../argo/runName";
import { resourceOf } from "../argo/runTarget";
import { instanceLabel, parameterOf, WORKFLOWS, workflowTemplateOf } from "../argo/workflows";
import type { Operator } from "../definition/definition";
import type { KubernetesClient } from "../kubernetes/client";
import { formatName, type KubernetesObject, type Manifest } from "../kubernetes/objects";
import {
  annotated,
  fieldManagerOf,
  finalizerManagerOf,
  identityOf,
  OBJECT_UID_LABEL,
  OPERATOR_LABEL,
  PAUSED_ANNOTATION,
} from "../names";
import { keyOf } from "../objectKey";
import { Finalizers } from "../reconcile/finalizers";
import { RUN_PARAMETERS } from "./layout";
import { deleteRuns, eachLiveRun, type LiveRunsOptions } from "./liveRuns";
import { tellOfSilentRuns, type Unaware } from "./silentRuns";
import { strandedRuns } from "./strandedRuns";

/** What a resync works with. */
export interface ResyncOptions extends LiveRunsOptions {
  /** The pod's name. */
  readonly instance: string;
  /** Told of each run that could not be submitted; the others are all the same. */
  readonly onError?: (object: string, error: Error) => void;
  /** For how long runs are submitted, in milliseconds. @default 240000 */
  readonly withinMs?: number;
  /** How often it looks whether runs have ended, in milliseconds. @default 2000 */
  readonly lookMs?: number;
  /** See {@link strandedRuns}. */
  readonly untouchedMs?: number;
  readonly signal?: AbortSignal;
}

/** What became of the operator's objects. */
export interface ResyncResult {
  /** Runs submitted. */
  readonly submitted: number;
  /** Objects that had a run already. */
  readonly running: number;
  /** Objects whose turn did not come. */
  readonly left: number;
  /** Runs that could not be submitted. */
  readonly failed: number;
}

/** An object that needs a run. */
interface Candidate extends Unaware {
  /** Something of it is known to be undone: its turn comes before the others'. */
  readonly urgent: boolean;
}

/** Less than its pod may take: RESYNC_SECONDS in components/manifests/operator/resync.ts. */
const WITHIN_MS = 240_000;
const LOOK_MS = 2_000;

/**
 * Submits a run for every object of the operator that has none going on: drift shows only to who looks. Before that, it
 * deletes the runs that will not begin, and tells those whose last run failed without a word. Those that are
 * being deleted, were never reconciled or have changed since come first, the others in no order, so that no one is always the last.
 *
 * Never more than `concurrency` runs of the operator go on at once, whoever submitted them: thousands of objects make no
 * flood of pods. What does not get its turn within `withinMs` is left to the next resync.
 *
 * @throws ApiError, ApiUnreachableError where objects or runs cannot be listed
 */
export async function resyncOnce(options: ResyncOptions): Promise<ResyncResult> {
  const { operator, client, withinMs = WITHIN_MS, lookMs = LOOK_MS, signal } = options;
  const until = performance.now() + withinMs;
  const candidates = inOrder(await listCandidates(client, operator));
  let live = await withoutStranded(options);
  const waiting = candidates.filter((candidate) => !live.has(keyOf(candidate)));
  const resource = resourceOf(operator.customResource);
  // It is no reason to submit none.
  await tellOfSilentRuns(waiting, { ...options, resource }).catch((error: Error) =>
    options.onError?.("runs that failed", error),
  );
  const running = candidates.length - waiting.length;
  let [submitted, failed] = [0, 0];
  while (waiting.length > 0 && !signal?.aborted) {
    const room = Math.max(0, operator.concurrency - live.size);
    for (const candidate of waiting.splice(0, room)) {
      // An event has been quicker.
      if (live.has(keyOf(candidate))) continue;
      try {
        await client.create(WORKFLOWS, runOf(candidate, options));
        submitted++;
      } catch (error) {
        failed++;
        options.onError?.(formatName(candidate), error as Error);
      }
    }
    if (waiting.length === 0 || performance.now() + lookMs > until) break;
    await pause(lookMs, undefined, { ...(signal && { signal }) }).catch(() => {});
    live = await liveObjects(options);
  }
  return { submitted, running, left: waiting.length, failed };
}

/** Every object that a run could do something about. Metadata says enough, and an object may be large. */
async function listCandidates(client: KubernetesClient, operator: Operator): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  const finalizers = new Finalizers(resourceOf(operator.customResource), operator);
  const scopes =
    operator.namespaces === "all" || !operator.customResource.namespaced ? [undefined] : operator.namespaces;
  for (const namespace of scopes) {
    const selection = { metadataOnly: true, ...(namespace !== undefined && { namespace }) };
    await client.list(resourceOf(operator.customResource), selection, (items) => {
      candidates.push(...items.flatMap((object) => candidateOf(object, operator, finalizers) ?? []));
    });
  }
  return candidates;
}

function candidateOf(
  object: KubernetesObject,
  operator: Operator,
  finalizers: Finalizers,
): Candidate | undefined {
  const { metadata } = object;
  const { namespace, name, uid, deletionTimestamp } = metadata;
  if (annotated(metadata, PAUSED_ANNOTATION)) return undefined;
  if (deletionTimestamp && !finalizers.forHandler(object) && !finalizers.forElsewhere(object))
    return undefined;
  const toldAt = toldAtOf(metadata, operator);
  const urgent = deletionTimestamp !== undefined || isUnseen(metadata, operator, toldAt);
  return { namespace, name, uid, toldAt, urgent };
}

/** When we wrote the object's status last, as far as `managedFields` tells. */
function toldAtOf(
  { managedFields = [] }: KubernetesObject["metadata"],
  operator: Operator,
): string | undefined {
  const manager = fieldManagerOf(operator);
  return managedFields.find((entry) => entry.manager === manager && entry.subresource === "status")?.time;
}

/** Whether somebody has written to the object since. */
function isUnseen(
  { managedFields = [] }: KubernetesObject["metadata"],
  operator: Operator,
  toldAt: string | undefined,
): boolean {
  const ours = [fieldManagerOf(operator), finalizerManagerOf(operator)];
  const theirs = managedFields.filter(
    ({ manager = "", subresource }) => !ours.includes(manager) && !subresource,
  );
  // RFC 3339 in UTC sorts as text.
  return !toldAt || theirs.some(({ time = "" }) => time > toldAt);
}

function inOrder(candidates: readonly Candidate[]): Candidate[] {
  const shuffled = candidates.map((candidate) => ({
    candidate,
    at: Math.random() - Number(candidate.urgent),
  }));
  return shuffled.sort((a, b) => a.at - b.at).map(({ candidate }) => candidate);
}

/** As {@link liveObjects}, once the runs that will not begin are deleted. */
async function withoutStranded(options: ResyncOptions): Promise<Set<string>> {
  // They are given up sooner or later without us.
  const tell = (error: Error) => options.onError?.("stranded runs", error);
  const isStranded = await strandedRuns(options).catch(tell);
  const objects = new Set<string>();
  const stranded: KubernetesObject[] = [];
  await eachLiveRun(options, (run) => {
    if (isStranded?.(run)) stranded.push(run);
    else objects.add(objectOf(run));
  });
  try {
    await deleteRuns(options.client, stranded);
  } catch (error) {
    tell(error as Error);
    return liveObjects(options);
  }
  return objects;
}

/**
 * The objects that the operator's runs which have not ended are about: no more of them go on at once, since each object
 * has one lock.
 */
async function liveObjects(options: ResyncOptions): Promise<Set<string>> {
  const objects = new Set<string>();
  await eachLiveRun(options, (run) => objects.add(objectOf(run)));
  return objects;
}

/** The object that a run is about, as a key. */
function objectOf(run: KubernetesObject): string {
  const name = parameterOf(run, RUN_PARAMETERS.name);
  const namespace = parameterOf(run, RUN_PARAMETERS.namespace) || undefined;
  return keyOf({ namespace, name });
}

function runOf(object: Candidate, { operator, namespace, instanceId }: ResyncOptions): Manifest {
  return {
    apiVersion: WORKFLOWS.apiVersion,
    kind: WORKFLOWS.kind,
    metadata: {
      name: runName(operator.name, object, [randomUUID()]),
      namespace,
      labels: {
        ...instanceLabel(instanceId),
        [OPERATOR_LABEL]: identityOf(operator),
        [OBJECT_UID_LABEL]: object.uid,
      },
    },
    spec: {
      workflowTemplateRef: { name: workflowTemplateOf(operator.name) },
      arguments: {
        parameters: [
          { name: RUN_PARAMETERS.namespace, value: object.namespace ?? "" },
          { name: RUN_PARAMETERS.name, value: object.name },
          { name: RUN_PARAMETERS.uid, value: object.uid },
        ],
      },
    },
  };
}
