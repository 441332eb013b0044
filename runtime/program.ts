// What the program needs from the engine.
/**
 * Everything of the engine that a program needs to deploy it: what an operator is, and the names and files on which both agree.
 * Nothing in components/ and preflight/ imports any other file of the engine.
 */

export { schemaChecker } from "./base/contentSchema";
export { fingerprint, isRecord } from "./base/json";
export {
  allIdentitiesOf,
  CHILD_OF_LABEL,
  DEFAULT_INSTALLATION,
  DOMAIN,
  formerIdentitiesOf,
  identityOf,
  leaseNameOf,
  MANAGER_PREFIX,
  MEMORY_FIELD,
  OPERATOR_LABEL,
  type OperatorIdentity,
  type OperatorNames,
  PROGRAM_ANNOTATION,
} from "./base/names";
export {
  groupOf,
  isJsonObject,
  type Json,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type ObjectMeta,
  type ObjectName,
} from "./base/objects";
export type { Resource } from "./base/resource";
export { clean } from "./base/text";
export { KubernetesClient } from "./kubernetes/client";
export { type ClusterConnection, tokenFromFile } from "./kubernetes/connection";
export { builtIn } from "./kubernetes/discovery";
export { ApiUnreachableError, ifRefused, isApiError, isUndecided } from "./kubernetes/errors";
export { type Destination, FUNCTION_IMAGES, type Operator, type PolicyRule } from "./operator/definition";
export type { OutsideEvent } from "./operator/mapEvent";
export { selectionsOf, type UsedSelection } from "./operator/uses";
export { DEFINITION_FILE, definitionFileContent } from "./programs/definitionFile";
export { handlerAccountOf } from "./programs/handlerToken";
export {
  INTAKE_FILE,
  INTAKE_PATH,
  type IntakeEvent,
  type IntakeFile,
  IS_POSTPONED,
  SUBJECT_HEADER,
  TOKEN_HEADER,
} from "./programs/intake/intakeFile";
export type { EventPathPart } from "./programs/keep/eventPathPods";
export {
  ANSWER_FILE,
  ARGO_HALVES,
  type EngineCommand,
  HANDLER_ACCOUNT_VARIABLE,
  POD_LAYOUT,
  RUNNER_ENVIRONMENT,
  RUNNER_PORTS,
  TIMINGS_FILE,
} from "./programs/layout";
export { PENDING_SECONDS, runSeconds } from "./programs/run/runSeconds";
export { memoryResourceOf } from "./remember/memoryKind";
export { endpointProblem } from "./report/traces/settings";
export {
  instanceLabel,
  RUN_PARAMETERS,
  TIMINGS_OUTPUT,
  USED_PARAMETER,
  workflowTemplateOf,
} from "./report/workflows";
