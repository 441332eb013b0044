import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { leadingPod } from "../leader";
import { persist } from "../persist";
import type { Administrator } from "./administrator";
import { type Execution, operatorOf } from "./program";

/** Where operators live and where Argo's controllers do, and the name of the event path: the defaults. */
export const NAMESPACE = "argosy";
export const CONTROLLER_NAMESPACE = "argosy-system";
const EVENT_PATH = "argosy";
const COMES_WITHIN_MS = 30_000;
const POLL_MS = 250;
const PATIENCE_MS = 60_000;

/** Pods of what `pulumi up` made, as they are at a time. */
export type Pods = () => Promise<readonly KubernetesObject[]>;

/** The parts of an installation that things go wrong with. Each throws where nothing of it is there. */
export interface Parts {
  readonly eventSource: Pods;
  readonly sensor: Pods;
  readonly eventBus: Pods;
  readonly keeper: Pods;
  readonly eventsController: Pods;
  readonly workflowController: Pods;
  readonly runners: Pods;
  readonly leader: Pods;
  readonly standby: Pods;
  /** Pods in which one object each is reconciled, now. */
  readonly runs: Pods;
}

/** Finds the parts that an operator stands on. */
export function partsOf(administrator: Administrator, execution: Execution): Parts {
  const operator = operatorOf(execution);
  const labelled =
    (namespace: string, name: string, component: string): Pods =>
    async () => {
      const selector = `app.kubernetes.io/name=${name},app.kubernetes.io/component=${component}`;
      return some(await read(() => administrator.pods(namespace, selector)), `${name} ${component}`);
    };
  const runners = labelled(NAMESPACE, operator, "runner");
  const runnersThat = (leads: boolean): Pods => {
    return async () => {
      const leader = await read(() => leadingPod(administrator.client, { namespace: NAMESPACE, operator }));
      const chosen = (await runners()).filter(({ metadata }) => (metadata.name === leader) === leads);
      return some(chosen, leads ? "leader" : "standby");
    };
  };
  return {
    eventSource: labelled(NAMESPACE, EVENT_PATH, "event-source"),
    sensor: labelled(NAMESPACE, EVENT_PATH, "sensor"),
    eventBus: labelled(NAMESPACE, EVENT_PATH, "event-bus"),
    keeper: labelled(NAMESPACE, EVENT_PATH, "keeper"),
    eventsController: labelled(CONTROLLER_NAMESPACE, "argo-events", "controller"),
    workflowController: labelled(CONTROLLER_NAMESPACE, "argo-workflows", "controller"),
    runners,
    leader: runnersThat(true),
    standby: runnersThat(false),
    runs: soon(labelled(NAMESPACE, operator, "run")),
  };
}

/** Those that several parts have together. */
export function together(...parts: readonly Pods[]): Pods {
  return async () => (await Promise.all(parts.map((pods) => pods()))).flat();
}

/** In spite of an API server that another fault keeps from answering. */
function read<Result>(work: () => Promise<Result>): Promise<Result> {
  return persist(work, { patienceMs: PATIENCE_MS, signal: new AbortController().signal });
}

/** Pods that come and go: those that are there next. */
function soon(pods: Pods): Pods {
  return async () => {
    for (const deadline = Date.now() + COMES_WITHIN_MS; ; await pause(POLL_MS)) {
      try {
        return await pods();
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  };
}

function some(pods: readonly KubernetesObject[], what: string): readonly KubernetesObject[] {
  if (pods.length === 0) throw new Error(`no pod of the ${what} is there`);
  return pods;
}
