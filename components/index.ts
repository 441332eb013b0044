/**
 * Operators for Kubernetes from plain handler files, on Argo Events and Argo Workflows, as components for Pulumi.
 *
 * @packageDocumentation
 */

export { OperatorError } from "../runtime/program";
export { ArgoPlatform, type ArgoPlatformArgs } from "./argoPlatform";
export { loadOperators } from "./loadOperators";
export { Operators, type OperatorsArgs } from "./operators";
export { ARGOSY_VERSION, PACKAGE_NAME } from "./package";
export type { Platform } from "./manifests/platform/options";
export { platformOfStack } from "./platformStack";
export { showUserErrors } from "./userErrors";
