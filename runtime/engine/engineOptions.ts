import type { Operator } from "../definition/definition";
import type { HandlerQuestion } from "../handler/contract";
import type { HandlerTransport } from "../handler/handlerTransport";
import type { ClusterConnection } from "../kubernetes/connection";
import type { ObjectName } from "../kubernetes/objects";
import type { Recorder } from "../outbox/recorder";
import type { ReconcileReport } from "../reconcile/report";
import type { Tracing } from "../traces/tracing";

/** What an engine runs and where, and the callbacks that it calls. */
export interface EngineOptions {
  readonly operator: Operator;
  readonly connection: ClusterConnection;
  readonly transport: HandlerTransport;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** Who this process is: unique among the operator's replicas. */
  readonly identity: string;
  /** The reporting instance in Kubernetes Events, at most 128 characters: the pod's name. @default `identity` */
  readonly instance?: string;
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds?: number;
  /** How often used Secrets are read again that no watch may show, in milliseconds. @default 60000 */
  readonly usedPollMs?: number;
  /** Called when the watch sees a change that a hint reports too. */
  readonly onChange?: (name: ObjectName, resourceVersion: string) => void;
  /** Called when the watch sees that an object is gone. */
  readonly onGone?: (name: ObjectName) => void;
  /** @see HeapBudgetOptions.most */
  readonly heapBudget?: number;
  /** How long the handler may take to answer a question, in milliseconds. @default the operator's `timeoutSeconds` */
  readonly timeoutMs?: (question: HandlerQuestion) => number;
  /** Records runs as Workflows. @default none is recorded */
  readonly recorder?: Recorder | undefined;
  /** Traces runs. @default none is traced */
  readonly traces?: Tracing | undefined;
  /** Called after each reconcile. `run` is the name of the Workflow that will record it, if one will. */
  readonly onReport?: (report: ReconcileReport, run?: string) => void;
  /** Called with a notice that no object shows, but that a user should know: a lost watch, a lost lease. */
  readonly onNotice?: (notice: string) => void;
}
