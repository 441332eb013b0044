import { isRecord, readJson } from "../../base/json";
import type { OperatorNames } from "../../base/names";
import type { JsonObject } from "../../base/objects";
import type { Resource } from "../../base/resource";
import type { EventMapping, WakeMapping } from "../../operator/mapEvent";

/** The file's name, in the folder that POD_LAYOUT calls "definition". */
export const INTAKE_FILE = "intake.json";
/** The path to which events are sent. */
export const INTAKE_PATH = "/events";
/** The header that has the token. */
export const TOKEN_HEADER = "Argosy-Intake-Token";
/** The header that has the event's name in its source. So the name is known even if the body cannot be read. */
export const SUBJECT_HEADER = "Argosy-Event";
/** What the log of an intake says of an event that the sensor must send again. An alert names this text. */
export const IS_POSTPONED = "is postponed";

/** What an intake knows of every event. */
interface NamedEvent {
  /** The event's name in the event source, which distinguishes it from the events of other operators. */
  readonly subject: string;
  /** The kind of the objects that it creates or wakes. */
  readonly kind: string;
}

/** An event that wakes an object. */
export interface WakingEvent extends WakeMapping, NamedEvent {
  /** The host at which the operator's runners take what is to be woken. */
  readonly runner: string;
}

/** An event from which a custom resource is created, with its kind. */
export interface CreatingEvent extends EventMapping, Resource, NamedEvent {
  /** Objects that an intake made under a former name of the operator are its own. */
  readonly operator: OperatorNames;
  /** The name of its CRD. Warnings are about the CRD. */
  readonly crd: string;
  /** The schema of its `spec`. @default any content */
  readonly schema?: JsonObject | undefined;
}

/** An event as an intake knows it. */
export type IntakeEvent = CreatingEvent | WakingEvent;

/** The file that an intake reads: all events of an installation. */
export interface IntakeFile {
  readonly installation: string;
  readonly events: readonly IntakeEvent[];
}

/**
 * Reads the file.
 * @throws Error if it does not have the form in which the manifests write it
 */
export function parseIntakeFile(text: string): IntakeFile {
  const file = readJson(text);
  if (isRecord(file) && typeof file["installation"] === "string" && Array.isArray(file["events"]))
    return file as unknown as IntakeFile;
  throw new Error(`${INTAKE_FILE} is not as the manifests define it. Deploy the program again.`);
}
