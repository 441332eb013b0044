import { monotonicNow } from "../base/clock";

/**
 * The classes of requests: to keep the lease, to make the cluster right, to read, and all that can wait: to write a child that is ready
 * as soon as it exists, to remember in a status what was done, to report it.
 */
export type RequestClass = "lease" | "work" | "read" | "later";

/** How the {@link Gate} orders a request, and on whose behalf the request is sent. */
export interface RequestTraits {
  /** @default "read" */
  readonly class?: RequestClass;
  /** Throws if the sender may not send any more. It is called when the request leaves, not when the request is queued. */
  readonly fence?: () => void;
  /** Requests of one flow, such as all of an object, never take all the places of their class. @default a flow of its own */
  readonly flow?: string;
  /** Ends the request. A request that still waits leaves the queue. */
  readonly signal?: AbortSignal;
}

/** The classes whose requests queue. A request of the class "lease" never does. */
type Queued = Exclude<RequestClass, "lease">;

/**
 * No request gives way to one that has been on its way for this long. The API server no longer works on it, but waits for
 * something else, such as a webhook. A single write that hangs would otherwise delay those of all other objects.
 */
const LONG_MS = 1_000;
/**
 * At 25 ms a request these are 2,500 requests a second, more than an API server gives one client. Further requests wait here, in
 * order of their class, rather than in the API server's queues, which do not know our classes.
 */
export const IN_FLIGHT = 64;
/** An object with thousands of children leaves most places to the others. Lists are one flow, and so are statuses and reports. */
export const IN_FLIGHT_OF_FLOW = 16;
/**
 * The parts of the places that reads have at most, and what can wait, such as most children. If a server of many kinds hangs, or a
 * webhook, all requests for these hang with it, for a minute and more.
 */
const PARTS = { read: 5 / 16, later: 9 / 16 };

/** A request that waits, or that is on its way. */
interface Turn {
  readonly queue: Queue;
  readonly flow: unknown;
  readonly since: number;
  /** When it left. */
  leftAt?: number;
  readonly leave: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** The requests of one class. */
interface Queue {
  /**
   * A request that has waited for this long, in milliseconds, goes before newer work. So each class is served, whatever the load of
   * the others.
   */
  readonly laterMs: number;
  /** How many of them may be on their way at once. */
  readonly most: number;
  /** Those that wait, by their flows. The flows are in the order of their turns. */
  readonly flows: Map<unknown, Set<Turn>>;
  readonly onTheirWay: Set<Turn>;
}

/**
 * Requests to one API server wait here for their turn. Requests of the class "lease" never wait. The others are bounded, all
 * together, for each class and for each flow, and are ordered by class and age. Flows of one class take turns, and a flow's requests
 * of one class leave in the order in which they came.
 *
 * The class "later" yields to work: the API server works on all its requests at once, so one of our requests that can wait would delay
 * one that cannot. Work that has been on its way for more than `LONG_MS` does not count. After five seconds, a request leaves anyway.
 *
 * Guarantees, each with a test in tests/unit/gate.test.ts:
 * - Every request leaves in the end, however much more urgent work keeps coming, as long as the requests on their way end.
 * - A fence is asked when its request leaves. If it throws, the request is not sent.
 * - Reads and requests that can wait leave places to work, also if all of them hang. They leave places to each other.
 * - Lists leave places to other reads, and reports to children, also if all of them hang.
 */
export class Gate {
  /** Each with {@link Queue.laterMs}. */
  private readonly queues: Readonly<Record<Queued, Queue>>;
  /** Looks again when the first request that yields has waited long enough, or the work to which it yields has taken long. */
  private patience: NodeJS.Timeout | undefined;
  private readonly flowsInFlight = new Map<unknown, number>();
  private inFlight = 0;
  /** Why no request passes any more. Undefined: requests pass. */
  private closed: Error | undefined;

  /**
   * @param now a monotonic clock, in milliseconds
   * @param most requests on their way at once
   * @param mostOfFlow requests of one flow on their way at once
   */
  constructor(
    private readonly now = monotonicNow,
    private readonly most = IN_FLIGHT,
    private readonly mostOfFlow = IN_FLIGHT_OF_FLOW,
  ) {
    const partly = (part: number) => Math.max(1, Math.floor(this.most * part));
    this.queues = {
      work: newQueue(0, this.most),
      read: newQueue(1_000, partly(PARTS.read)),
      later: newQueue(5_000, partly(PARTS.later)),
    };
  }

  /**
   * Calls `send` when the request's turn has come. The request has a place until the promise of `send` settles.
   * @throws what the fence throws, the signal's reason, or that of {@link close}. `send` is then not called
   */
  async pass<T>(traits: RequestTraits, send: () => Promise<T>): Promise<T> {
    if (this.closed) throw this.closed;
    traits.signal?.throwIfAborted();
    const { class: kind = "read", fence } = traits;
    if (kind === "lease") {
      fence?.();
      return send();
    }
    const queue = this.queues[kind];
    const flow = traits.flow ?? Symbol();
    const left = await this.turn(queue, flow, traits.signal);
    try {
      fence?.();
      return await send();
    } finally {
      this.inFlight--;
      queue.onTheirWay.delete(left);
      this.countFlow(flow, -1);
      this.next();
    }
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    return this.turns().length;
  }

  /** Refuses all requests that wait, and all that come, with this reason. */
  close(reason: Error): void {
    this.closed = reason;
    clearTimeout(this.patience);
    for (const { refuse } of this.turns()) refuse(reason);
  }

  private turns(): Turn[] {
    return Object.values(this.queues).flatMap(({ flows }) =>
      [...flows.values()].flatMap((turns) => [...turns]),
    );
  }

  /** Resolves when the request has a place. */
  private turn(queue: Queue, flow: unknown, signal: AbortSignal | undefined): Promise<Turn> {
    return new Promise((resolve, reject) => {
      const ignoreSignal = signal && onAbort(signal, () => turn.refuse(signal.reason));
      const turn: Turn = {
        queue,
        flow,
        since: this.now(),
        leave: () => {
          ignoreSignal?.();
          turn.leftAt = this.now();
          resolve(turn);
        },
        refuse: (reason) => {
          ignoreSignal?.();
          remove(turn);
          reject(reason);
        },
      };
      const turns = queue.flows.get(flow);
      if (turns) turns.add(turn);
      else queue.flows.set(flow, new Set([turn]));
      this.next();
    });
  }

  private next(): void {
    clearTimeout(this.patience);
    while (this.inFlight < this.most) {
      const { work, read, later } = this.queues;
      const now = this.now();
      const turns = [work, read].flatMap((queue) => this.firstOf(queue) ?? []);
      const last = this.firstOf(later);
      const isUrgent = turns[0]?.queue === work || isAnyNew(work, now);
      const waitMs = last && isUrgent ? Math.max(0, dueAt(last) - now) : 0;
      if (last && waitMs === 0) turns.push(last);
      const [first] = turns.sort((one, other) => dueAt(one) - dueAt(other));
      if (!first) {
        if (last) this.patience = setTimeout(() => this.next(), Math.ceil(Math.min(LONG_MS, waitMs)));
        return;
      }
      const { queue, flow } = first;
      remove(first);
      const others = queue.flows.get(flow);
      if (others) {
        // The other flows of the class have their turn before the next request of this one.
        queue.flows.delete(flow);
        queue.flows.set(flow, others);
      }
      this.inFlight++;
      queue.onTheirWay.add(first);
      this.countFlow(flow, 1);
      first.leave();
    }
  }

  /** The request of a class whose turn is next, of a flow that has a place. */
  private firstOf(queue: Queue): Turn | undefined {
    if (queue.onTheirWay.size >= queue.most) return undefined;
    // Few flows can be full at once, so this finds one soon.
    for (const [flow, turns] of queue.flows) {
      if ((this.flowsInFlight.get(flow) ?? 0) >= this.mostOfFlow) continue;
      return turns.values().next().value;
    }
    return undefined;
  }

  private countFlow(flow: unknown, change: 1 | -1): void {
    const count = (this.flowsInFlight.get(flow) ?? 0) + change;
    if (count === 0) this.flowsInFlight.delete(flow);
    else this.flowsInFlight.set(flow, count);
  }
}

function newQueue(laterMs: number, most: number): Queue {
  return { laterMs, most, flows: new Map(), onTheirWay: new Set() };
}

/** The time by which the turns of different classes are ordered. */
function dueAt({ queue, since }: Turn): number {
  return since + queue.laterMs;
}

/** Whether a request of the class has left within the last {@link LONG_MS}. */
function isAnyNew({ onTheirWay }: Queue, now: number): boolean {
  for (const { leftAt = now } of onTheirWay) if (now - leftAt < LONG_MS) return true;
  return false;
}

/** Takes a request out of its queue. */
function remove(turn: Turn): void {
  const { flows } = turn.queue;
  const turns = flows.get(turn.flow);
  turns?.delete(turn);
  if (turns?.size === 0) flows.delete(turn.flow);
}

/** What each signal calls. */
const calls = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `end` when the signal is aborted. A signal compares each new listener with all that it has, so thousands of requests that
 * listened to the signal of one term would take most of their time for that. Here they are one listener.
 * @returns takes the call back
 */
export function onAbort(signal: AbortSignal, end: () => void): () => void {
  const ends = calls.get(signal) ?? listenTo(signal);
  ends.add(end);
  return () => void ends.delete(end);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const ends = new Set<() => void>();
  calls.set(signal, ends);
  signal.addEventListener("abort", () => {
    for (const end of ends) end();
  });
  return ends;
}
