import { isRecord, isText } from "../json/json";
import { ENGINE_CONDITIONS } from "../names";
import type { AnsweredCondition, AnsweredEvent } from "./contract";
import { checkKeys, invalid, quote, shown } from "./invalidAnswer";

/** Nobody reads more conditions than these, and each is a part of every write of the status. */
const MOST_CONDITIONS = 16;
/** An Event is an object of its own in etcd. A handler that has more to say has a log. */
const MOST_EVENTS = 8;
/** A longer text is a mistake. The text that is reported is far shorter: see `clean`. */
const LONGEST_TEXT = 32 * 1024;
const AT_MOST = `of at most ${LONGEST_TEXT} characters`;

/** The types of conditions and their reasons, as the API server checks them (apimachinery, meta/v1/types.go). */
const CONDITION_TYPE =
  /^(?=.{1,316}$)([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/;
const CONDITION_REASON = /^(?=.{1,1024}$)[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const EVENT_REASON = /^[A-Z][A-Za-z0-9]{0,127}$/;

/**
 * The conditions in an answer. Undefined if it has none.
 * @throws ReconcileFailure with reason `InvalidAnswer`
 */
export function conditionsAnswered(list: unknown): readonly AnsweredCondition[] | undefined {
  const seen = new Set<string>();
  return entriesOf(list, "conditions", MOST_CONDITIONS)?.map((entry, index) => {
    const path = `conditions[${index}]`;
    for (const key of ["lastTransitionTime", "observedGeneration"]) {
      if (entry[key] != null) throw invalid(`${path}.${key}, which Argosy keeps: leave it out`);
    }
    checkKeys(entry, ["type", "status", "reason", "message"], `${path}.`);
    const { type, status, reason, message } = entry;
    if (!isShortText(type, CONDITION_TYPE))
      throw wrong(`${path}.type`, "a condition's type, such as DataReady", type);
    if (ENGINE_CONDITIONS.includes(type)) {
      throw invalid(`${path}.type is ${quote(type)}, which is Argosy's own: give the condition another type`);
    }
    if (seen.has(type)) throw invalid(`${path}.type is ${quote(type)}, as is that of another condition`);
    seen.add(type);
    if (status !== "True" && status !== "False" && status !== "Unknown") {
      throw wrong(`${path}.status`, 'the string "True", "False" or "Unknown"', status);
    }
    if (!isShortText(reason, CONDITION_REASON))
      throw wrong(`${path}.reason`, "one word in CamelCase", reason);
    if (!isShortText(message)) throw wrong(`${path}.message`, `a string ${AT_MOST}`, message);
    return { type, status, reason, message };
  });
}

/**
 * The Events in an answer. Undefined if it has none.
 * @throws ReconcileFailure with reason `InvalidAnswer`
 */
export function eventsAnswered(list: unknown): readonly AnsweredEvent[] | undefined {
  return entriesOf(list, "events", MOST_EVENTS)?.map((entry, index) => {
    const path = `events[${index}]`;
    checkKeys(entry, ["type", "reason", "note"], `${path}.`);
    const { type, reason, note } = entry;
    if (type !== "Normal" && type !== "Warning") throw wrong(`${path}.type`, '"Normal" or "Warning"', type);
    if (!isShortText(reason, EVENT_REASON)) throw wrong(`${path}.reason`, "one word in CamelCase", reason);
    if (!isShortText(note, /\S/)) throw wrong(`${path}.note`, `a non-empty string ${AT_MOST}`, note);
    return { type, reason, note };
  });
}

function entriesOf(list: unknown, key: string, most: number): Record<string, unknown>[] | undefined {
  if (list === undefined || list === null) return undefined;
  if (!Array.isArray(list) || !list.every(isRecord)) throw invalid(`"${key}" must be a list of objects`);
  if (list.length > most)
    throw invalid(`"${key}" has ${list.length} entries, more than the ${most} of one answer`);
  return list;
}

function isShortText(value: unknown, form = /^/): value is string {
  return isText(value) && value.length <= LONGEST_TEXT && form.test(value);
}

function wrong(path: string, expected: string, value: unknown) {
  return invalid(`${path} must be ${expected}, and is ${value === undefined ? "missing" : shown(value)}`);
}
