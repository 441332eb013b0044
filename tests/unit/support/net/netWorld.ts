import { setImmediate as turn } from "node:timers/promises";
import tls from "node:tls";
import type { JsonObject } from "../../../../runtime/base/objects";
import { Engine } from "../../../../runtime/engine/engine";
import type { HandlerRequest } from "../../../../runtime/handler/contract";
import type { Operator } from "../../../../runtime/operator/definition";
import type { ReconcileReport } from "../../../../runtime/reconcile/report";
import { inProcess } from "../../../../tools/chaos/kills/inProcess";
import { Line } from "../../../../tools/chaos/kills/line";
import type { World } from "../../../../tools/chaos/kills/runScenario";
import {
  type Act,
  answerOf,
  BASE,
  type Ground,
  type Handler,
  HOME,
  type Scenario,
} from "../../../../tools/chaos/kills/scenarios";
import { snapshotOf } from "../../../../tools/chaos/kills/snapshot";
import { Objects } from "../../../../tools/objects";
import { FakeClock } from "../fakeClock";
import { MemoryApi, type ServedKind } from "./memoryApi";
import { MemoryHttps } from "./memoryHttps";

const KINDS: readonly ServedKind[] = [
  {
    ...{
      apiVersion: "kills.example.com/v1",
      kind: "Thing",
      plural: "things",
      namespaced: true,
      hasStatus: true,
    },
    // The defaults of the CRD that is installed: see `buildCustomResourceDefinition`.
    admit: (thing) => ({ ...thing, status: { observedGeneration: 0, ...(thing["status"] as JsonObject) } }),
  },
  { apiVersion: "kills.example.com/v1", kind: "Part", plural: "parts", namespaced: true, hasStatus: true },
  { apiVersion: "argosy.dev/v1", kind: "Memory", plural: "memories", namespaced: true, hasStatus: true },
  { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true, hasStatus: false },
  { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true, hasStatus: false },
  { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false, hasStatus: true },
  {
    ...{ apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true, hasStatus: true },
    immutable: "spec.template",
  },
  {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", plural: "clusterroles" },
    ...{ namespaced: false, hasStatus: false },
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    plural: "leases",
    namespaced: true,
    hasStatus: false,
  },
  { apiVersion: "events.k8s.io/v1", kind: "Event", plural: "events", namespaced: true, hasStatus: false },
];
const SERVER = "https://memory";
/** How long it takes until the next process begins, in milliseconds. */
const RESTARTED_AFTER_MS = 1_000;
/** An object that fails is tried again within this time, in milliseconds: by a resync if its own pause is longer. */
const PATIENCE_MS = 160_000;
/** Nothing was written for this long: all are at rest, in milliseconds. The grace of the garbage collector is the longest wait. */
const QUIET_MS = 8_000;
/** Whoever is not at rest by then hangs, in milliseconds. */
const LONGEST_MS = 15 * 60_000;
const RANDOM = Math.random;
const TLS = tls.createSecureContext;
/** That of every connection in memory: to make one takes longer than a request. */
const NO_TLS = TLS();

/** Numbers that look random and are the same in each world, so that each run of a scenario takes the same way. */
function numbers(): () => number {
  let last = 1;
  return () => {
    // Park and Miller's generator.
    last = (last * 48_271) % 0x7fff_ffff;
    return last / 0x7fff_ffff;
  };
}

/** One cluster in memory, its clock, and the processes of one operator, one after the other. */
export class NetWorld implements World {
  readonly clock: FakeClock;
  readonly api: MemoryApi;
  readonly https: MemoryHttps;
  readonly line: Line;
  readonly ground: Ground;
  /** What the handlers were asked. */
  readonly questions: HandlerRequest[] = [];
  /** What the processes said. */
  readonly notices: string[] = [];
  /** What became of each run. */
  readonly reports: ReconcileReport[] = [];
  /** The values in the handlers' environment that must not be reported, in base64. */
  hidden: readonly string[] = [];
  /** @default what the object's spec says */
  handler: Handler = answerOf;
  /** The handler of the processes that begin after one has died. @default the same */
  nextHandler: Handler | undefined;
  /** What tells the program of the next process from every other. @default unknown */
  program: string | undefined;
  /** How long a lease holds, in seconds. By default it is not renewed: nothing that is compared depends on that. */
  leaseSeconds = 3_600;
  /** Whoever does more than this at once never ends: in requests, answers and reports of watches. */
  mostAtOnce = 20_000;
  /** Whether what is late arrives only when a test says so. */
  holdsLate = false;
  private engine: Engine | undefined;
  private started = 0;

  /** @param more kinds that only some scenarios need, or that take the place of others */
  constructor(
    readonly scenario: Scenario,
    more: readonly ServedKind[] = [],
  ) {
    this.clock = FakeClock.install(Date.parse("2026-01-01T00:58:00Z"));
    const others = KINDS.filter(({ plural }) => !more.some((each) => each.plural === plural));
    this.api = new MemoryApi([...others, ...more], (ms, action) => this.clock.after(ms, action));
    for (const name of ["shop", "far", "argosy"]) this.api.create("namespaces", name);
    this.https = new MemoryHttps(this.api);
    this.line = new Line(this.https.send);
    this.https.isDead = (sender) => this.line.isDead(sender);
    Math.random = numbers();
    tls.createSecureContext = () => NO_TLS;
    this.ground = {
      objects: new Objects({ server: this.line.addressOf(SERVER) }, "kubectl"),
      operator: "shop",
      namespace: "shop",
      far: "far",
      wait: (ms) => new Promise((resolve) => this.clock.after(ms, resolve)),
    };
  }

  /** Every world must end. Its processes stand still for ever: what they still did would disturb the next world. */
  async end(): Promise<void> {
    this.line.end(true);
    await this.settle();
    this.clock.drop();
    this.clock.uninstall();
    Math.random = RANDOM;
    tls.createSecureContext = TLS;
  }

  /** The name of the process that lives now. */
  get process(): string {
    return `engine${this.started}`;
  }

  /** Starts a process of an operator. */
  start(definition = this.scenario.operator): void {
    this.started += 1;
    const { process, ground } = this;
    const operator: Operator = { ...BASE, name: ground.operator, namespaces: "all", ...definition?.(ground) };
    const handlers = inProcess((question) => {
      this.https.activity += 1;
      if (this.line.isDead(process)) return undefined;
      this.questions.push(question);
      return this.handler(question);
    });
    const engine = new Engine({
      operator,
      connection: { server: this.line.addressOf(SERVER, process) },
      transport: { ...handlers, hidden: () => this.hidden },
      namespace: HOME,
      identity: process,
      usedPollMs: 5_000,
      leaseSeconds: this.leaseSeconds,
      program: this.program,
      onReport: (report) => void this.reports.push(report),
      onNotice: (notice) => void this.notices.push(`${process}: ${notice}`),
    });
    this.engine = engine;
    engine.start().catch((error: Error) => this.notices.push(`${process}: ${error.stack}`));
    // As if it had died so long ago that its Lease has expired.
    const again = () => {
      this.clock.drop();
      this.api.forget("leases");
      if (this.nextHandler) this.handler = this.nextHandler;
      this.start(definition);
    };
    this.line.onDeath = () => this.clock.after(RESTARTED_AFTER_MS, again);
  }

  /** An event from outside names an object. */
  wake(name: string) {
    return this.engine?.wake({ namespace: this.ground.namespace, name });
  }

  /** Users do something, and every process comes to rest. */
  async act(act: Act): Promise<void> {
    await this.steady(act(this.ground));
    if (this.scenario.isPatient) await this.steady(this.ground.wait(PATIENCE_MS));
    await this.rest();
  }

  /** The process ends by itself. */
  async stop(): Promise<void> {
    if (this.engine) await this.steady(this.engine.stop());
    this.clock.drop();
  }

  /** Waits until the process that lives leads, nothing has happened for a while, and what was late has arrived. */
  async rest(): Promise<void> {
    const { api } = this;
    let [seen, since] = [-1, 0];
    await this.pass(() => {
      const isBusy = seen !== api.changed || !this.engine?.isLeading || this.line.isDead(this.process);
      if (isBusy) [seen, since] = [api.changed, performance.now()];
      return performance.now() - since >= QUIET_MS;
    });
    if (!this.holdsLate && this.line.arrive()) await this.rest();
  }

  /** Waits for the next resync, and for its end. */
  async resync(): Promise<void> {
    await this.steady(this.ground.wait(BASE.resyncSeconds * 1_000));
    await this.rest();
  }

  snapshot(): Promise<Record<string, unknown>> {
    return this.steady(snapshotOf(this.ground));
  }

  /** Does something, and lets the time pass that it needs. */
  async steady<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => {});
    await this.pass(() => isDone);
    return done;
  }

  /** Lets the time pass until something is so. @throws Error if it is not within a quarter of an hour */
  private async pass(isSo: () => boolean): Promise<void> {
    const until = performance.now() + LONGEST_MS;
    for (;;) {
      await this.settle();
      if (isSo()) return;
      if (performance.now() > until) throw new Error(`no rest: ${this.notices.slice(-5).join("; ")}`);
      await this.clock.tick(Math.min(this.clock.nextInMs ?? QUIET_MS, QUIET_MS));
    }
  }

  /** Lets everything go on that needs no time. */
  private async settle(): Promise<void> {
    let idle = 0;
    const most = this.https.activity + this.mostAtOnce;
    for (let seen = this.https.activity; idle < 4; idle = seen === this.https.activity ? idle + 1 : 0) {
      seen = this.https.activity;
      if (seen > most) throw new Error("no rest: it does the same again and again, without any time between");
      await turn();
    }
  }
}
