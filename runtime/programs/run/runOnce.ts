import { annotated, WITHHOLD_ANNOTATION } from "../../base/names";
import { programOfRun } from "../../engine/dispatch/footprint";
import { HandlerPool } from "../../handler/handlerPool";
import type { HandlerTransport } from "../../handler/handlerTransport";
import { tryHandler } from "../../reconcile/trial";
import type { TraceExporter } from "../../report/traces/exporter";
import { WORKFLOWS } from "../../report/workflows";
import { resultOfError, triedAnswer } from "../workflows/runResult";
import { resourceOf, runTargetOf } from "../workflows/runTarget";
import { failed, ObjectRun, type ObjectRunOptions, type RunOutcome } from "./objectRun";
import { KIND_PATIENCE_MS, Patience } from "./patience";
import { RunFence } from "./runFence";
import { ServedKinds, withServedKind } from "./servedKinds";

/** What a run in a pod of its own works with. */
export interface RunOnceOptions extends ObjectRunOptions {
  readonly transport: HandlerTransport;
  /** Called at the beginning. Resolves when a handler can be started. If it rejects, the run fails. @default at once */
  readonly handlerReady?: () => Promise<void>;
  /** The Workflow that this pod belongs to, in {@link namespace}: its parameters say what to do. */
  readonly workflow: string;
  /** How often the run checks whether its Workflow still runs, see {@link RunFence}, in milliseconds. @default 10000 */
  readonly lookMs?: number;
  /** Traces its reconciles. @default none is traced */
  readonly traces?: TraceExporter | undefined;
}

/**
 * Does what the pod's Workflow asks for: reconciles the object that it names, with the same code as a resident runner,
 * or tries the handler on an example.
 *
 * `requeueAfterSeconds`, and the `retryAfterSeconds` of a failure, are honoured if that time falls within the run's patience. A later
 * time is remembered for the dispatcher.
 */
export async function runOnce(given: RunOnceOptions): Promise<RunOutcome> {
  const { client, transport, handlerReady, namespace, workflow: name } = given;
  const { handler, timeoutSeconds } = given.operator;
  const isFunction = "function" in handler;
  const pool = new HandlerPool({ transport, isFunction, timeoutMs: timeoutSeconds * 1000 });
  const patience = new Patience(given.patienceMs, given.signal);
  let fence: RunFence | undefined;
  try {
    const operator = await patience.retried(() => withServedKind(given.operator, client));
    let readAt = 0;
    const [workflow, kinds] = await Promise.all([
      patience.retried(() => {
        readAt = performance.now();
        return client.get(WORKFLOWS, { namespace, name });
      }),
      patience.retried(() => ServedKinds.of(operator, client, patience.atMost(KIND_PATIENCE_MS))),
      // The handler's start begins while the object is read.
      handlerReady?.().then(() => pool.warm()),
    ]);
    if (!workflow) return failed(`there is no Workflow ${name} in namespace ${namespace}`);
    fence = new RunFence({ client, workflow, readAt, lookMs: given.lookMs });
    const options = fenced({ ...given, operator }, fence);
    const fencedPool = fence.guard(pool);
    // The run finds out whether the operator handles the object outside of its namespaces when it reads the object.
    const target = runTargetOf(workflow, { ...operator, namespaces: "all" });
    if (target.kind === "trial") {
      const trial = { operator, childResources: kinds.found, pool: fencedPool };
      const { answer } = await tryHandler(trial, target.object, target.used);
      const { text, message } = triedAnswer(answer);
      return { exitCode: 0, message, answer: text };
    }
    return await new ObjectRun(target, options, {
      kinds,
      pool: fencedPool,
      fence,
      workflow: name,
      traces: given.traces,
      resource: resourceOf(operator.customResource),
      program: programOfRun(workflow),
      withholds: annotated(workflow.metadata, WITHHOLD_ANNOTATION),
    }).finish();
  } catch (error) {
    return failed(resultOfError(error).message);
  } finally {
    fence?.close();
    await pool.close();
  }
}

/** The same options, with requests that leave only as long as the fence is open, and waits that end with it. */
function fenced(options: RunOnceOptions, { assert, signal: ending }: RunFence): RunOnceOptions {
  const { client, signal } = options;
  return {
    ...options,
    client: client.with({ fence: assert }),
    signal: signal ? AbortSignal.any([signal, ending]) : ending,
  };
}
