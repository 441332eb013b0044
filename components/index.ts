/**
 * Operators for Kubernetes from plain handler files, on Argo Events and Argo Workflows, as components for Pulumi.
 *
 * @packageDocumentation
 */

export { loadOperators } from "../definition/loadOperators";
export { OperatorError } from "../definition/problems";
export { ArgoPlatform, type ArgoPlatformArgs } from "./argoPlatform";
export { Operators, type OperatorsArgs } from "./operators";
export { ARGOSY_VERSION, PACKAGE_NAME } from "./package";
export type { Platform } from "./platform";
export { platformOfStack } from "./platformStack";
export { showUserErrors } from "./userErrors";
