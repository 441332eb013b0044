// What the package exports to a program.
/**
 * Operators for Kubernetes from plain handler files, on Argo Events and Argo Workflows, as components for Pulumi.
 *
 * @packageDocumentation
 */

export { OperatorError } from "../definition/problems";
export type { Operator } from "../runtime/program";
export { ArgoPlatform } from "./argoPlatform";
export type * from "./arguments/arguments";
export type { ConfiguredOperatorsArgs } from "./arguments/configuration";
export { type ConfiguredOperators, configuredOperators } from "./configuredOperators";
export type { DeployedOperator } from "./deployedOperator";
export { ConfigurationError } from "./errors";
export type { EventPath } from "./eventPath";
export type { DataMode } from "./manifests/data";
export type { ArgoMode, Platform } from "./manifests/platform/options";
export type { Transforms } from "./manifests/transform";
export { Operators } from "./operators";
export { type LoadOperatorsOptions, loadOperators } from "./operatorsPlan";
export type { OutsideEvents } from "./outsideEvents";
export { ARGOSY_VERSION, PACKAGE_NAME } from "./package";
export { type PlatformComponent, platformOfStack } from "./platform";
