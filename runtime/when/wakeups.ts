import { KeyedRateLimiter, type RateLimit } from "../base/limits";
import { keyOf, type ObjectName } from "../base/objects";
import type { News } from "../observe/news";
import type { Contests } from "./contests";
import { AT_ONCE, type Circumstances, type Rule, ruleFor } from "./rules";
import type { WorkQueue } from "./workQueue";

/** What is known of the objects that {@link Wakeups} wake. */
export interface KnownNames {
  /** Whether an object of that name is known, and not only what is left of it. */
  has(name: ObjectName): boolean;
  /** Whether the object with that uid is known to be gone, or to be being deleted. */
  isGoing(name: ObjectName, uid: string): boolean;
}

/** The contests in which objects are. */
export interface ContestsOfObjects {
  /** About their children, which another client changes back each time. */
  readonly children: Contests;
  /** With the objects that they use: each changes the other. */
  readonly uses: Contests;
}

/**
 * If this many objects wait, a hint for another one is refused. Names cost memory, and any client that can send hints can invent
 * names.
 */
export const MOST_WAITING = 10_000;

/**
 * Puts objects into the queue because of news, by the rules in {@link RULES}.
 *
 * Guarantees, each with a test in tests/unit/wakeups.test.ts:
 * - A child that only reports makes at most one reconcile a second, and one more when it becomes ready. It ends no backoff.
 * - When a child becomes ready, its object is reconciled soon, whatever the child reported before.
 * - A child that drifted ends a backoff. It is corrected soon, unless its object is contested.
 * - In a contest, reports of children lead to no reconcile before the next correction.
 * - A finalizer or a memory that another client removes each time comes back less often.
 * - An object that many others use wakes all of them, behind newer changes and spread over time.
 * - Objects that change each other by their uses come to rest.
 * - A kind that is listed in a namespace wakes what is left of others' objects there, and nothing else.
 * - Names that a client invents cannot fill the memory.
 */
export class Wakeups {
  private readonly limiters = new Map<RateLimit, KeyedRateLimiter>();

  constructor(
    private readonly parts: {
      readonly queue: WorkQueue;
      /** Called after something was added to the queue. */
      readonly wake: () => void;
      readonly objects: KnownNames;
      /** Every object of which something is known. */
      readonly names: () => readonly ObjectName[];
      readonly contests: ContestsOfObjects;
      /** Whether the objects are the operator's own. */
      readonly isOurs: boolean;
      readonly isLeading: () => boolean;
      /** The callers that wait for runs, by the keys of the objects. */
      readonly requests: { has(key: string): boolean };
      /** A monotonic clock, in milliseconds: that of the queue. @default performance.now */
      readonly now?: () => number;
    },
  ) {}

  /** Whether there is room for an object that a request from outside names. An object that waits already needs no more room. */
  hasRoomFor(key: string): boolean {
    const { queue } = this.parts;
    return queue.depth < MOST_WAITING || queue.has(key);
  }

  /**
   * Puts the objects into the queue that some news concern.
   * @returns the keys of those that are contested from now on
   */
  wakeBy(news: News): string[] {
    const { queue, wake } = this.parts;
    const rule = ruleFor(news, this.circumstancesOf(news));
    if (news.kind === "object gone") queue.forget(keyOf(news.name));
    if (!rule) return [];
    const contested: string[] = [];
    for (const [index, key] of this.keysOf(news).entries()) {
      const afterMs = Math.max(0, (index - AT_ONCE) * (rule.gapMs ?? 0));
      if (this.enqueue(key, rule, afterMs)) contested.push(key);
    }
    wake();
    return contested;
  }

  /** @returns whether this makes the object contested */
  private enqueue(
    key: string,
    { priority, cause, endsBackoff, contest, isRound, ...rule }: Rule,
    leastMs: number,
  ) {
    const contests = contest && this.parts.contests[contest];
    const isNewlyContested = isRound === true && contests?.drifted(key) === true;
    const afterMs = Math.max(
      leastMs,
      rule.afterMs ?? 0,
      rule.rate ? this.limiterOf(rule.rate).reserve(key) : 0,
      // Each reconcile corrects whatever has drifted by then.
      contests?.delayMs(key) ?? 0,
    );
    this.parts.queue.add(key, { priority, cause, afterMs, endsBackoff });
    return isNewlyContested;
  }

  private circumstancesOf(news: News): Circumstances {
    const { objects, isOurs, isLeading, requests } = this.parts;
    const owner = "owner" in news && typeof news.owner !== "string" ? news.owner : undefined;
    const name = "name" in news ? news.name : owner;
    return {
      isKnown: name !== undefined && objects.has(name),
      isGoing: owner !== undefined && objects.isGoing(owner, owner.uid),
      isAwaited: name !== undefined && requests.has(keyOf(name)),
      isLeading: isLeading(),
      isOurs,
    };
  }

  /** The objects that some news concern. */
  private keysOf(news: News): readonly string[] {
    const { objects, names, isOurs } = this.parts;
    if ("key" in news) return [news.key];
    if ("name" in news) return [keyOf(news.name)];
    if ("users" in news) return news.users;
    if ("owners" in news) return news.owners.filter((owner) => objects.has(owner)).map(keyOf);
    if (news.kind === "former kind") return [];
    if ("owner" in news) return [keyOf(news.owner)];
    if (news.kind !== "kind listed") return names().map(keyOf);
    // What the list shows of an object of others that is gone is known only now.
    const left = isOurs ? [] : names().filter((name) => !objects.has(name));
    const { namespace } = news;
    return left.filter((name) => namespace === undefined || name.namespace === namespace).map(keyOf);
  }

  private limiterOf(rate: RateLimit): KeyedRateLimiter {
    const known = this.limiters.get(rate) ?? new KeyedRateLimiter(rate, this.parts.now);
    this.limiters.set(rate, known);
    return known;
  }
}
