/**
 * The classes of requests, the most urgent first: to keep the lease, to make the cluster right, to read, to write a child that is
 * ready as soon as it exists, to remember in a status what was done, to report it.
 */
export type RequestClass = "lease" | "work" | "read" | "instant" | "status" | "tell";

/** On whose behalf a request is sent. */
export interface Passage {
  /** @default "read" */
  readonly class?: RequestClass;
  /** Throws if the sender may not send any more. It is called when the request leaves, not when the request is queued. */
  readonly fence?: () => void;
  /** Requests of one share, such as the key of an object, never take all the places. @default a share of its own */
  readonly share?: string;
  /** Ends the request. A request that still waits leaves the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** The limits of a {@link Gate}. */
export interface GateOptions {
  /** Requests on their way at once. @default 64 */
  readonly inFlight?: number;
  /** Requests of one share on their way at once. @default 16 */
  readonly inFlightOfShare?: number;
  /** The monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** The classes whose requests queue. A request of the class "lease" never does. */
type Queued = Exclude<RequestClass, "lease">;

/**
 * How many milliseconds later the requests of a class count as having arrived. A request that has waited this long is sent before
 * newer work. So each class is served, whatever the load of the others.
 */
const LATER_MS: Readonly<Record<Queued, number>> = {
  work: 0,
  read: 1_000,
  instant: 3_000,
  status: 4_000,
  tell: 5_000,
};
const QUEUES = Object.keys(LATER_MS) as Queued[];
/**
 * The classes that yield, each with the classes to which it yields. The API server works on all its requests at once, so one of
 * our requests that can wait would delay another one that cannot.
 */
const YIELDS_TO: Readonly<Partial<Record<Queued, readonly Queued[]>>> = {
  instant: ["work"],
  status: ["work", "instant"],
  tell: ["work", "instant", "status"],
};
/**
 * Nobody gives way to a request that has been on its way for this long. The API server no longer works on it, but waits for something
 * else, such as a webhook. A single write that hangs would otherwise delay those of all other objects.
 */
const LONG_MS = 1_000;
/**
 * At 25 ms a request these are 2,500 requests a second, more than an API server gives one client. Further requests wait here, in
 * order of their class, rather than in the API server's queues, which do not know our classes.
 */
const IN_FLIGHT = 64;
/**
 * The part of the places that a class that yields has at most while a more urgent request is on its way or waits for a place, however
 * long its own requests have waited. Otherwise the statuses of a burst would take the places of the children of its later objects.
 *
 * Such a class also leaves this part to each class to which it yields, even if nothing is on its way there. Otherwise statuses that
 * hang, as when a webhook does, could hold every place until they end.
 */
const PART = 1 / 8;
/** An object with thousands of children leaves most places to the others. */
const IN_FLIGHT_OF_SHARE = 16;

interface Waiting {
  readonly since: number;
  /** When it left. */
  leftAt?: number;
  readonly leave: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** A request that waits, and its queue. */
interface Turn {
  readonly queue: Queued;
  readonly share: unknown;
  readonly waiting: Waiting;
}

/**
 * Requests to one API server wait here for their turn. Requests of the class "lease" never wait. The others are bounded, all
 * together and for each share, and are ordered by class and age. Shares of one class take turns, and a share's requests of one
 * class leave in the order in which they came. Requests for children that are ready at once yield, and so do those that remember
 * or report: they leave when nothing more urgent is on its way, apart from requests that take long, or after the time of their
 * class in {@link LATER_MS}. Beside more urgent ones they have a few places only, and never all of them.
 *
 * Guarantees, each with a test in tests/unit/gate.test.ts:
 * - Every request leaves in the end, however much more urgent work keeps coming, as long as the requests on their way end.
 * - A fence is asked when its request leaves. If it throws, the request is not sent.
 * - Requests that can wait leave places to work and to reads, also if all of them hang.
 */
export class Gate {
  private readonly now: () => number;
  private readonly most: number;
  private readonly mostOfShare: number;
  private readonly part: number;
  /** By class, the shares with requests that wait, in the order of their turns. */
  private readonly queues: Record<Queued, Map<unknown, Set<Waiting>>> = {
    work: new Map(),
    instant: new Map(),
    read: new Map(),
    status: new Map(),
    tell: new Map(),
  };
  /** By class, the requests on their way. */
  private readonly onTheirWay: Record<Queued, Set<Waiting>> = {
    work: new Set(),
    instant: new Set(),
    read: new Set(),
    status: new Set(),
    tell: new Set(),
  };
  /** Looks again when the first request that yields has waited long enough, or those to which it yields have taken long. */
  private patience: NodeJS.Timeout | undefined;
  private readonly sharesInFlight = new Map<unknown, number>();
  private inFlight = 0;
  /** Why no request passes any more. Undefined: requests pass. */
  private closed: Error | undefined;

  constructor(options: GateOptions = {}) {
    this.now = options.now ?? (() => performance.now());
    this.most = options.inFlight ?? IN_FLIGHT;
    this.mostOfShare = options.inFlightOfShare ?? IN_FLIGHT_OF_SHARE;
    this.part = Math.floor(this.most * PART);
  }

  /**
   * Calls `send` when the request's turn has come. The request has a place until the promise of `send` settles.
   * @throws what the fence throws, the signal's reason, or that of {@link close}. `send` is then not called
   */
  async pass<T>(passage: Passage, send: () => Promise<T>): Promise<T> {
    if (this.closed) throw this.closed;
    passage.signal?.throwIfAborted();
    const { class: queue = "read", fence } = passage;
    if (queue === "lease") {
      fence?.();
      return send();
    }
    const share = passage.share ?? Symbol("a share of its own");
    const left = await this.turn(queue, share, passage.signal);
    try {
      fence?.();
      return await send();
    } finally {
      this.inFlight--;
      this.onTheirWay[queue].delete(left);
      this.countShare(share, -1);
      this.next();
    }
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of QUEUES) for (const requests of this.queues[queue].values()) waiting += requests.size;
    return waiting;
  }

  /** Refuses all requests that wait, and all that come, with this reason. */
  close(reason: Error): void {
    this.closed = reason;
    clearTimeout(this.patience);
    for (const queue of QUEUES) {
      const shares = [...this.queues[queue].values()];
      this.queues[queue].clear();
      for (const requests of shares) for (const { refuse } of requests) refuse(reason);
    }
  }

  /** Resolves when the request has a place. */
  private turn(queue: Queued, share: unknown, signal: AbortSignal | undefined): Promise<Waiting> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.remove(queue, share, waiting);
        reject(signal?.reason);
      };
      const ignoreSignal = () => signal?.removeEventListener("abort", abort);
      const waiting: Waiting = {
        since: this.now(),
        leave: () => {
          ignoreSignal();
          waiting.leftAt = this.now();
          resolve(waiting);
        },
        refuse: (reason) => {
          ignoreSignal();
          reject(reason);
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      const requests = this.queues[queue].get(share);
      if (requests) requests.add(waiting);
      else this.queues[queue].set(share, new Set([waiting]));
      this.next();
    });
  }

  private next(): void {
    clearTimeout(this.patience);
    while (this.inFlight < this.most) {
      const turns = QUEUES.map((queue) => this.firstOf(queue)).filter((turn) => turn !== undefined);
      const waits = turns.map((turn) => this.yieldsForMs(turn, turns));
      const [first] = turns
        .filter((_, at) => waits[at] === 0)
        .sort((one, other) => dueAt(one) - dueAt(other));
      if (!first) {
        const waitMs = Math.min(LONG_MS, ...waits);
        if (turns.length > 0) this.patience = setTimeout(() => this.next(), Math.ceil(waitMs));
        return;
      }
      const { queue, share, waiting } = first;
      this.remove(queue, share, waiting);
      const others = this.queues[queue].get(share);
      if (others) {
        // The other shares of the class have their turn before the next request of this one.
        this.queues[queue].delete(share);
        this.queues[queue].set(share, others);
      }
      this.inFlight++;
      this.onTheirWay[queue].add(waiting);
      this.countShare(share, 1);
      waiting.leave();
    }
  }

  /** The request of a class whose turn is next, of a share that has a place. */
  private firstOf(queue: Queued): Turn | undefined {
    // Few shares can be full at once, so this finds one soon.
    for (const [share, requests] of this.queues[queue]) {
      if ((this.sharesInFlight.get(share) ?? 0) >= this.mostOfShare) continue;
      return { queue, share, waiting: requests.values().next().value as Waiting };
    }
    return undefined;
  }

  /**
   * How much longer a request gives way to more urgent ones, in milliseconds. Infinity: until one of those on their way has ended.
   * @param turns the turns of all classes, of which only one can be next
   */
  private yieldsForMs(turn: Turn, turns: readonly Turn[]): number {
    const { queue } = turn;
    const others = YIELDS_TO[queue];
    if (!others) return 0;
    if (this.countNoMoreUrgent(queue) >= this.most - this.part * others.length)
      return Number.POSITIVE_INFINITY;
    const isUrgent = (other: Queued) =>
      this.onTheirWay[other].size > 0 || turns.some((each) => each.queue === other);
    if (!others.some(isUrgent)) return 0;
    // Requests that take long hold their places too.
    if (this.onTheirWay[queue].size >= Math.max(1, this.part)) return Number.POSITIVE_INFINITY;
    const now = this.now();
    return others.some((other) => this.isAnyNew(other, now)) ? Math.max(0, dueAt(turn) - now) : 0;
  }

  /** The requests on their way of a class that yields, and of those that yield to it. */
  private countNoMoreUrgent(queue: Queued): number {
    let count = 0;
    for (const other of QUEUES)
      if (other === queue || YIELDS_TO[other]?.includes(queue)) count += this.onTheirWay[other].size;
    return count;
  }

  /** Whether a request of the class has left within the last {@link LONG_MS}. */
  private isAnyNew(queue: Queued, now: number): boolean {
    for (const { leftAt = now } of this.onTheirWay[queue]) if (now - leftAt < LONG_MS) return true;
    return false;
  }

  private remove(queue: Queued, share: unknown, waiting: Waiting): void {
    const requests = this.queues[queue].get(share);
    requests?.delete(waiting);
    if (requests?.size === 0) this.queues[queue].delete(share);
  }

  private countShare(share: unknown, change: 1 | -1): void {
    const count = (this.sharesInFlight.get(share) ?? 0) + change;
    if (count === 0) this.sharesInFlight.delete(share);
    else this.sharesInFlight.set(share, count);
  }
}

/** The time by which the turns of different classes are ordered. */
function dueAt({ queue, waiting }: Turn): number {
  return waiting.since + LATER_MS[queue];
}
