import { DEFAULT_INSTALLATION } from "../../../runtime/base/names";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { leadingPod } from "../leader";
import { NotYetError, persist } from "../persist";
import type { Administrator } from "./administrator";
import { type Execution, operatorOf } from "./program";

/** The defaults: the namespaces of operators and of Argo's controllers, and the name of the event path. */
export const NAMESPACE = "argosy";
export const CONTROLLER_NAMESPACE = "argosy-system";
const EVENT_PATH = "argosy";
const PATIENCE_MS = 60_000;

/** The present pods of a part of the installation. */
export type Pods = () => Promise<readonly KubernetesObject[]>;

/** The parts of an installation that faults affect. Each throws if it has no pods and gets none. */
export interface Parts {
  readonly eventSource: Pods;
  readonly sensor: Pods;
  readonly eventBus: Pods;
  readonly keeper: Pods;
  readonly argoEventsController: Pods;
  readonly workflowController: Pods;
  readonly runners: Pods;
  readonly leader: Pods;
  readonly standby: Pods;
  /** The present pods that each reconcile one object. */
  readonly runs: Pods;
}

/** Finds the parts that an operator needs. */
export function partsOf(administrator: Administrator, execution: Execution): Parts {
  const operator = operatorOf(execution);
  const labelled =
    (namespace: string, name: string, component: string): Pods =>
    async () => {
      const selection = `app.kubernetes.io/name=${name},app.kubernetes.io/component=${component}`;
      return some(await administrator.pods(namespace, selection), `${name} ${component}`);
    };
  const runners = labelled(NAMESPACE, operator, "runner");
  const runnersThat =
    (leads: boolean): Pods =>
    async () => {
      const holder = await leadingPod(administrator.client, {
        namespace: NAMESPACE,
        operator: { installation: DEFAULT_INSTALLATION, name: operator },
      });
      const all = await runners();
      const isLeader = ({ metadata }: KubernetesObject) => metadata.name === holder;
      // The lease of a leader that was killed or replaced names this leader until it expires.
      const leader = some(all.filter(isLeader), "leader");
      return leads
        ? leader
        : some(
            all.filter((pod) => !isLeader(pod)),
            "standby",
          );
    };
  return {
    eventSource: soon(labelled(NAMESPACE, EVENT_PATH, "event-source")),
    sensor: soon(labelled(NAMESPACE, EVENT_PATH, "sensor")),
    eventBus: soon(labelled(NAMESPACE, EVENT_PATH, "event-bus")),
    keeper: soon(labelled(NAMESPACE, EVENT_PATH, "keeper")),
    argoEventsController: soon(labelled(CONTROLLER_NAMESPACE, "argo-events", "controller")),
    workflowController: soon(labelled(CONTROLLER_NAMESPACE, "argo-workflows", "controller")),
    runners: soon(runners),
    leader: soon(runnersThat(true)),
    standby: soon(runnersThat(false)),
    runs: soon(labelled(NAMESPACE, operator, "run")),
  };
}

/** The pods of several parts together. */
export function together(...parts: readonly Pods[]): Pods {
  return async () => (await Promise.all(parts.map((pods) => pods()))).flat();
}

/** Retries until something is found, although another fault may keep the API server from answering. */
export function soon<Found>(find: () => Promise<Found>): () => Promise<Found> {
  return () => persist(find, { patienceMs: PATIENCE_MS });
}

function some(pods: readonly KubernetesObject[], what: string): readonly KubernetesObject[] {
  if (pods.length === 0) throw new NotYetError(`there is no pod of the ${what}`);
  return pods;
}
