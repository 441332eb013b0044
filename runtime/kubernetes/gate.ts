import { onAbort } from "./onAbort";

/**
 * The classes of requests, the most urgent first: to keep the lease, to make the cluster right, to read, to list the kinds of children
 * and of used objects, to write a child that is ready as soon as it exists, to remember in a status what was done, to report it.
 */
export type RequestClass = "lease" | "work" | "read" | "list" | "unhurried" | "status" | "tell";

/** How the {@link Gate} orders a request, and on whose behalf the request is sent. */
export interface RequestTraits {
  /** @default "read" */
  readonly class?: RequestClass;
  /** Throws if the sender may not send any more. It is called when the request leaves, not when the request is queued. */
  readonly fence?: () => void;
  /** Requests of one flow, such as the key of an object, never take all the places. @default a flow of its own */
  readonly flow?: string;
  /** Ends the request. A request that still waits leaves the queue. */
  readonly signal?: AbortSignal;
}

/** The limits of a {@link Gate}. */
export interface GateOptions {
  /** Requests on their way at once. @default 64 */
  readonly inFlight?: number;
  /** Requests of one flow on their way at once. @default 16 */
  readonly inFlightOfFlow?: number;
  /** The monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** The classes whose requests queue. A request of the class "lease" never does. */
type Queued = Exclude<RequestClass, "lease">;

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
 * A class that yields holds at most this part of the places while a more urgent request is on its way or waits. The age of its own
 * requests does not matter. Otherwise the statuses of a burst would take the places of later objects' children.
 *
 * It also leaves this part free for each more urgent class, even an idle one. Otherwise requests that hang could hold every place.
 */
const PART = 1 / 8;
/** An object with thousands of children leaves most places to the others. */
const IN_FLIGHT_OF_FLOW = 16;
/**
 * The parts of the places that reads and lists have at most. If a server of many kinds hangs, or the conversion webhook of one kind
 * in many namespaces, every list of these kinds hangs with it, for a minute and more.
 */
const PART_OF_READS = 1 / 2;
const PART_OF_LISTS = 3 / 8;

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
 * together and for each flow, and are ordered by class and age. Flows of one class take turns, and a flow's requests of one
 * class leave in the order in which they came.
 *
 * The classes "unhurried", "status" and "tell" yield. Their requests leave when no more urgent request is on its way. Requests that
 * have been on their way for more than `LONG_MS` do not count. After the time of its class, a request leaves anyway. Beside more
 * urgent requests, a class that yields has only a few places.
 *
 * Guarantees, each with a test in tests/unit/gate.test.ts:
 * - Every request leaves in the end, however much more urgent work keeps coming, as long as the requests on their way end.
 * - A fence is asked when its request leaves. If it throws, the request is not sent.
 * - Requests that can wait leave places to work and to reads, also if all of them hang.
 * - Lists leave places to reads, and lists and reads together leave places to work, also if all of them hang.
 */
export class Gate {
  private readonly now: () => number;
  private readonly most: number;
  private readonly mostOfFlow: number;
  private readonly part: number;
  /** Each with {@link Queue.laterMs}. */
  private readonly queues: Readonly<Record<Queued, Queue>>;
  private readonly all: readonly Queue[];
  /**
   * Each of these yields to those before it. The API server works on all its requests at once, so one of our requests that can wait
   * would delay another one that cannot. Reads and lists yield to nobody, and nobody yields to them.
   */
  private readonly yielding: readonly Queue[];
  /** Looks again when the first request that yields has waited long enough, or those to which it yields have taken long. */
  private patience: NodeJS.Timeout | undefined;
  private readonly flowsInFlight = new Map<unknown, number>();
  private inFlight = 0;
  /** Why no request passes any more. Undefined: requests pass. */
  private closed: Error | undefined;

  constructor(options: GateOptions = {}) {
    this.now = options.now ?? (() => performance.now());
    this.most = options.inFlight ?? IN_FLIGHT;
    this.mostOfFlow = options.inFlightOfFlow ?? IN_FLIGHT_OF_FLOW;
    this.part = Math.floor(this.most * PART);
    const partly = (part: number) => Math.max(1, Math.floor(this.most * part));
    this.queues = {
      work: newQueue(0, this.most),
      read: newQueue(1_000, partly(PART_OF_READS)),
      list: newQueue(1_000, partly(PART_OF_LISTS)),
      unhurried: newQueue(3_000, this.most),
      status: newQueue(4_000, this.most),
      tell: newQueue(5_000, this.most),
    };
    this.all = Object.values(this.queues);
    this.yielding = (["work", "unhurried", "status", "tell"] as const).map((name) => this.queues[name]);
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
    let waiting = 0;
    for (const { flows } of this.all) for (const turns of flows.values()) waiting += turns.size;
    return waiting;
  }

  /** Refuses all requests that wait, and all that come, with this reason. */
  close(reason: Error): void {
    this.closed = reason;
    clearTimeout(this.patience);
    for (const { flows } of this.all)
      for (const turns of flows.values()) for (const { refuse } of turns) refuse(reason);
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
      const turns = this.all.map((queue) => this.firstOf(queue)).filter((turn) => turn !== undefined);
      const waits = turns.map((turn) => this.yieldsForMs(turn, turns));
      const [first] = turns
        .filter((_, at) => waits[at] === 0)
        .sort((one, other) => dueAt(one) - dueAt(other));
      if (!first) {
        const waitMs = Math.min(LONG_MS, ...waits);
        if (turns.length > 0) this.patience = setTimeout(() => this.next(), Math.ceil(waitMs));
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

  /**
   * How much longer a request gives way to more urgent ones, in milliseconds. Infinity: until one of those on their way has ended.
   * @param turns the turns of all classes, of which only one can be next
   */
  private yieldsForMs(turn: Turn, turns: readonly Turn[]): number {
    const { queue } = turn;
    const at = this.yielding.indexOf(queue);
    if (at <= 0) return 0;
    if (!this.isPlaceLeft(at)) return Number.POSITIVE_INFINITY;
    const others = this.yielding.slice(0, at);
    const isUrgent = (other: Queue) =>
      other.onTheirWay.size > 0 || turns.some((each) => each.queue === other);
    if (!others.some(isUrgent)) return 0;
    // Requests that take long hold their places too.
    if (queue.onTheirWay.size >= Math.max(1, this.part)) return Number.POSITIVE_INFINITY;
    const now = this.now();
    return others.some((other) => isAnyNew(other, now)) ? Math.max(0, dueAt(turn) - now) : 0;
  }

  /**
   * Whether one more request of this class may leave. This class and all less urgent ones must leave a part of the places to each
   * more urgent class. The more urgent classes that yield are checked too, since they may have filled their places first.
   * @param at the place of the class among those that yield
   */
  private isPlaceLeft(at: number): boolean {
    let count = 0;
    for (let from = this.yielding.length - 1; from > 0; from--) {
      count += this.yielding[from]?.onTheirWay.size ?? 0;
      if (from <= at && count >= this.most - this.part * from) return false;
    }
    return true;
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
