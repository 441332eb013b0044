import { randomBytes } from "node:crypto";
import { within } from "../../runtime/base/clock";
import { formatName } from "../../runtime/base/objects";
import { KubernetesClient, type Operator, type ReconcileReport } from "../../runtime/cli";
import { renewGarbageCollector } from "../cluster/garbageCollector";
import type { Cluster } from "../cluster/openCluster";
import { plain } from "../common/terminal";
import { formatReconcile } from "../local/reconcileLine";
import { runOperator } from "../local/runOperator";
import { Guest } from "./guest";
import { HandlerCopy } from "./handlerCopy";
import { type Audience, playScene, type StepResult } from "./scene";
import { readyOf, Stage } from "./stage";
import { steps } from "./steps";

/** The result of a performance. */
export interface Performance {
  readonly results: readonly StepResult[];
  /** If a step did not hold: the last messages of the cluster, the engine and the handler. */
  readonly diagnosis: readonly string[];
}

/** An audience that also gets progress notes. */
export interface SceneAudience extends Audience {
  notice(line: string): void;
}

/** Short, because the wait for the hanging handler is the scene's longest, but long enough for Python to start. */
const TIMEOUT_SECONDS = 2;
/** In a real cluster an image may have to be pulled first. */
const DEADLINE_MS = { users: 180_000, embedded: 30_000 };
const REPORTS_SHOWN = 8;
/** An API server that no longer answers must not hold up the end of the scene or of the engine. */
const LAST_LOOK_MS = 5_000;
const STOP_GRACE_MS = 5_000;

/**
 * Plays the scene with the real engine and a copy of Memcached's handler, in a namespace of its own, and removes in the user's
 * cluster everything that it has made, however it ends.
 *
 * @throws CommandError if the cluster has objects that the scene would change; the signal's reason
 */
export async function perform(
  cluster: Cluster,
  memcached: Operator,
  audience: SceneAudience,
  signal: AbortSignal,
): Promise<Performance> {
  const namespace = `argosy-scene-${randomBytes(3).toString("hex")}`;
  const handler = await HandlerCopy.of(memcached.folder);
  const client = new KubernetesClient(cluster.connection);
  const operator: Operator = {
    ...memcached,
    folder: handler.folder,
    namespaces: [namespace],
    finalize: true,
    timeoutSeconds: TIMEOUT_SECONDS,
  };
  try {
    const guest = cluster.isUsers ? await Guest.enter(client, operator, namespace) : undefined;
    try {
      return await playIn({ cluster, client, operator, namespace, handler, audience, signal });
    } finally {
      if (guest)
        audience.notice(`removing namespace ${namespace} and everything else that the scene has created`);
      const left = await guest?.leave();
      if (left !== undefined) audience.notice(left);
    }
  } finally {
    client.close();
    handler.remove();
  }
}

async function playIn(scene: {
  readonly cluster: Cluster;
  readonly client: KubernetesClient;
  readonly operator: Operator;
  readonly namespace: string;
  readonly handler: HandlerCopy;
  readonly audience: SceneAudience;
  readonly signal: AbortSignal;
}): Promise<Performance> {
  const { cluster, operator, namespace, audience, signal } = scene;
  const reports: ReconcileReport[] = [];
  const controller = await runOperator({
    operator,
    connection: cluster.connection,
    namespace,
    onReport: (report) => reports.push(report),
    onNotice: (notice) => audience.notice(`engine: ${notice}`),
    signal,
  });
  try {
    const deadlineMs = cluster.isUsers ? DEADLINE_MS.users : DEADLINE_MS.embedded;
    const client = scene.client.with({ signal });
    const stage = new Stage({ ...scene, client, controller, reports, deadlineMs });
    await Promise.all([renewGarbageCollector(cluster), stage.rehearse()]);
    const results = await playScene(steps, stage, audience, signal);
    const held = results.every((result) => result.held);
    return { results, diagnosis: held ? [] : await diagnose(stage, reports) };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await controller.stop(STOP_GRACE_MS);
  }
}

async function diagnose(stage: Stage, reports: readonly ReconcileReport[]): Promise<string[]> {
  const objects = (await within(LAST_LOOK_MS, stage.memcacheds()).catch(() => undefined)) ?? [];
  return [
    ...objects.map((object) => {
      const { status = "none", reason = "", message = "" } = readyOf(object) ?? {};
      return `Memcached ${object.metadata.name}: Ready ${status} ${reason} ${message}`.trimEnd();
    }),
    "the last reconciles:",
    ...reports
      .slice(-REPORTS_SHOWN)
      .map((report) => formatReconcile(report, plain) ?? `skipped ${formatName(report)}: ${report.skipped}`),
  ];
}
