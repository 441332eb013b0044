import { z } from "zod";
import type { WarningReason } from "../../runtime/base/failure";
import {
  annotated,
  ENGINE_CONDITIONS,
  identityOf,
  type OperatorIdentity,
  PAUSED_ANNOTATION,
} from "../../runtime/base/names";
import { type Condition, conditionsIn, type KubernetesObject } from "../../runtime/base/objects";
import { LONGEST_BACKOFF_MS } from "../../runtime/base/turn";
import { conditionsOfObject, hasLabels, type RolloutState } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { writtenAs } from "../common/objectName";
import { OBJECT_REFERENCE, referenceTo } from "../common/objectReference";
import { entryOf } from "../errors/catalogue";
import { HOLD, type Hold, holdsOf, WAITS } from "./holds";
import { type Known, OBJECT_EVENT, type ObjectEvent } from "./known";
import { missingRightIn } from "./missingRight";
import { managerOf, operatorOf } from "./operatorOf";
import { faultIn, PLACE, placeIn } from "./place";
import { AFTER_DELETION, type InstalledOperator, noneHandles, remediesOf, whyUnknown } from "./readInstalled";
import { RUN } from "./runs";

/** A condition as any client has written it. */
const CONDITION = z.object({
  type: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.number().optional(),
});

/** The schema of an {@link Explanation}. */
export const EXPLANATION = z.strictObject({
  object: OBJECT_REFERENCE,
  fine: z.boolean().describe("Whether the object is in order."),
  summary: z.string().describe("The whole explanation in a sentence."),
  since: z.string().optional().describe("Since when, as RFC 3339."),
  reason: z.string().optional(),
  message: z.string().optional(),
  attempt: z.number().optional().describe("The number of the next attempt. Left out if no Event tells it."),
  nextTry: z.string().optional().describe("When it is tried again, as a clause."),
  lastWords: z.string().optional().describe("The end of what the handler wrote to standard error."),
  place: PLACE.optional().describe("Where in the handler's files something went wrong."),
  operator: z.string().optional().describe("The operator's name."),
  installation: z.string().optional(),
  leader: z.string().optional().describe("The pod that leads the operator."),
  rollout: z
    .string()
    .optional()
    .describe(
      "How far a staged roll-out of the operator's version has come, which may not have asked about the object yet.",
    ),
  conditions: z.array(CONDITION).readonly().describe("Conditions of the handler's own."),
  holds: z.array(HOLD).readonly().describe("The finalizers of an object that is being deleted."),
  events: z.array(OBJECT_EVENT).readonly().describe("Warnings about the object, the newest first."),
  runs: z.array(RUN).readonly().describe("Its runs, the newest first."),
  advice: z.array(z.string()).readonly().describe("What to do, a sentence each."),
});

/** The state of an object, and the reasons for it. */
export type Explanation = Readonly<z.infer<typeof EXPLANATION>>;

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
  const failure = failed
    ? events.filter(isSince(ready.lastTransitionTime)).find(({ nextAttempt }) => nextAttempt !== undefined)
    : undefined;
  const lastRun = failed
    ? runs.find(({ phase, log }) => phase !== "Succeeded" && log !== undefined)
    : undefined;
  const lastWords = lastRun?.log?.trimEnd();
  return {
    object: referenceTo(object, object.metadata),
    ...(identity && { operator: identity.name, installation: identity.installation }),
    leader: known.leader,
    rollout: known.rollout && describeRollout(known.rollout),
    conditions: conditions.filter(({ type }) => !ENGINE_CONDITIONS.includes(type)),
    holds,
    // What was mended before is of no interest.
    events: (ready?.status === "True" ? events.filter(isSince(ready.lastTransitionTime)) : events).slice(
      0,
      5,
    ),
    runs: runs.slice(0, 5),
    ...(ready && { reason: ready.reason, message: ready.message, since: ready.lastTransitionTime }),
    ...(failed && {
      attempt: failure?.nextAttempt,
      lastWords,
      place: placeIn(lastRun?.log ?? ready.message),
    }),
    ...judged(known, { operator, identity, ready, stalled, holds, nextTry: failure?.nextTry }),
  };
}

/** A staged roll-out in words. Undefined if it has come to its end. */
export function describeRollout({ stage, since, halted }: RolloutState): string | undefined {
  if (stage === "done") return undefined;
  const where = stage === "first" ? "about its first objects" : "about all objects";
  return halted
    ? `halted ${where} since ${halted.at}: ${halted.why}`
    : `the new version is asked ${where} since ${since}`;
}

/** The facts about an object by which it is judged, in addition to what is known of the cluster. */
interface Facts {
  readonly operator: InstalledOperator | undefined;
  /** That of the operator, or of the one that wrote the status. */
  readonly identity: OperatorIdentity | undefined;
  readonly ready: Condition | undefined;
  readonly stalled: boolean;
  readonly holds: readonly Hold[];
  /** By when the next try comes, according to the newest Event of a failure. */
  readonly nextTry: string | undefined;
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
  if (!ready || generationOf(ready, known.object) < (metadata.generation ?? 0))
    return notHandled(known, facts);
  return verdict(ready, known, facts);
}

/** The generation that a condition is about. A CRD's own list of conditions may have no place for it. */
function generationOf({ observedGeneration }: Condition, { status }: KubernetesObject): number {
  return observedGeneration ?? (status as { readonly observedGeneration?: number }).observedGeneration ?? 0;
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
    ? `Its generation ${object.metadata.generation} was not handled yet; the conditions are about generation ${generationOf(ready, object)}.`
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
  const { stalled } = facts;
  if (ready.status === "True") {
    return { fine: true, summary: "It is Ready.", advice: [] };
  }
  const wait = WAITS[ready.reason];
  if (wait) {
    const isContested = known.events.some(({ reason }) => reason === "ChildContested");
    const advice = isContested ? remedyOf("ChildContested") : ADVICE_WHILE_WAITING;
    return { ...say(`It is not Ready: ${wait}.`, ...advice), nextTry: "when a child changes" };
  }
  const summary = stalled
    ? "It is not Ready, and a retry is useless until something changes."
    : "It is not Ready: its reconcile fails.";
  const nextTry = stalled ? AFTER_A_CHANGE : nextTryOf(known, facts.nextTry);
  return { ...say(summary, ...adviceOn(ready, known, facts.identity?.name)), nextTry };
}

/** When a permanent failure is tried again. */
const AFTER_A_CHANGE = "when the object, a child or a used object changes, and at the next resync";
const ADVICE_WHILE_WAITING = ["Look at the child that the message names: kubectl describe shows its Events."];

/** Whether an Event happened since a time. An Event's time has fractions of a second, and a condition's has none. */
function isSince(since: string): (event: ObjectEvent) => boolean {
  return ({ lastAt }) => lastAt !== undefined && Date.parse(lastAt) >= Date.parse(since);
}

/** When the engine tries again. */
function nextTryOf(known: Known, nextTry: string | undefined): string {
  if (nextTry === undefined) return `within ${LONGEST_BACKOFF_MS / 1000} s of the last failure`;
  const leftSeconds = (Date.parse(nextTry) - known.now.getTime()) / 1000;
  return leftSeconds <= 1 ? "now" : `within ${Math.ceil(leftSeconds)} s`;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function resume({ object: { kind, metadata } }: Known): string {
  return `Resume it with: ${asTyped(`resume ${writtenAs(kind, metadata)}`)}`;
}

/** A handler that is not given a Secret mostly returns an error. */
const NOT_GIVEN = "UsedSecretNotGiven" satisfies WarningReason;

/** What to do about a failure, by its reason. */
function adviceOn(
  { reason, message, lastTransitionTime }: Condition,
  { object, events }: Known,
  operator = "OPERATOR",
): string[] {
  const tryAgain = `Try again at once: ${asTyped(`replay ${writtenAs(object.kind, object.metadata)}`)}`;
  if (reason !== "HandlerError") return [...remedyOf(reason), tryAgain];
  const isNotGiven = events.filter(isSince(lastTransitionTime)).some((event) => event.reason === NOT_GIVEN);
  // A try before the operator has read the Secret again would fail again.
  if (isNotGiven) return remedyOf(NOT_GIVEN);
  return [...remedyOf(reason, adviceOnError(message, operator)), tryAgain];
}

/** What to do about a known reason, and where to learn more. @param remedy what to do. @default what the table of errors says */
function remedyOf(reason: string, remedy?: string): string[] {
  const entry = entryOf(reason);
  return entry ? [remedy ?? entry.remedy, `To learn more: ${asTyped(`errors ${reason}`)}`] : [];
}

/** A handler's own error is the object's fault. An exception is the handler's fault. */
function adviceOnError(message: string, operator: string): string {
  const right = missingRightIn(message, operator);
  if (right !== undefined) return right;
  const place = faultIn(message);
  if (place === undefined) return "Change the object as the message asks.";
  return `Fix the handler at ${place}, and run argosy test. If the handler refuses the object there on purpose, change the object.`;
}
