/**
 * Who may write. One process leads by a Lease, for a term. It hands over without waiting for the runs that it has begun.
 *
 * Guarantees, each with a test in tests/unit/leadership*.test.ts or tests/integration/leadership.test.ts
 * - At most one process may write an object at a time. Test: "never lets two processes write one object, whatever happens".
 * - A term that has ended never begins again. Test: "ends a term for ever, and begins another one".
 * - A handover frees the lease at once, while the old process ends its runs. Test: "hands over at once".
 * - The runs of a process that dies in a handover are taken over after its lease's time. Test: "takes over the runs of one that
 *   died while it finished them".
 * - The leader keeps its term if another client writes or deletes the Lease. Tests: "goes on leading …" in
 *   tests/unit/leadershipMeddling.test.ts.
 * - The Lease of a dead leader is taken even if other clients keep touching it. Tests: "a sign of life of a Lease's holder", and "is
 *   taken from a dead leader although another client sets an annotation to and fro".
 * - A leader ends its term if etcd was restored from a backup: what it knows may be later than what the API server has. Test:
 *   "ends the term and begins another one when etcd is restored to an earlier time of the same term". Until then no other process
 *   leads. Tests: "is led by one at a time when etcd is restored …".
 * - Two processes of the same identity are two processes. Test: "lets one of two processes of the same identity lead".
 *
 * Assumptions
 * - The speeds of two machines' monotonic clocks differ by less than a third. What they show does not matter, nor does the
 *   time of day.
 * - Every write asks the term when it leaves, with the key of its object.
 *
 * Caveats
 * - The API server may do a write after the term's end that left before. Versions guard what must not be overwritten.
 * - On some machines the monotonic clock stands still during sleep. A leader that wakes there trusts its lease for up to two
 *   thirds of the lease's time, until its next renewal fails.
 * - If the Lease is deleted or etcd is restored, a process that has not seen the last state of the Lease may take it at once. That
 *   process cannot tell this from a first start.
 * - If a client empties the whole specification of a dead leader's Lease and then keeps touching that Lease, no process takes it.
 *   No process can tell this from a leader that corrects the Lease each time.
 *
 * @see https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
 */

import { Handover } from "./handover";
import { type LeaseApi, ROLLOUT_ANNOTATION } from "./lease";
import { type Clock, OurLease, SYSTEM_CLOCK } from "./ourLease";
import { Term } from "./term";

/** What {@link Leadership.handOver} waits for. */
export interface Unfinished {
  /**
   * The keys of the runs that have not ended, and of the objects about which something is still to be reported. If a key is added
   * later, the term does not allow it any more: see {@link Term.narrow}.
   */
  readonly unfinished: () => readonly string[];
  /** Resolves when all of them have ended. */
  readonly ended: Promise<void>;
}

/** How often we try to take a free lease that others write at the same time, before the next round. */
const MOST_ATTEMPTS = 5;

/**
 * Stands for election, leads, and hands over. A leader may write for two thirds of the lease's time after it *began* its last
 * renewal. So a leader that was frozen knows that it is too late. Another process takes the lease when it has seen it unchanged
 * for its whole time, by its own clock. This class says when the Lease is read and written, and {@link OurLease} how.
 */
export class Leadership {
  private readonly clock: Clock;
  private readonly leaseMs: number;
  private readonly lease: OurLease;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private current: Term | undefined;
  private handingOver: Promise<void> = Promise.resolve();
  private endHandover: () => void = () => {};
  /** Who led when we last looked. */
  private seenHolder: string | undefined;

  constructor(
    private readonly options: {
      readonly lease: LeaseApi;
      /** Who we are: unique among the processes that stand for election. */
      readonly identity: string;
      /** How long a lease holds without renewal, in seconds. @default 15 */
      readonly leaseSeconds?: number | undefined;
      /** What tells this program from every other. @default unknown: {@link Leadership.markAsked} marks nothing */
      readonly program?: string | undefined;
      /** Called when we lead. Every write asks this term. */
      readonly onLeading: (term: Term) => void;
      /** Called when the term has ended. Another process may lead then. Not called after {@link Leadership.stop} or a handover. */
      readonly onLost: () => void;
      /** Called when another process is seen to lead, once for each such process. */
      readonly onStandby?: (leader: string) => void;
      /** Called when {@link Leadership.blockedKeys} have changed, while we lead. */
      readonly onBlockedChange?: () => void;
      /** Called when a request about the Lease has failed. It is tried again. */
      readonly onError?: (error: Error) => void;
      /** @default the clocks of this machine */
      readonly clock?: Clock;
    },
  ) {
    this.clock = options.clock ?? SYSTEM_CLOCK;
    this.leaseMs = (options.leaseSeconds ?? 15) * 1000;
    this.lease = new OurLease({
      api: options.lease,
      identity: options.identity,
      leaseMs: this.leaseMs,
      program: options.program,
      clock: this.clock,
      onBlockedChange: () => {
        if (this.term) options.onBlockedChange?.();
      },
    });
  }

  /** Begins to stand for election. */
  start(): void {
    this.running = this.run();
  }

  /** The term in which we lead. Undefined if we do not lead, and after a handover. */
  get term(): Term | undefined {
    return this.current?.hasEnded ? undefined : this.current;
  }

  /**
   * The identity of the leader, as far as we know: our own, or that of the one who holds the lease and has renewed it within its
   * time. Undefined if there is none.
   */
  get holder(): string | undefined {
    if (this.term) return this.options.identity;
    return (!this.lease.isFree && this.lease.spec.holderIdentity) || undefined;
  }

  /** The keys of runs that other processes began when they led and that have not ended. No run may begin for these keys. */
  get blockedKeys(): ReadonlySet<string> {
    return this.lease.blockedKeys;
  }

  /** @see OurLease.forgetRestore */
  forgetRestore(): boolean {
    return this.lease.forgetRestore();
  }

  /** @see OurLease.exceptions */
  get exceptions(): readonly string[] | undefined {
    return this.lease.exceptions;
  }

  /** What the Lease said of a staged roll-out when we last saw it. Undefined: nothing. */
  get rollout(): string | undefined {
    return this.lease.annotations[ROLLOUT_ANNOTATION];
  }

  /**
   * Writes the state of a staged roll-out into the Lease.
   * @returns false if that failed, also because another client has written it
   */
  async writeRollout(text: string): Promise<boolean> {
    const { term } = this;
    return term !== undefined && (await this.tried(this.lease.writeRollout(term, text)));
  }

  /** Notes in the Lease that this program has asked about every object. If that fails, the next process asks again. */
  async markAsked(exceptions: readonly string[]): Promise<void> {
    const { term } = this;
    if (term) await this.tried(this.lease.markAsked(term, exceptions));
  }

  /**
   * Ends the term and frees the lease, so that another process need not wait for its end. Runs that go on after a handover may
   * not write any more.
   */
  async stop(): Promise<void> {
    await this.endLoop();
    this.endHandover();
    await this.handingOver;
    await this.free();
  }

  private async free(): Promise<void> {
    const { current } = this;
    this.current = undefined;
    current?.end();
    // The lease is still ours, even if the term ended earlier.
    if (current) await this.tried(this.lease.free());
  }

  /**
   * Frees the lease at once, and lets the runs that have not ended go on. From then on the term allows only their keys. While
   * there are more keys than a Lease has room for, it keeps the lease instead.
   * @returns a promise that resolves when all runs have ended, or may not write any more
   */
  handOver({ unfinished, ended }: Unfinished): Promise<void> {
    const done = new AbortController();
    this.endHandover = () => done.abort();
    void ended.then(this.endHandover, this.endHandover);
    this.handingOver = this.finish(unfinished, done);
    return this.handingOver;
  }

  private async finish(unfinished: Unfinished["unfinished"], done: AbortController): Promise<void> {
    await this.endLoop();
    const { term } = this;
    if (!term) return;
    const { identity } = this.options;
    const handover = new Handover(this.lease, term, { identity, leaseSeconds: this.leaseMs / 1000 });
    // Keys that another process still had to finish were never ours.
    const { blockedKeys: others } = this;
    let begun = false;
    while (!term.hasEnded && !done.signal.aborted) {
      const from = this.clock.now();
      const keys = unfinished().filter((key) => !others.has(key));
      begun ||= handover.hasRoomFor(keys);
      if (begun) this.current = undefined;
      const ok = await this.tried(begun ? handover.renew(keys) : this.lease.renew(term));
      const waitMs = this.untilNext(from, this.leaseMs / (ok ? 6 : 15));
      await this.clock.pause(Math.min(waitMs, term.remainingMs), done.signal);
    }
    if (!begun) return this.free();
    term.end();
    await this.tried(handover.remove());
  }

  private async endLoop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const from = this.clock.now();
      const ok = await this.tried(this.round());
      if (this.current?.hasEnded) this.lose();
      const { holder, seenHolder } = this;
      this.seenHolder = holder;
      if (holder !== undefined && holder !== seenHolder && !this.term) this.options.onStandby?.(holder);
      // A leader whose renewal failed has little time. A standby should soon take a lease that was freed.
      const often = !ok ? 15 : this.current ? 6 : 12;
      const waitMs = this.untilNext(from, (this.leaseMs / often) * (0.8 + Math.random() * 0.4));
      await this.clock.pause(Math.min(waitMs, this.current?.remainingMs ?? waitMs), signal);
      if (this.current?.hasEnded) this.lose();
    }
  }

  /** The time until the next round, in milliseconds. A round that took long counts: the time of the term runs from its beginning. */
  private untilNext(from: number, roundMs: number): number {
    return Math.max(0, from + roundMs - this.clock.now());
  }

  /** Renews the lease, takes it, or only looks at it. */
  private async round(): Promise<void> {
    if (this.current) {
      await this.lease.renew(this.current);
      return this.lease.removeStale(this.current);
    }
    await this.lease.look();
    for (let attempt = 0; attempt < MOST_ATTEMPTS && this.lease.isFree; attempt++) {
      if (this.stopping.signal.aborted || (await this.acquire())) return;
      await this.lease.look();
    }
  }

  /** Takes the lease as it was seen, and leads. @returns false if it has changed since */
  private async acquire(): Promise<boolean> {
    const until = await this.lease.acquire();
    if (until === undefined) return false;
    const term = new Term(
      () => this.clock.now(),
      until,
      (key) => this.blockedKeys.has(key),
    );
    if (term.hasEnded) return true;
    this.current = term;
    this.options.onLeading(term);
    return true;
  }

  private lose(): void {
    const { current } = this;
    this.current = undefined;
    current?.end();
    this.options.onLost();
  }

  private async tried(action: Promise<void>): Promise<boolean> {
    try {
      await action;
      return true;
    } catch (error) {
      this.options.onError?.(error as Error);
      return false;
    }
  }
}
