import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { runnerNameOf } from "../../components/manifests/names";
import { checkCommand } from "../../definition/commandOnPath";
import type { ObjectName } from "../../runtime/base/objects";
import {
  type ClusterConnection,
  type EngineOptions,
  type HandlerQuestion,
  type HandlerTransport,
  handlerAccountOf,
  type Operator,
  type ReconcileReport,
} from "../../runtime/cli";
import { Engine } from "../../runtime/engine/engine";
import { withLoginRemedy } from "../cluster/loginRemedy";
import { withClient } from "../cluster/openCluster";
import type { Containers } from "../containers/containers";
import { secondsInImage } from "../containers/patience";
import { type HandlerAccount, openHandlerAccount } from "../handler/handlerAccount";
import { handlerEnvironment } from "../handler/handlerEnvironment";
import { localHandler } from "../handler/localHandler";
import { DEFAULT_HOME } from "../inspect/installed";
import { watchedKindServed } from "./awaitedKind";
import { guardInTheWay } from "./guardInTheWay";
import { installOperator, rolesInForce, rulesInForce } from "./installOperator";
import { ObservedTransport } from "./observedTransport";
import { connectionAs } from "./serviceAccountToken";
import type { Silence } from "./silence";

/** @see runOperator */
export interface RunOptions {
  readonly operator: Operator;
  /** A connection to the cluster with the rights of an administrator. */
  readonly connection: ClusterConnection;
  /** The namespace of the runner's service account and its lease. @default "argosy" */
  readonly namespace?: string;
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds?: number;
  /** Called after each reconcile. */
  readonly onReport?: (report: ReconcileReport) => void;
  /** Called for each object that is gone, or no longer selected. */
  readonly onGone?: (name: ObjectName) => void;
  /** Called with a notice that is on no object, such as a lost watch or a lost lease. */
  readonly onNotice?: (notice: string) => void;
  /** Called with the handler's standard error between two requests. The rest is in the reports. */
  readonly onHandlerLog?: (text: string) => void;
  /** Called if the handler has not answered for some seconds, and then less and less often. */
  readonly onSilence?: (silence: Silence) => void;
  /** Another way to run the handler. @default a child process */
  readonly handler?: OtherHandler;
  /** Runs the handler in its image, which must exist. @default on this machine, which must have the handler's program */
  readonly containers?: Pick<Containers, "transport"> | undefined;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/** Another way to run a handler than as child processes alone. */
export interface OtherHandler {
  /**
   * The transport of the handler.
   * @param usual the usual transport, with child processes
   */
  transport(env: Readonly<Record<string, string>>, usual: HandlerTransport): HandlerTransport;
  /** How long the handler may take to answer a question, in milliseconds. @default the operator's `timeoutSeconds` */
  timeoutMs?(question: HandlerQuestion): number;
  /** How many objects are reconciled at the same time. @default the operator's `concurrency` */
  readonly concurrency?: number;
  /** Replaces processes that the transport keeps, because their environment is outdated. @default it keeps none */
  renew?(): void;
}

/** An engine on this machine, with everything that its handler needs here. */
class LocalEngine extends Engine {
  constructor(
    options: EngineOptions,
    private readonly account: HandlerAccount | undefined,
  ) {
    super(options);
  }

  override async stop(graceMs?: number): Promise<void> {
    try {
      await super.stop(graceMs);
    } finally {
      // Only now, because runs in progress may need the account.
      await this.account?.close();
    }
  }
}

/**
 * Runs an operator on this machine against a cluster as it would run there: its CRD and roles are those that `pulumi up` creates,
 * the engine acts as the runner's service account with only its rights, and the handler is a child process, which has a token of
 * its own account if it has `rules`. Resolves when the engine watches. Kinds of children that the cluster does not serve yet are
 * awaited in the background. The controller's `stop()` ends it. Installed objects stay.
 *
 * @throws OperatorError, before anything is installed, where the handler's program or a variable of its environment is not on
 *   this machine; ClusterNotReadyError if the cluster does not serve the kind that it watches; CommandError, ApiError where the
 *   cluster does not take what is to be installed
 */
export async function runOperator(options: RunOptions): Promise<Engine> {
  const { operator, connection, namespace = DEFAULT_HOME, signal, onHandlerLog, onSilence } = options;
  const { containers } = options;
  if (!containers) checkCommand(operator);
  const given = handlerEnvironment(operator);
  const runner = connectionAs({ namespace, name: runnerNameOf(operator.name) }, connection);
  await withClient(connection, async (client) => {
    const guard = await guardInTheWay(client, operator, namespace);
    if (guard !== undefined) options.onNotice?.(guard);
    await watchedKindServed(client, operator);
    await installOperator({ client, operator, namespace, signal });
  }).catch((error: unknown) => {
    throw withLoginRemedy(error, connection);
  });
  await withClient(runner, (client) => rolesInForce(client, { operator, namespace, signal }));
  signal?.throwIfAborted();
  const { onReport, onGone, onNotice, leaseSeconds, handler } = options;
  let controller: Engine | undefined;
  const handlerAccount = await openHandlerAccount({
    operator,
    runner,
    namespace,
    signal,
    isForContainer: containers !== undefined,
    onNotice: (notice) => onNotice?.(notice),
    onRenewed: () => {
      controller?.renewHandler();
      handler?.renew?.();
    },
  });
  try {
    await handlerRightsInForce(options, namespace);
    const env = { ...handlerAccount?.env, ...given };
    const { server } = connection;
    const processes =
      containers?.transport({ operator, env: given, account: handlerAccount, server }) ??
      localHandler(operator, env);
    const onStrayLog = (text: string) => onHandlerLog?.(controller?.masked(text) ?? text);
    const usual = new ObservedTransport(processes, onStrayLog, onSilence);
    const transport = handler?.transport(env, usual) ?? usual;
    const hidden = Object.keys(operator.secretEnv).map((name) =>
      Buffer.from(given[name] ?? "").toString("base64"),
    );
    const timeoutMs =
      handler?.timeoutMs?.bind(handler) ?? (containers && (() => secondsInImage(operator) * 1000));
    controller = new LocalEngine(
      {
        operator: { ...operator, concurrency: handler?.concurrency ?? operator.concurrency },
        namespace,
        connection: runner,
        transport: { start: (listener) => transport.start(listener), hidden: () => hidden },
        ...(timeoutMs && { timeoutMs }),
        identity: `${hostname()}-${randomUUID()}`,
        ...(leaseSeconds !== undefined && { leaseSeconds }),
        ...(onReport && { onReport }),
        ...(onGone && { onGone }),
        ...(onNotice && { onNotice }),
      },
      handlerAccount,
    );
  } catch (error) {
    await handlerAccount?.close();
    throw error;
  }
  await startController(controller, signal);
  return controller;
}

/** The handler of an operator with `rules` calls the API server itself, and does not retry if it is refused. */
async function handlerRightsInForce({ operator, connection, signal }: RunOptions, namespace: string) {
  if (operator.rules.length === 0) return;
  const handler = connectionAs({ namespace, name: handlerAccountOf(operator.name) }, connection);
  await withClient(handler, (client) => rulesInForce(client, { operator, signal }));
}

/** A controller would wait for ever for an API server that does not answer, so an abort stops it. */
async function startController(controller: Engine, signal: AbortSignal | undefined): Promise<void> {
  const stop = () => void controller.stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await controller.start();
  } catch (error) {
    await controller.stop();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
