import { checkKeys, invalid, quote, quoteLine, type ReconcileFailure, shown } from "../base/failure";
import { flawOf, isRecord, isText, keyTwiceIn, loneSurrogateIn, readJson, writeJson } from "../base/json";
import { ENGINE_CONDITIONS, MEMORY_FIELD } from "../base/names";
import { isObjectName, LONGEST_OBJECT_NAME } from "../base/objects";
import type {
  AnsweredCondition,
  AnsweredEvent,
  ErrorAnswer,
  HandlerAnswer,
  HandlerEvent,
  ReconcileAnswer,
} from "./contract";

/** The longest line with which a handler may answer, in bytes. An API object itself is at most 1.5 MiB (etcd). */
export const LONGEST_ANSWER_BYTES = 4 * 1024 * 1024;

const KNOWN_KEYS: Record<HandlerEvent | "error", readonly string[]> = {
  reconcile: ["id", "children", "status", "conditions", "events", "state", "requeueAfterSeconds"],
  finalize: ["id", "finalized", "status", "conditions", "events", "requeueAfterSeconds"],
  error: ["message", "retryAfterSeconds", "permanent"],
};

/** A line of a handler: JSON of any form, with the id that it echoes. */
export interface AnswerLine {
  /** The value of "id". It may be anything until it has been compared. */
  readonly id: unknown;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** The longest time after which a handler may ask to be asked again: a week. A longer time is surely a mistaken unit. */
const LONGEST_WAIT_SECONDS = 7 * 24 * 3600;

/**
 * The most children of one object. Each child needs a write of its own, and its own place in a watch. More are a mistake, such as
 * a number of replicas that was taken for a number of objects.
 */
export const MOST_CHILDREN = 5_000;

/** Ignores the mark with which some programs begin their output. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The text of a handler's line.
 * @throws ReconcileFailure with reason `InvalidAnswer` if the line is not UTF-8, because wrong characters would be applied
 */
export function textOf(line: Buffer): string {
  try {
    return UTF8.decode(line);
  } catch {
    throw invalid(
      `a line that is not UTF-8: ${quoteLine(line.toString("utf8"))}. Write UTF-8 to standard output`,
    );
  }
}

/**
 * Reads a handler's line as JSON, to find the request that it answers.
 * @throws ReconcileFailure with reason `InvalidAnswer` if it is no JSON object, or an object in it has a key twice
 */
export function readAnswerLine(line: string): AnswerLine {
  let answer: unknown;
  try {
    answer = readJson(line);
  } catch {
    throw invalid(
      `a line that is not JSON: ${quoteLine(line)}. Write the answer as one line of JSON, and print log lines to standard error`,
    );
  }
  if (!isRecord(answer)) throw invalid(`${quoteLine(line)} where a JSON object was expected`);
  const key = keyTwiceIn(line);
  if (key !== undefined) throw invalid(`an object that has the key ${quote(key)} twice`);
  return { id: answer["id"], answer };
}

/** The failure of a request whose process wrote a line that answers no request of this process. */
export function unknownId(line: string, id: unknown): ReconcileFailure {
  const complaint = id === undefined ? 'no "id"' : `"id" is ${shown(id)}, which no request had,`;
  return invalid(
    `${complaint} in ${quoteLine(line)}. Echo the request's id in each answer: {"id": request.id, ...}`,
  );
}

/**
 * Checks the form of a whole answer, so that nothing of a broken answer is ever applied. Other parts check whether the kinds are
 * declared and whether the status fits its schema.
 *
 * @throws ReconcileFailure with reason `InvalidAnswer`, naming the field and what was expected there
 */
export function parseAnswer(value: Readonly<Record<string, unknown>>, event: HandlerEvent): HandlerAnswer {
  const flaw = flawOf(value);
  if (flaw !== undefined) throw invalid(`an answer that ${flaw}`);
  if (value["error"] != null) return errorAnswer(value);
  checkKeys(value, KNOWN_KEYS[event], "");
  const { id: _, ...answer } = withoutNulls(value);
  if (event === "reconcile") {
    checkChildren(answer["children"]);
    checkState(answer["state"]);
  } else if (typeof answer["finalized"] !== "boolean")
    throw invalid('"finalized" must be true or false, in answer to the event "finalize"');
  checkStatus(answer["status"]);
  const conditions = conditionsAnswered(answer["conditions"]);
  const events = eventsAnswered(answer["events"]);
  checkSeconds(answer, "requeueAfterSeconds", "");
  const reports = { ...(conditions && { conditions }), ...(events && { events }) };
  return { ...answer, ...reports } as unknown as HandlerAnswer;
}

/** A key with the value null counts as left out. */
function withoutNulls(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function errorAnswer(value: Readonly<Record<string, unknown>>): ErrorAnswer {
  checkKeys(value, ["id", "error"], "");
  if (!isRecord(value["error"])) throw invalid('"error" must be an object with a "message"');
  checkKeys(value["error"], KNOWN_KEYS.error, "error.");
  const error = withoutNulls(value["error"]);
  const { message, permanent = false } = error;
  if (!isText(message) || message === "") throw invalid('"error.message" must be a non-empty string');
  if (typeof permanent !== "boolean") throw invalid('"error.permanent" must be true or false');
  checkSeconds(error, "retryAfterSeconds", "error.");
  return { error: error as unknown as ErrorAnswer["error"] };
}

function checkChildren(children: unknown): void {
  // A missing list must not be read as an empty one: that would delete every child.
  if (!Array.isArray(children)) throw invalid('"children" must be a list; return [] to have no children');
  if (children.length > MOST_CHILDREN) {
    throw invalid(
      `"children" has ${children.length} entries, more than the ${MOST_CHILDREN} that one object may have`,
    );
  }
  children.forEach(checkChild);
  checkCharacters(children, "children");
}

/** The longest state, as JSON in UTF-8. */
const LONGEST_STATE_BYTES = 64 * 1024;

function checkState(state: unknown): void {
  checkObject(state, '"state"');
  const length = state === undefined ? 0 : Buffer.byteLength(writeJson(state));
  if (length > LONGEST_STATE_BYTES)
    throw invalid(`"state" has ${length} bytes, more than the ${LONGEST_STATE_BYTES} that are remembered`);
  checkCharacters(state, "state");
}

function checkStatus(status: unknown): void {
  checkObject(status, '"status"');
  const { conditions, [MEMORY_FIELD]: memory } = (status ?? {}) as Record<string, unknown>;
  if (conditions != null)
    throw invalid('"status.conditions" is Argosy\'s to write; return your own conditions as "conditions"');
  if (memory != null)
    throw invalid(
      `"status.${MEMORY_FIELD}" is the engine's own; leave it out, even if you copy the status from the object`,
    );
  checkCharacters(status, "status");
}

function checkObject(value: unknown, path: string): void {
  if (value != null && !isRecord(value)) throw invalid(`${path} must be an object`);
}

/** The API server would refuse such a text with a message about YAML, when other children are applied already. */
function checkCharacters(value: unknown, path: string): void {
  const where = loneSurrogateIn(value, path);
  if (where !== undefined)
    throw invalid(
      `${shown(where)} has half of a character (a surrogate without its other half), which is not valid text`,
    );
}

function checkChild(child: unknown, index: number): void {
  const path = `children[${index}]`;
  if (!isRecord(child)) throw invalid(`${path} must be an object`);
  for (const key of ["apiVersion", "kind"]) {
    if (!isText(child[key]) || child[key] === "") throw invalid(`${path}.${key} must be a string`);
  }
  const { metadata } = child;
  if (!isRecord(metadata)) throw invalid(`${path}.metadata must be an object with a name`);
  if (metadata["name"] == null && metadata["generateName"] != null)
    throw invalid(
      `${path}.metadata has generateName and no name; give the child a name, since each answer would create another object otherwise`,
    );
  checkName(metadata["name"], `${path}.metadata.name`);
  if (metadata["namespace"] != null) checkName(metadata["namespace"], `${path}.metadata.namespace`);
  for (const key of ["labels", "annotations"]) checkStringMap(metadata[key], `${path}.metadata.${key}`);
  checkOwners(metadata["ownerReferences"], `${path}.metadata.ownerReferences`);
  const { finalizers } = metadata;
  const isStrings = Array.isArray(finalizers) && finalizers.every(isText);
  if (finalizers != null && !isStrings)
    throw invalid(`${path}.metadata.finalizers must be a list of strings`);
}

function checkName(name: unknown, path: string): void {
  if (isText(name) && name.length > LONGEST_OBJECT_NAME)
    throw invalid(
      `${path} has ${name.length} characters, and a name has at most ${LONGEST_OBJECT_NAME}: ${shown(name)}`,
    );
  if (!isText(name) || !isObjectName(name)) {
    throw invalid(
      `${path} must be a Kubernetes name, and is ${name === undefined ? "missing" : shown(name)}`,
    );
  }
}

function checkOwners(list: unknown, path: string): void {
  if (list == null) return;
  if (!Array.isArray(list) || !list.every(isRecord)) throw invalid(`${path} must be a list of objects`);
  if (!list.every((entry) => ["kind", "name", "uid"].every((key) => isText(entry[key]))))
    throw invalid(`${path} must have kind, name and uid in each entry; leave it out: Argosy sets the owner`);
}

function checkStringMap(map: unknown, path: string): void {
  checkObject(map, path);
  for (const [key, value] of Object.entries(map ?? {})) {
    if (!isText(value)) throw invalid(`${path}[${quote(key)}] must be a string; put quotes around it`);
  }
}

function checkSeconds(value: Readonly<Record<string, unknown>>, key: string, path: string): void {
  const { [key]: given = 0 } = value;
  if (typeof given !== "number" || !(given >= 0 && given <= LONGEST_WAIT_SECONDS))
    throw invalid(`"${path}${key}" must be a number of seconds from 0 to ${LONGEST_WAIT_SECONDS}`);
}

/** More conditions than these are not readable, and each is a part of every write of the status. */
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
function conditionsAnswered(list: unknown): readonly AnsweredCondition[] | undefined {
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
    if (ENGINE_CONDITIONS.includes(type))
      throw invalid(`${path}.type is ${quote(type)}, which is Argosy's own: give the condition another type`);
    if (seen.has(type)) throw invalid(`${path}.type is ${quote(type)}, as is that of another condition`);
    seen.add(type);
    if (status !== "True" && status !== "False" && status !== "Unknown")
      throw wrong(`${path}.status`, 'the string "True", "False" or "Unknown"', status);
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
function eventsAnswered(list: unknown): readonly AnsweredEvent[] | undefined {
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

/** Says which part of an answer its object has no place for. */
export function partWithoutPlace(
  { status, state, conditions }: Pick<ReconcileAnswer, "status" | "state" | "conditions">,
  isOurs: boolean,
): string | undefined {
  if (isOurs && state !== undefined)
    return '"state", which is for an operator with "watch". A custom resource has a status: return "status"';
  if (!isOurs && status !== undefined)
    return '"status", but the operator may not write on a watched object. Use "state" for what the next request should contain';
  if (!isOurs && conditions !== undefined)
    return '"conditions", but the operator may not write on a watched object. Report with "events", and remember with "state"';
  return undefined;
}
