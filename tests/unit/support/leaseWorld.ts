import { setImmediate as turnOfEventLoop } from "node:timers/promises";
import type { Json, JsonObject } from "../../../runtime/base/objects";
import type { JsonPatchOperation } from "../../../runtime/kubernetes/client";
import { ApiError } from "../../../runtime/kubernetes/errors";
import { Leadership } from "../../../runtime/leadership/leadership";
import type { Lease, LeaseApi, LeaseSpec } from "../../../runtime/leadership/lease";
import type { Clock } from "../../../runtime/leadership/ourLease";
import type { Term } from "../../../runtime/leadership/term";

/** How long a lease holds here. */
export const LEASE_SECONDS = 15;
/** The same in milliseconds. */
export const LEASE_MS = LEASE_SECONDS * 1_000;
/** Longer than a process that looks on waits between two looks, in milliseconds. */
export const LOOK_MS = 2_000;
/** What a user may write into a Lease that the API server accepts. */
export const MEDDLING: Record<string, (spec: LeaseSpec) => LeaseSpec> = {
  "takes everything out": () => ({}),
  "takes the holder out": ({ holderIdentity: _, ...spec }) => spec,
  "empties the holder": (spec) => ({ ...spec, holderIdentity: "" }),
  "takes the time of the last renewal out": ({ renewTime: _, ...spec }) => spec,
  "takes the time of the take-over out": ({ acquireTime: _, ...spec }) => spec,
  "takes the lease's time out": ({ leaseDurationSeconds: _, ...spec }) => spec,
  "shortens it to nothing": (spec) => ({ ...spec, leaseDurationSeconds: 0 }),
  "lets it hold for 68 years": (spec) => ({ ...spec, leaseDurationSeconds: 2 ** 31 - 1 }),
  "has counted its leaders up to the last number": (spec) => ({ ...spec, leaseTransitions: 2 ** 31 - 1 }),
  "renews it in the far future": (spec) => ({ ...spec, renewTime: "9999-12-31T23:59:59.000000Z" }),
};

/** One Lease, the processes that stand for election by it, and the time, which passes when a test says so. */
export class LeaseWorld {
  lease: Lease | undefined;
  now = 0;
  /** How long a request takes to the API server, and its answer back. */
  wayMs = 5;
  readonly processes: LeaseProcess[] = [];
  /** Called before a patch is done. */
  onPatch: (operations: readonly JsonPatchOperation[]) => void = () => {};
  /** Called before a Lease is created. */
  onCreate: () => void = () => {};
  /** The one that is due first is the first. */
  private readonly timers: { readonly at: number; readonly fire: () => void }[] = [];
  private version = 0;

  /** A process that stands for election from now on. */
  start(identity: string, program?: string): LeaseProcess {
    const process = new LeaseProcess(this, identity, program);
    this.processes.push(process);
    process.leadership.start();
    return process;
  }

  /** A process that leads. */
  async leader(identity = "a", program?: string): Promise<LeaseProcess> {
    const process = this.start(identity, program);
    await this.until(() => process.leadership.term !== undefined);
    return process;
  }

  /** One that leads, and another one that has seen that. */
  async pair(): Promise<[leader: LeaseProcess, standby: LeaseProcess]> {
    const both: [LeaseProcess, LeaseProcess] = [await this.leader("a"), this.start("b")];
    await this.pass(LEASE_MS);
    return both;
  }

  /** One that finishes its work on that object, and another one that leads by then. */
  async handedOver(key: string) {
    const [former, next] = [await this.leader("a"), this.start("b")];
    const handover = former.handOver(key);
    await this.until(() => next.mayWrite());
    return { former, next, handover };
  }

  /** Lets the time pass; `check` is called whenever something may have changed. */
  async pass(ms: number, check: () => void = () => {}): Promise<void> {
    const until = this.now + ms;
    await turnOfEventLoop();
    for (;;) {
      check();
      const [due] = this.timers;
      if (!due || due.at > until) break;
      this.timers.shift();
      this.now = Math.max(this.now, due.at);
      due.fire();
      await turnOfEventLoop();
    }
    this.now = until;
    check();
  }

  /** Lets the time pass until the condition holds, and gives how long that took. */
  async until(condition: () => boolean, withinMs = 60_000): Promise<number> {
    const from = this.now;
    while (!condition()) {
      if (this.now - from > withinMs) throw new Error(`not within ${withinMs} ms`);
      await this.pass(50);
    }
    return this.now - from;
  }

  after(ms: number, fire: () => void): void {
    const at = this.now + ms;
    this.timers.splice(this.timers.findLastIndex((timer) => timer.at <= at) + 1, 0, { at, fire });
  }

  /** Stores a Lease; undefined deletes it. A write that changes nothing makes no new version. */
  store(
    lease: (Pick<Lease, "spec"> & { metadata?: Partial<Lease["metadata"]> }) | undefined,
  ): Lease | undefined {
    if (
      lease &&
      JSON.stringify({ ...lease, metadata: { ...lease.metadata } }) === JSON.stringify(this.lease)
    ) {
      return this.lease;
    }
    this.version++;
    const uid = this.lease?.metadata.uid ?? `uid-${this.version}`;
    const resourceVersion = `${this.version}`;
    this.lease = lease && {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "lease", ...lease.metadata, uid, resourceVersion },
      spec: lease.spec ?? {},
    };
    return this.lease;
  }

  /** Puts a Lease back as it was, with the version that it had. The versions of later writes are beyond all that were seen. */
  restore(lease: Lease | undefined): void {
    this.lease = lease;
  }

  get holder(): string | undefined {
    return this.lease?.spec?.holderIdentity;
  }

  /** What the annotations of processes that finish their runs say. */
  get finishing(): { identity: string; keys: string[] }[] {
    return Object.values(this.lease?.metadata.annotations ?? {})
      .filter((text) => text.startsWith("{"))
      .map((text) => JSON.parse(text));
  }
}

/** One process of a {@link LeaseWorld}: it may be frozen, cut off from the API server, or lose its answers. */
export class LeaseProcess {
  readonly leadership: Leadership;
  /** The terms it has had, the last one last. */
  readonly terms: Term[] = [];
  readonly told: string[] = [];
  /** Who it said leads in its place, one after another. */
  readonly leaders: string[] = [];
  isAlive = true;
  private frozenUntil = 0;
  private cutOffUntil = 0;
  private losesAnswersUntil = 0;

  constructor(
    private readonly world: LeaseWorld,
    readonly identity: string,
    program?: string,
  ) {
    this.leadership = new Leadership({
      lease: this.api(),
      identity,
      program,
      leaseSeconds: LEASE_SECONDS,
      clock: this.clock(),
      onLeading: (term) => {
        this.terms.push(term);
        this.told.push("leading");
      },
      onLost: () => void this.told.push("lost"),
      onStandby: (leader) => void this.leaders.push(leader),
      onBlockedChange: () => void this.told.push(`blocked: ${[...this.leadership.blockedKeys].sort()}`),
    });
  }

  get term(): Term | undefined {
    return this.terms.at(-1);
  }

  /** Hands over while runs of these keys go on; `end` ends the run of one. */
  handOver(...keys: string[]) {
    const unfinished = new Set(keys);
    let finish = () => {};
    const ended = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const handover = {
      isOver: false,
      end: (key: string) => void (unfinished.delete(key) && unfinished.size === 0 && finish()),
    };
    const over = this.leadership.handOver({ unfinished: () => [...unfinished], ended });
    void over.then(() => {
      handover.isOver = true;
    });
    return handover;
  }

  /** Ends without a word. */
  kill(): void {
    this.isAlive = false;
    this.frozenUntil = Number.POSITIVE_INFINITY;
  }

  freeze(ms: number): void {
    this.frozenUntil = Math.max(this.frozenUntil, this.world.now + ms);
  }

  /** No request of it reaches the API server. */
  cutOff(ms: number): void {
    this.cutOffUntil = this.world.now + ms;
  }

  /** What it asks is done, and it is not told. */
  loseAnswers(ms: number): void {
    this.losesAnswersUntil = this.world.now + ms;
  }

  /** Whether a write of that key would leave now, in any of its terms. */
  mayWrite(key?: string): boolean {
    if (this.world.now < this.frozenUntil) return false;
    // Tests ask this so often that the stack traces of the refusals would take half of their time.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    const mayWrite = this.terms.some((term) => {
      try {
        term.assert(key);
        return true;
      } catch {
        return false;
      }
    });
    Error.stackTraceLimit = limit;
    return mayWrite;
  }

  private clock(): Clock {
    return {
      now: () => this.world.now,
      date: () => new Date(1_800_000_000_000 + this.world.now),
      pause: (ms, signal) =>
        new Promise((resolve) => {
          const wake = () => {
            signal.removeEventListener("abort", wake);
            this.run(resolve);
          };
          signal.addEventListener("abort", wake, { once: true });
          if (signal.aborted) wake();
          else this.world.after(ms, wake);
        }),
    };
  }

  /** Goes on with the process, when it is not frozen. */
  private run(action: () => void): void {
    if (this.frozenUntil === Number.POSITIVE_INFINITY) return;
    const frozenMs = this.frozenUntil - this.world.now;
    if (frozenMs > 0) this.world.after(frozenMs, () => this.run(action));
    else action();
  }

  private api(): LeaseApi {
    const { world } = this;
    return {
      get: (signal) => this.request(signal, () => world.lease),
      create: (spec, annotations, signal) =>
        this.request(signal, () => {
          if (world.lease) throw refusal(409);
          world.onCreate();
          return world.store({ spec, metadata: { annotations: { ...annotations } } }) as Lease;
        }),
      replace: (lease, signal) =>
        this.request(signal, () => {
          if (!world.lease) throw refusal(404);
          if ((lease.spec?.leaseTransitions ?? 0) > 2 ** 31 - 1) throw refusal(400);
          if (world.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) throw refusal(409);
          return world.store(lease) as Lease;
        }),
      patch: (operations, signal) =>
        this.request(signal, () => {
          world.onPatch(operations);
          if (!world.lease) throw refusal(404);
          const patched = structuredClone(world.lease) as Lease;
          for (const operation of operations) {
            const parts = operation.path.split("/").slice(1);
            const names = parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
            const name = names.pop() ?? "";
            let place = patched as unknown as JsonObject;
            for (const part of names) place = (place[part] ?? {}) as JsonObject;
            const found: Json | undefined = place[name];
            if (operation.op !== "add" && found === undefined) throw refusal(422);
            if (operation.op === "test" && found !== operation.value) throw refusal(422);
            if (operation.op === "remove") delete place[name];
            else if (operation.op !== "test") place[name] = operation.value;
          }
          return world.store(patched) as Lease;
        }),
    };
  }

  /** A request goes to the API server, is done there, and is answered, each in its time. */
  private request<T>(signal: AbortSignal, done: () => T): Promise<T> {
    const { world } = this;
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      if (world.now < this.cutOffUntil) return;
      world.after(world.wayMs, () => {
        let answer: () => void;
        try {
          const result = structuredClone(done());
          answer = () => resolve(result);
        } catch (error) {
          answer = () => reject(error);
        }
        if (world.now < this.losesAnswersUntil) return;
        world.after(world.wayMs, () => this.run(answer));
      });
    });
  }
}

function refusal(code: number): ApiError {
  return new ApiError(code, { message: `refused with ${code}` }, "PATCH lease");
}
