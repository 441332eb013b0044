import { type Condition, conditionsIn } from "../../runtime/kubernetes/objects";
import { type Memory, memoryIn, memoryOf } from "../../runtime/memory/memory";
import { conditionsOfObject } from "../../runtime/memory/memoryKind";
import {
  annotated,
  ENGINE_CONDITIONS,
  identityOf,
  type OperatorIdentity,
  PAUSED_ANNOTATION,
} from "../../runtime/names";
import { hasLabels } from "../../runtime/watch/watched";
import { backoffMs, LONGEST_BACKOFF_MS } from "../../runtime/work/backoff";
import { asTyped } from "../asTyped";
import { entryOf } from "../errors/catalogue";
import { writtenAs } from "../objectName";
import { type ObjectReference, referenceTo } from "../objectReference";
import { type Hold, holdsOf, WAITS } from "./holds";
import type { Known, ObjectEvent } from "./known";
import { managerOf, operatorOf } from "./operatorOf";
import { faultIn, type Place, placeIn } from "./place";
import { AFTER_DELETION, type InstalledOperator, noneHandles, remediesOf, whyUnknown } from "./readInstalled";
import type { Run } from "./runs";

/** The state of an object, and the reasons for it. */
export interface Explanation {
  readonly object: ObjectReference;
  /** Whether the object is in order. */
  readonly fine: boolean;
  /** The whole explanation in a sentence. */
  readonly summary: string;
  /** Since when, as RFC 3339. */
  readonly since?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** The number of the next attempt, according to Events. */
  readonly attempt?: number | undefined;
  /** When it is tried again, as a clause. */
  readonly nextTry?: string | undefined;
  readonly lastWords?: string | undefined;
  readonly place?: Place | undefined;
  /** The operator's name. */
  readonly operator?: string | undefined;
  readonly installation?: string | undefined;
  readonly leader?: string | undefined;
  /** Conditions of the handler's own. */
  readonly conditions: readonly Condition[];
  readonly holds: readonly Hold[];
  readonly events: readonly ObjectEvent[];
  readonly runs: readonly Run[];
  /** What to do, a sentence each. */
  readonly advice: readonly string[];
}

/** Says why an object is not Ready, or why it is not removed. Pure: all its knowledge is given. */
export function explain(known: Known): Explanation {
  const { object, events, runs } = known;
  const operator = operatorOf(known);
  const identity = operator ?? managerOf(object);
  // The status of an object that others own belongs to them, and may have their own Ready condition.
  const conditions = operator?.watch ? conditionsOfObject(known.memory) : conditionsIn(object["status"]);
  const ready = conditions.find(({ type }) => type === "Ready");
  const stalled = conditions.some(({ type, status }) => type === "Stalled" && status === "True");
  const holds = object.metadata.deletionTimestamp === undefined ? [] : holdsOf(known);
  const failed = ready !== undefined && ready.status === "False" && !WAITS[ready.reason];
  const failures = failed ? failuresOf(events, ready) : undefined;
  const lastRun = failed
    ? runs.find(({ phase, log }) => phase !== "Succeeded" && log !== undefined)
    : undefined;
  const lastWords = lastRun?.log?.trimEnd();
  return {
    object: referenceTo(object, object.metadata),
    ...(identity && { operator: identity.name, installation: identity.installation }),
    leader: known.leader,
    conditions: conditions.filter(({ type }) => !ENGINE_CONDITIONS.includes(type)),
    holds,
    events: events.slice(0, 5),
    runs: runs.slice(0, 5),
    ...(ready && { reason: ready.reason, message: ready.message, since: ready.lastTransitionTime }),
    ...(failed && {
      attempt: (failures?.count ?? 1) + 1,
      lastWords,
      place: placeIn(lastRun?.log ?? ready.message),
    }),
    ...judged(known, { operator, identity, ready, stalled, holds, failures, lastWords }),
  };
}

/** The facts about an object by which it is judged, beside what is known of the cluster. */
interface Facts {
  readonly operator: InstalledOperator | undefined;
  /** That of the operator, or of the one that wrote the status. */
  readonly identity: OperatorIdentity | undefined;
  readonly ready: Condition | undefined;
  readonly stalled: boolean;
  readonly holds: readonly Hold[];
  readonly failures: Failures | undefined;
  readonly lastWords: string | undefined;
}

/** The conclusion of an explanation. */
type Judgement = Pick<Explanation, "fine" | "summary" | "advice" | "since" | "nextTry">;

function say(summary: string, ...advice: readonly string[]): Judgement {
  return { fine: false, summary, advice };
}

function judged(known: Known, facts: Facts): Judgement {
  const { metadata } = known.object;
  const { ready, holds } = facts;
  if (annotated(metadata, PAUSED_ANNOTATION))
    return say("It is paused: nothing is done for it, not even when it is deleted.", resume(known));
  if (metadata.deletionTimestamp !== undefined) {
    const summary =
      holds.length === 0
        ? "It is being deleted, and nothing holds it up: it will be gone in a moment."
        : `It is being deleted, and ${distinct(holds.map(({ waitsFor }) => waitsFor)).join(", and ")}.`;
    const advice = distinct(holds.map(({ remedy }) => remedy));
    return { ...say(summary, ...advice), since: metadata.deletionTimestamp };
  }
  const outside = whyOutside(known, facts);
  if (outside) return outside;
  if (!ready || (ready.observedGeneration ?? 0) < (metadata.generation ?? 0)) return notHandled(known, facts);
  return verdict(ready, known, facts);
}

/** Why the object is none of those that the operators of its kind handle, as far as that is known. Undefined if it is one. */
function whyOutside(known: Known, { operator }: Facts): Judgement | undefined {
  const { object, operators, memoryRead = true } = known;
  const [other] = operators;
  if (other && !operator) {
    const { name, namespaces } = other;
    const why = whyUnknown(known);
    return say(
      `${why === undefined ? "No" : "No known"} operator handles it: ${name} handles only the namespaces ${String(namespaces)}.` +
        (why === undefined ? "" : ` Whether another operator does is not known, because ${why}.`),
      `Add the namespace to the field namespaces of ${name}, and run pulumi up.`,
      ...remediesOf(known),
    );
  }
  if (!operator?.watch) return undefined;
  if (!memoryRead) {
    return say(
      `It is not known whether it was handled, because the memory of ${operator.name} about it cannot be read.`,
      `Ask for the right to get memories in the namespace ${operator.home}.`,
    );
  }
  if (known.memory || hasLabels(object, operator.watch.labels)) return undefined;
  const labels = Object.entries(operator.watch.labels).map((label) => label.join("="));
  return say(
    `No operator handles it: ${operator.name} watches only objects with the labels ${labels.join(", ")}.`,
    "Give it these labels if the operator should handle it.",
  );
}

/** The judgement on an object that was never handled, or not in its newest generation. */
function notHandled(known: Known, { operator, identity, ready }: Facts): Judgement {
  const { object, unled } = known;
  const what = ready
    ? `Its generation ${object.metadata.generation} was not handled yet; the conditions are about generation ${ready.observedGeneration ?? 0}.`
    : `It was never handled: ${operator?.watch ? `${operator.name} remembers nothing about it` : "it has no Ready condition"}.`;
  if (!identity) {
    const remedies = remediesOf(known);
    const deploy = `Deploy one with pulumi up, or run it here with argosy dev. ${AFTER_DELETION}`;
    return say(
      `${what} ${noneHandles(object.kind, known)}`,
      ...(remedies.length > 0 ? distinct(remedies) : [deploy]),
    );
  }
  if (unled)
    return say(`${what} No runner of ${identityOf(unled.operator)} leads${unled.why}.`, unled.remedy);
  return say(what, `See what the runner says: ${asTyped(`logs ${identity.name}`)}`);
}

/** The judgement that the newest run has written into the Ready condition. */
function verdict(ready: Condition, known: Known, facts: Facts): Judgement {
  const { operator, stalled, failures, lastWords } = facts;
  if (ready.status === "True") {
    const advice = operator?.execution === "pod" ? [`The next resync looks at it${dueIn(known)}.`] : [];
    return { fine: true, summary: "It is Ready.", advice };
  }
  const wait = WAITS[ready.reason];
  if (wait)
    return { ...say(`It is not Ready: ${wait}.`, ...ADVICE_WHILE_WAITING), nextTry: "when a child changes" };
  const summary = stalled
    ? "It is not Ready, and a retry is useless until something changes."
    : "It is not Ready: its reconcile fails.";
  const nextTry = stalled ? AFTER_A_CHANGE : nextTryOf(known, operator, ready, failures);
  return { ...say(summary, ...adviceOn(ready, known, lastWords)), nextTry };
}

const LOOK_AT_LAST_WORDS =
  "See what the handler wrote last to standard error, in argosy logs or where argosy dev runs, and fix the handler there.";
/** When a permanent failure is tried again. A resync cannot know that a retry is useless. */
const AFTER_A_CHANGE = "when the object, a child or a used object changes, and at the next resync";
const ADVICE_WHILE_WAITING = ["Look at the child that the message names: kubectl describe shows its Events."];

interface Failures {
  readonly count: number;
  readonly lastAt: string;
}

/**
 * How often the same failure has happened since the object became not Ready. This is counted from Events, which are kept for an
 * hour.
 */
function failuresOf(
  events: readonly ObjectEvent[],
  { reason, lastTransitionTime }: Condition,
): Failures | undefined {
  // An Event's time has fractions of a second, and a condition's has none: as a text, 05.5Z comes before 05Z.
  const since = Date.parse(lastTransitionTime);
  const alike = events.filter(
    ({ reason: told, lastAt }) => told === reason && lastAt !== undefined && Date.parse(lastAt) >= since,
  );
  const [newest] = alike;
  if (newest?.lastAt === undefined) return undefined;
  return { count: alike.reduce((sum, { count }) => sum + count, 0), lastAt: newest.lastAt };
}

/** When a resident engine, or a resync, tries again. */
function nextTryOf(
  known: Known,
  operator: InstalledOperator | undefined,
  { reason, message }: Condition,
  failures: Failures | undefined,
): string {
  if (operator?.execution === "pod") return `at the next resync${dueIn(known)}`;
  if (!failures) return `within ${LONGEST_BACKOFF_MS / 1000} s of the last failure`;
  // The real pause is at least half of this pause, and at most all of it.
  const pauseMs = backoffMs(failures.count);
  const leftSeconds = (Date.parse(failures.lastAt) + pauseMs - known.now.getTime()) / 1000;
  // Nothing in the cluster tells the pause that the handler itself asks for.
  const isAnswered = reason === "HandlerError" && faultIn(message) === undefined;
  const unless = isAnswered ? ", unless the handler returned retryAfterSeconds" : "";
  return `${leftSeconds <= 1 ? "now" : `within ${Math.ceil(leftSeconds)} s`}${unless}`;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function dueIn({ object, memory, now }: Known): string {
  const { dueAt }: Memory = memory ? memoryIn(memory["memory"]) : memoryOf(object);
  if (dueAt === undefined) return "";
  const seconds = Math.ceil((Date.parse(dueAt) - now.getTime()) / 1000);
  return seconds > 0 ? ` after ${seconds} s` : "";
}

function resume({ object: { kind, metadata } }: Known): string {
  return `Resume it with: ${asTyped(`resume ${writtenAs(kind, metadata)}`)}`;
}

/** What to do about a failure, by its reason. */
function adviceOn(
  { reason, message }: Condition,
  { object }: Known,
  lastWords: string | undefined,
): string[] {
  const tryAgain = `Try again at once: ${asTyped(`replay ${writtenAs(object.kind, object.metadata)}`)}`;
  const entry = entryOf(reason);
  const isUnknownCrash = reason === "HandlerCrashed" && lastWords === undefined;
  const remedy =
    reason === "HandlerError" ? adviceOnError(message) : isUnknownCrash ? LOOK_AT_LAST_WORDS : entry?.remedy;
  return [...(entry && remedy ? [remedy, `To learn more: ${asTyped(`errors ${reason}`)}`] : []), tryAgain];
}

/** A handler's own error is the object's fault. An exception is the handler's fault. */
function adviceOnError(message: string): string {
  const place = faultIn(message);
  if (place === undefined) return "Change the object as the message asks.";
  return `Fix the handler at ${place}, and run argosy test. If the handler refuses the object there on purpose, change the object.`;
}
