import type { ObjectName } from "../base/objects";
import type { HandlerQuestion } from "../handler/contract";
import type { HandlerTransport } from "../handler/handlerTransport";
import type { ClusterConnection } from "../kubernetes/connection";
import type { Operator } from "../operator/definition";
import type { ReconcileReport } from "../reconcile/report";
import type { Recorder } from "../report/runRecorder";
import type { TraceExporter } from "../report/traces/exporter";

/** What an engine runs and where, and the callbacks that it calls. */
export interface EngineOptions {
  readonly operator: Operator;
  readonly connection: ClusterConnection;
  /** How the handler is asked. Undefined if runs in pods ask it: see {@link runs}. */
  readonly transport?: HandlerTransport | undefined;
  /**
   * Runs in pods of their own reconcile the objects, and this engine begins their Workflows, with the Workflow controller's instance id;
   * "" for none. @default it reconciles by itself
   */
  readonly runs?: { readonly instanceId: string } | undefined;
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
  /**
   * What tells this program from every other: another engine, handler or environment has another text. Without it, a new process
   * of an operator with `ask: changed` asks about every object. @default unknown
   */
  readonly program?: string | undefined;
  /** Called when the watch sees a change that a hint reports too. */
  readonly onChange?: (name: ObjectName, resourceVersion: string) => void;
  /** Called when the watch sees that an object is gone. */
  readonly onGone?: (name: ObjectName) => void;
  /** How much of large objects may be in memory at once, in characters of JSON: see `HeapBudget` */
  readonly heapBudget?: number;
  /** How long the handler may take to answer a question, in milliseconds. @default the operator's `timeoutSeconds` */
  readonly timeoutMs?: (question: HandlerQuestion) => number;
  /** Records runs as Workflows. @default none is recorded */
  readonly recorder?: Recorder | undefined;
  /** Traces runs. @default none is traced */
  readonly traces?: TraceExporter | undefined;
  /** Called after each reconcile. `run` is the name of the Workflow that will record it, if one will. */
  readonly onReport?: (report: ReconcileReport, run?: string) => void;
  /** Called with a notice that no object shows, but that a user should know: a lost watch, a lost lease. */
  readonly onNotice?: (notice: string) => void;
}
