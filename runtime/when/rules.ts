import type { RateLimit } from "../base/limits";
import type { Cause } from "../base/turn";
import type { News } from "../observe/news";
import type { Priority } from "./readyKeys";

/** How soon news make an object due. */
export interface Rule {
  /** Why its run begins. @default "time", or "retry" if the last run failed */
  readonly cause?: Cause;
  /** Which of the objects that are due is next. */
  readonly priority: Priority;
  /** The object becomes due after this time, in milliseconds. Further such news until then make no further run. @default 0 */
  readonly afterMs?: number;
  /** How often such news make one object due. @default as often as they come */
  readonly rate?: RateLimit;
  /** The time between objects that are woken at once, in milliseconds, from the {@link AT_ONCE}th on. @default 0 */
  readonly gapMs?: number;
  /** The contest in which the object may be, which slows such news down. @default none */
  readonly contest?: "children" | "uses";
  /** Whether such news are a round of that contest. @default false */
  readonly isRound?: true;
  /** Whether an object that failed is tried before its backoff ends. */
  readonly endsBackoff: boolean;
  /** Whether only the leader reacts, because a term begins with a look at every object. @default false */
  readonly isForLeader?: true;
}

/** How many objects are woken at once by one change. */
export const AT_ONCE = 100;
/** How often a used object that keeps changing wakes an object. */
const USED_RATE: RateLimit = { burst: 5, refillMs: 1_000 };
/** A used object wakes all its users, behind newer changes and spread over time. */
const USED: Rule = { cause: "used", priority: "routine", rate: USED_RATE, gapMs: 2, endsBackoff: true };
const CHANGE: Rule = { priority: "change", endsBackoff: true };
const CHILD: Rule = { cause: "child", priority: "child", contest: "children", endsBackoff: false };
/** The deletion of several children leads to one correction. */
const CORRECTION: Rule = { ...CHILD, afterMs: 20, endsBackoff: true };
const ROUTINE: Rule = { priority: "routine", endsBackoff: true };

/**
 * What wakes an object, and how soon: the one table.
 *
 * | news | cause | priority | due | ends a backoff |
 * | --- | --- | --- | --- | --- |
 * | object changed | watch | change | at once | yes |
 * | object stripped of a finalizer or the memory | watch | change | at once five times, then every 10 s | yes |
 * | object ready, when it is first seen | time | routine | at once | yes |
 * | object unready, when it is first seen in a generation that was handled | time | change | at once | yes |
 * | object gone, and a caller waits for a run, or its remains must be deleted by us | time | change | at once | yes |
 * | remains of an object that is gone | time | routine | after 1 s | yes |
 * | child reports | child | child | after 100 ms, once a second, not before the next correction in a contest | no |
 * | child progresses: it is not ready yet | child | child | after 1 s, not before the next correction | no |
 * | child drifted | child | child | after 20 ms, in a contest later each time | yes |
 * | child gone that we deleted | child | child | after 20 ms, not before the next correction | yes |
 * | used object changed | used | routine | at once five times, then every second; the 101st user and later ones 2 ms apart | yes |
 * | used object changed by an operator | used | routine | the same, in a cycle later each time | yes |
 * | children unserved | time | routine | at once | yes |
 * | memory gone | time | routine | at once | yes |
 * | kind listed, and the object is what is left of one of others | time | routine | at once | yes |
 * | woken by an event from outside | event | change | at once | yes |
 * | hinted, requested | hint, request | change | at once | yes |
 * | taken over, handler renewed | time | change | at once | yes |
 * | run in a pod changed, place for one free | time | change | at once | yes |
 * | term begun, program of runs in pods renewed, stage of a roll-out opened | time | routine | at once | yes |
 * | resync turn | time | routine | at its turn | no |
 * | has room in memory again | as before | child | at once | no |
 *
 * A status that comes up is written many times. Its reports take no token of the limit of other reports, so that the report that
 * it is ready need not wait.
 */
export const RULES = {
  "object changed": { ...CHANGE, cause: "watch" },
  "object stripped": { ...CHANGE, cause: "watch", rate: { burst: 5, refillMs: 10_000 } },
  "object ready": ROUTINE,
  // It has not changed since it was handled.
  "object unready": CHANGE,
  "object gone": { ...CHANGE, isForLeader: true },
  // Children of a deleted object are deleted one after another. A single look covers all of them.
  remains: { ...ROUTINE, afterMs: 1_000, isForLeader: true },
  "child reports": { ...CHILD, afterMs: 100, rate: { burst: 1, refillMs: 1_000 } },
  "child progresses": { ...CHILD, afterMs: 1_000 },
  "child drifted": { ...CORRECTION, isRound: true },
  "child gone": CORRECTION,
  "used changed": USED,
  "used changed by an operator": { ...USED, contest: "uses", isRound: true },
  "children unserved": ROUTINE,
  "memory gone": ROUTINE,
  "kind listed": { ...ROUTINE, isForLeader: true },
  woken: { ...CHANGE, cause: "event" },
  hinted: { ...CHANGE, cause: "hint" },
  requested: { ...CHANGE, cause: "request" },
  "taken over": CHANGE,
  "handler renewed": CHANGE,
  "run changed": { ...CHANGE, isForLeader: true },
  "place free": { ...CHANGE, isForLeader: true },
  "program renewed": { ...ROUTINE, isForLeader: true },
  "stage opened": { ...ROUTINE, isForLeader: true },
  "term begun": ROUTINE,
  "resync turn": { priority: "routine", endsBackoff: false },
  "has room": { priority: "child", endsBackoff: false },
} as const satisfies Readonly<Record<string, Rule>>;

/** What is known about the object of some news, and about this process. */
export interface Circumstances {
  /** Whether the object is known, and not only what is left of it. */
  readonly isKnown: boolean;
  /** Whether the object with the uid of the news is gone or being deleted. */
  readonly isGoing: boolean;
  /** Whether the objects are the operator's own, so that Kubernetes deletes their children. */
  readonly isOurs: boolean;
  /** Whether a caller waits for a run of the object. */
  readonly isAwaited: boolean;
  readonly isLeading: boolean;
}

/** The rule of some news. Undefined: they wake no object. */
export function ruleFor(news: News, circumstances: Circumstances): Rule | undefined {
  const row = rowOf(news, circumstances);
  const rule: Rule | undefined = row && RULES[row];
  return rule?.isForLeader && !circumstances.isLeading ? undefined : rule;
}

function rowOf(news: News, about: Circumstances): keyof typeof RULES | undefined {
  const { kind } = news;
  if (kind === "former kind") return undefined;
  if (kind === "object gone") return about.isOurs && !about.isAwaited ? undefined : kind;
  // The remains of our own objects are deleted in the background.
  if (/^(child|memory) /.test(kind) && !about.isKnown) return about.isOurs ? undefined : "remains";
  // A watch may show what we have just created before the answer does.
  if (kind === "memory created") return undefined;
  // A child that goes with its owner has not drifted: in a foreground deletion it goes first. A new object of the owner's name may
  // wait for the child's name.
  if (kind === "child drifted" && about.isGoing) return "child gone";
  return kind === "used changed" && news.isByOperator ? "used changed by an operator" : kind;
}
