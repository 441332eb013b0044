/**
 * Everything of the engine that a program needs to deploy it: what an operator is, and the names and files on which both agree.
 * Nothing in components/ and preflight/ imports any other file of the engine.
 */

export { RUN_PARAMETERS, TIMINGS_OUTPUT, USED_PARAMETER } from "./argo/runParameters";
export { instanceLabel, workflowTemplateOf } from "./argo/workflows";
export { FUNCTION_IMAGES, type Operator, type PolicyRule } from "./definition/definition";
export { FUNCTION_LOOPS, languageOf, programOf, workingFolderOf } from "./definition/handlerProgram";
export type { OutsideEvent } from "./definition/outsideEvent";
export { selectionsOf, type UsedSelection } from "./definition/selections";
export type { EventPathPart } from "./eventPath/eventPathPods";
export {
  INTAKE_FILE,
  INTAKE_PATH,
  type IntakeEvent,
  type IntakeFile,
  IS_POSTPONED,
  SUBJECT_HEADER,
  TOKEN_HEADER,
} from "./events/intakeFile";
export { classOfSource, SOURCE_CLASSES, type SourceClass } from "./events/sources";
export { fingerprint } from "./json/fingerprint";
export { isRecord } from "./json/json";
export { KubernetesClient } from "./kubernetes/client";
export { type ClusterConnection, tokenFromFile } from "./kubernetes/connection";
export { builtIn } from "./kubernetes/discovery";
export { ApiUnreachableError, isApiError, isUndecided } from "./kubernetes/errors";
export {
  groupOf,
  isJsonObject,
  type Json,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type ObjectMeta,
  type ObjectName,
} from "./kubernetes/objects";
export type { Resource } from "./kubernetes/resource";
export { memoryResourceOf } from "./memory/memoryKind";
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
  OBJECT_UID_LABEL,
  OPERATOR_LABEL,
  type OperatorIdentity,
  PROGRAM_ANNOTATION,
} from "./names";
export { DEFINITION_FILE, definitionFileContent } from "./pod/definitionFile";
export { handlerAccountOf } from "./pod/handlerContainer/handlerToken";
export {
  ANSWER_FILE,
  ARGO_HALVES,
  type EngineCommand,
  HANDLER_ACCOUNT_VARIABLE,
  POD_LAYOUT,
  RUNNER_ENVIRONMENT,
  RUNNER_PORTS,
  TIMINGS_FILE,
} from "./pod/layout";
export { PENDING_SECONDS, runSeconds } from "./pod/run/runSeconds";
export { endpointProblem } from "./traces/settings";
