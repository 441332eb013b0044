/** The path to which events are sent. */
export const INTAKE_PATH = "/events";
/** The header that has the token. */
export const TOKEN_HEADER = "Argosy-Intake-Token";
/** The header that has the event's name in its source. So the name is known even if the body cannot be read. */
export const SUBJECT_HEADER = "Argosy-Event";
