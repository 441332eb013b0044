/**
 * Operators for Kubernetes from plain handler files, on Argo Events and Argo Workflows, as components for Pulumi.
 *
 * @packageDocumentation
 */

export { loadOperators } from "../definition/loadOperators";
export { OperatorError } from "../definition/problems";
export { ArgoPlatform, type ArgoPlatformArgs } from "./argoPlatform";
export type { Platform } from "./manifests/platform/options";
export { Operators, type OperatorsArgs } from "./operators";
export { ARGOSY_VERSION, PACKAGE_NAME } from "./package";
export { platformOfStack } from "./platformStack";
export { showUserErrors } from "./userErrors";
