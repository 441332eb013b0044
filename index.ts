/**
 * Argosy: Kubernetes operators from plain handler files.
 *
 * These are the names by which it is used, in the order in which to read it: what an author declares, what is checked
 * of it, what it becomes in a cluster, and the engine that runs it. The command line is in `cli/`.
 *
 * @example
 * ```ts
 * const operator = loadOperator("handlers/memcached", memcached);
 * const manifests = [buildCustomResourceDefinition(operator), ...buildRoles(operator, account)];
 * const controller = new Controller({ operator, connection, transport, namespace, identity });
 * await controller.start();
 * ```
 *
 * @packageDocumentation
 */

export { buildCustomResourceDefinition } from "./components/manifests/customResourceDefinition";
export { buildRoles, type RunnerAccount } from "./components/manifests/roles";
export { Controller, type ControllerOptions } from "./runtime/controller";
export { checkOperators } from "./runtime/definition/checkOperators";
export { defineOperator, type Operator, type OperatorDefinition } from "./runtime/definition/definition";
export { loadOperator } from "./runtime/definition/loadOperator";
export { OperatorError } from "./runtime/definition/operatorError";
export { ChildProcessTransport } from "./runtime/handler/childProcessTransport";
export type { HandlerAnswer, HandlerRequest } from "./runtime/handler/contract";
export type { HandlerTransport } from "./runtime/handler/handlerTransport";
export { type ClusterConnection, inClusterConnection } from "./runtime/kubernetes/connection";
export type { ReconcileReport } from "./runtime/reconcileReport";
