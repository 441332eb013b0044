/**
 * Operators for Kubernetes from plain handler files, on Argo Events and Argo Workflows, as components for Pulumi.
 *
 * @packageDocumentation
 */

export type { LoadOptions } from "../definition/loadOperator";
export { OperatorError } from "../definition/problems";
export type { OperatorOverrides } from "../definition/schema";
export type { Operator } from "../runtime/program";
export { ArgoPlatform } from "./argoPlatform";
export type {
  AnnotationsGuardArgs,
  ArchiveArgs,
  ArgoPlatformArgs,
  ClusterArgs,
  EventBusArgs,
  GuardsArgs,
  MonitoringArgs,
  OperatorsArgs,
  OutsideEventsArgs,
  PlacementArgs,
  PlatformComponent,
  PodArgs,
  TracesArgs,
  TracesHeadersArgs,
  WorkloadArgs,
} from "./arguments";
export type { DeployedOperator } from "./deployedOperator";
export { ConfigurationError } from "./errors";
export type { EventPath } from "./eventPath";
export type { Quota } from "./manifests/operator/quota";
export type { ArgoMode, Platform } from "./manifests/platform/options";
export type { Transforms } from "./manifests/transform";
export { Operators } from "./operators";
export { loadOperators } from "./operatorsPlan";
export type { OutsideEvents } from "./outsideEvents";
export { ARGOSY_VERSION, PACKAGE_NAME } from "./package";
export { platformOfStack } from "./platform";
