import type { ReconcileFailure } from "../failure";
import { flawOf, loneSurrogateIn } from "../json/flaw";
import { isRecord, isText, readJson, writeJson } from "../json/json";
import { isObjectName, LONGEST_OBJECT_NAME, type Manifest } from "../kubernetes/objects";
import { MEMORY_FIELD } from "../names";
import type { ErrorAnswer, FinalizeAnswer, HandlerAnswer, HandlerEvent, ReconcileAnswer } from "./contract";
import { checkKeys, invalid, quote, quoteLine, shown } from "./invalidAnswer";
import { conditionsAnswered, eventsAnswered } from "./parseReports";

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
const MOST_CHILDREN = 5_000;

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
 * @throws ReconcileFailure with reason `InvalidAnswer` if it is no JSON object
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
  return event === "reconcile" ? reconcileAnswer(value) : finalizeAnswer(value);
}

function errorAnswer(value: Readonly<Record<string, unknown>>): ErrorAnswer {
  checkKeys(value, ["id", "error"], "");
  const { error } = value;
  if (!isRecord(error)) throw invalid('"error" must be an object with a "message"');
  checkKeys(error, KNOWN_KEYS.error, "error.");
  const { message, permanent } = error;
  if (!isText(message) || message === "") throw invalid('"error.message" must be a non-empty string');
  if (permanent != null && typeof permanent !== "boolean") {
    throw invalid('"error.permanent" must be true or false');
  }
  const retryAfterSeconds = seconds(error, "retryAfterSeconds", "error.");
  return {
    error: {
      message,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(permanent != null && { permanent }),
    },
  };
}

function reconcileAnswer(value: Readonly<Record<string, unknown>>): ReconcileAnswer {
  const { children } = value;
  // A missing list must not be read as an empty one: that would delete every child.
  if (!Array.isArray(children)) throw invalid('"children" must be a list; return [] to have no children');
  if (children.length > MOST_CHILDREN) {
    throw invalid(
      `"children" has ${children.length} entries, more than the ${MOST_CHILDREN} that one object may have`,
    );
  }
  children.forEach(checkChild);
  checkCharacters(children, "children");
  return { children: children as Manifest[], ...common(value), ...stateIn(value) };
}

/** The longest state, as JSON in UTF-8. */
const LONGEST_STATE_BYTES = 64 * 1024;

function stateIn({ state }: Readonly<Record<string, unknown>>): Pick<ReconcileAnswer, "state"> {
  if (state === undefined || state === null) return {};
  if (!isRecord(state)) throw invalid('"state" must be an object');
  const length = Buffer.byteLength(writeJson(state));
  if (length > LONGEST_STATE_BYTES)
    throw invalid(`"state" has ${length} bytes, more than the ${LONGEST_STATE_BYTES} that are remembered`);
  checkCharacters(state, "state");
  return { state };
}

function finalizeAnswer(value: Readonly<Record<string, unknown>>): FinalizeAnswer {
  const { finalized } = value;
  if (typeof finalized !== "boolean") {
    throw invalid('"finalized" must be true or false, in answer to the event "finalize"');
  }
  return { finalized, ...common(value) };
}

function common(
  value: Readonly<Record<string, unknown>>,
): Pick<ReconcileAnswer, "status" | "conditions" | "events" | "requeueAfterSeconds"> {
  const { status } = value;
  if (status !== undefined && status !== null && !isRecord(status))
    throw invalid('"status" must be an object');
  if (isRecord(status)) {
    if (status["conditions"] != null) {
      throw invalid('"status.conditions" is Argosy\'s to write; return your own conditions as "conditions"');
    }
    if (status[MEMORY_FIELD] != null) {
      throw invalid(
        `"status.${MEMORY_FIELD}" is the engine's own; leave it out, even if you copy the status from the object`,
      );
    }
  }
  checkCharacters(status, "status");
  const conditions = conditionsAnswered(value["conditions"]);
  const events = eventsAnswered(value["events"]);
  const requeueAfterSeconds = seconds(value, "requeueAfterSeconds", "");
  return {
    ...(isRecord(status) && { status }),
    ...(conditions && { conditions }),
    ...(events && { events }),
    ...(requeueAfterSeconds !== undefined && { requeueAfterSeconds }),
  };
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
  checkObjects(list, path);
  const isReference = (entry: Record<string, unknown>) =>
    ["kind", "name", "uid"].every((key) => isText(entry[key]));
  if (Array.isArray(list) && !list.every(isReference)) {
    throw invalid(`${path} must have kind, name and uid in each entry; leave it out: Argosy sets the owner`);
  }
}

function checkObjects(list: unknown, path: string): void {
  if (list === undefined || list === null) return;
  if (!Array.isArray(list) || !list.every(isRecord)) throw invalid(`${path} must be a list of objects`);
}

function checkStringMap(map: unknown, path: string): void {
  if (map === undefined || map === null) return;
  if (!isRecord(map)) throw invalid(`${path} must be an object`);
  for (const [key, value] of Object.entries(map)) {
    if (!isText(value)) throw invalid(`${path}[${quote(key)}] must be a string; put quotes around it`);
  }
}

function seconds(value: Readonly<Record<string, unknown>>, key: string, path: string): number | undefined {
  const given = value[key];
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "number" || !(given >= 0 && given <= LONGEST_WAIT_SECONDS)) {
    throw invalid(`"${path}${key}" must be a number of seconds from 0 to ${LONGEST_WAIT_SECONDS}`);
  }
  return given;
}
