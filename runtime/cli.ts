// What the CLI needs from the engine.
/**
 * Everything of the engine that cli/ needs, in addition to its vocabulary in base/. Only cli/local/runOperator.ts imports the
 * engine itself, which takes longest to load.
 */

export { statusChecker } from "./base/contentSchema";
export { storedForm } from "./base/storedForm";
export { programFingerprint } from "./engine/dispatch/footprint";
export type { Engine, ObjectState } from "./engine/engine";
export type { EngineOptions } from "./engine/engineOptions";
export { type RolloutState, resumedText, rolloutStateIn, undoneText } from "./engine/rollout";
export {
  type DueSchedule,
  type HandlerAnswer,
  type HandlerEvent,
  type HandlerQuestion,
  type QuestionParts,
  questionAbout,
  type ReconcileAnswer,
  type Used,
} from "./handler/contract";
export { HandlerPool } from "./handler/handlerPool";
export {
  DEAF,
  DRAIN_MS,
  type HandlerExit,
  type HandlerProcess,
  type HandlerProcessListener,
  type HandlerTransport,
} from "./handler/handlerTransport";
export { parseAnswer, partWithoutPlace } from "./handler/parseAnswer";
export { type ApplyOptions, type DeleteOptions, KubernetesClient, PODS } from "./kubernetes/client";
export type { ClusterConnection } from "./kubernetes/connection";
export {
  type ApiResource,
  builtIn,
  discover,
  discoverIfServed,
  findResource,
  readArray,
  UnknownKindError,
} from "./kubernetes/discovery";
export { ApiError, ApiUnreachableError, ifRefused, isApiError, isRace } from "./kubernetes/errors";
export type { ApiAnswer, ApiRequest } from "./kubernetes/exchange";
export { named, type Selection } from "./kubernetes/list";
export { HttpTransport } from "./kubernetes/transport";
export { LEASES, type Lease, ROLLOUT_ANNOTATION, rolloutTextIn } from "./leadership/lease";
export { ChildStore } from "./observe/childStore";
export { StillListingError } from "./observe/kindWatch";
export { markManagerOf } from "./observe/marks";
export { ownerMark } from "./observe/ownership";
export { readinessOf } from "./observe/readiness";
export { Reflector } from "./observe/reflector";
export { storeKey } from "./observe/store";
export { DirectUse } from "./observe/uses/directUse";
export { byName, type GatheredUse, gatherUsed } from "./observe/uses/used";
export { hasLabels, isWatchedBy, labelSelectorOf } from "./observe/watched";
export { type ChildKind, FUNCTION_IMAGES, type Operator, type PolicyRule } from "./operator/definition";
export { isExpired } from "./operator/eventMarks";
export { eventMapper, type Mapped } from "./operator/mapEvent";
export { isList } from "./operator/uses";
export { DEFINITION_FILE } from "./programs/definitionFile";
export {
  handlerAccountOf,
  keepHandlerToken,
  replaceFile,
  requestToken,
  type ServiceAccount,
  type ServiceAccountToken,
} from "./programs/handlerToken";
export { Intake, type IntakeResult } from "./programs/intake/intake";
export { takeBody } from "./programs/intake/intakeServer";
export { HANDLER_ACCOUNT_VARIABLE, POD_LAYOUT } from "./programs/layout";
export { logReport, logTo } from "./programs/logLine";
export { ReadMemories } from "./programs/run/readMemories";
export { ServedKinds, withServedKind } from "./programs/run/servedKinds";
export { answerMetrics } from "./programs/telemetryServer";
export { type RunTarget, resourceOf, runTargetOf } from "./programs/workflows/runTarget";
export { askHandler, type GivenChildren, givenChildren } from "./reconcile/ask";
export { wasCreated } from "./reconcile/remember";
export type { ReconcileReport } from "./reconcile/report";
export { Timeline } from "./reconcile/timeline";
export { readExample, readUsed } from "./reconcile/trial";
export {
  type ChildrenScope,
  type WritingOptions,
  type Written,
  writeChildren,
} from "./reconcile/writeChildren";
export { WAITING_REASONS, type WaitingReason } from "./remember/composeStatus";
export { type Memory, memoryOf } from "./remember/memory";
export { conditionsOfObject, memoryResourceOf } from "./remember/memoryKind";
export { namespaceOfEvents } from "./report/eventWriter";
export { buildRecordedRun, isRecorded } from "./report/recordedRun";
export { recordNameOf } from "./report/runRecorder";
export {
  isFailure,
  isOver,
  parameterOf,
  RUN_PARAMETERS,
  specOf,
  statusOf,
  TIMINGS_OUTPUT,
  WORKFLOW_LABELS,
  WORKFLOW_TEMPLATES,
  WORKFLOWS,
  workflowTemplateOf,
} from "./report/workflows";
export { MASK, Scrubber } from "./secrets/scrubber";
export { bytesOfText, ENCODINGS, replaced, textOfBytes } from "./secrets/secretReadings";
export { type FoundValue, formsOf, newWork, SecretValues } from "./secrets/secretValues";
export { type ChildChange, ChildWriter } from "./write/childWriter";
export { childKey, type DesiredChild, desiredChildren, inApplyOrder } from "./write/desiredChildren";
export { rehearsalName } from "./write/leftFields";
export { Sweep } from "./write/sweep";
