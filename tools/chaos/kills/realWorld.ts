import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../../cli/common/until";
import { within } from "../../../runtime/base/clock";
import { leaseNameOf } from "../../../runtime/base/names";
import type { Manifest } from "../../../runtime/base/objects";
import { Engine } from "../../../runtime/engine/engine";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import type { Operator } from "../../../runtime/operator/definition";
import { Objects } from "../../objects";
import { inProcess } from "./inProcess";
import { Line } from "./line";
import type { World } from "./runScenario";
import {
  type Act,
  answerOf,
  BASE,
  type Ground,
  type Handler,
  HOME,
  PARTS,
  type Scenario,
  THINGS,
} from "./scenarios";
import { snapshotOf } from "./snapshot";

/** Nothing was written for this long: all are at rest, in milliseconds. */
const QUIET_MS = 1_500;
/** An object that is due within this time, in milliseconds, is not at rest. */
const SOON_MS = 3_000;
const LOOK_MS = 50;
/** Who is not at rest by then hangs, in milliseconds: on a machine with a load of 40, connections and leases take more than a minute. */
const LONGEST_MS = 240_000;
/** A process that is dead may take this long to end, in milliseconds. */
const LONGEST_END_MS = 2_000;

/** The CRDs of the objects in the scenarios. */
export const KILL_KINDS: readonly Manifest[] = [THINGS, PARTS].map(({ kind }) => {
  const plural = `${kind.toLowerCase()}s`;
  const any = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const condition = { type: "object", required: ["type"], properties: { type: { type: "string" } } };
  const conditions = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    items: { ...condition, "x-kubernetes-preserve-unknown-fields": true },
  };
  const schema = {
    type: "object",
    properties: { spec: any, status: { ...any, properties: { conditions } } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.kills.example.com` },
    spec: {
      group: "kills.example.com",
      scope: "Namespaced",
      names: { kind, plural },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
});

/** A scenario on a real API server, in two namespaces of its own. The processes are engines in this process. */
export class RealWorld implements World {
  readonly line = new Line();
  handler: Handler = answerOf;
  nextHandler: Handler | undefined;
  holdsLate = false;
  private readonly engines: Engine[] = [];
  private writes = 0;
  /** Why the next process could not begin. */
  private failure: Error | undefined;

  private constructor(
    readonly scenario: Scenario,
    private readonly connection: ClusterConnection,
    private readonly ground: Ground,
  ) {}

  /** @param name of the operator and of the namespaces, which no other world has */
  static async begin(scenario: Scenario, connection: ClusterConnection, name: string): Promise<RealWorld> {
    const objects = new Objects(connection, "kubectl");
    const ground = {
      objects,
      operator: name,
      namespace: name,
      far: `${name}-far`,
      wait: (ms: number) => sleep(ms),
    };
    for (const namespace of [ground.namespace, ground.far, HOME])
      await objects.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    return new RealWorld(scenario, connection, ground);
  }

  start(definition = this.scenario.operator): void {
    const { line, ground, connection } = this;
    const process = `engine${this.engines.length + 1}`;
    const namespaces = [ground.namespace, ground.far];
    const operator: Operator = { ...BASE, name: ground.operator, namespaces, ...definition?.(ground) };
    const engine = new Engine({
      operator,
      connection: { ...connection, server: line.addressOf(connection.server, process) },
      transport: inProcess((question) => {
        this.writes += 1;
        return line.isDead(process) ? undefined : this.handler(question);
      }),
      namespace: HOME,
      identity: process,
      usedPollMs: 500,
    });
    this.engines.push(engine);
    engine.start().catch(() => {});
    line.onWrite = () => {
      this.writes += 1;
    };
    line.onDeath = () => {
      this.again(operator, definition).catch((error: Error) => {
        this.failure = error;
      });
    };
  }

  async act(act: Act): Promise<void> {
    await act(this.ground);
    await this.rest();
  }

  async rest(): Promise<void> {
    const until = performance.now() + LONGEST_MS;
    let [seen, since] = [-1, performance.now()];
    while (performance.now() - since < QUIET_MS || !(await this.isObserved())) {
      if (this.failure || performance.now() > until) throw this.failure ?? new Error("no rest");
      const engine = this.engines.at(-1);
      const isBusy = engine
        ?.objects()
        .some(({ state, dueInMs = 0 }) => state !== "idle" && dueInMs < SOON_MS);
      if (seen !== this.writes || !engine?.isLeading || isBusy)
        [seen, since] = [this.writes, performance.now()];
      await sleep(LOOK_MS);
    }
    if (!this.holdsLate && this.line.arrive()) await this.rest();
  }

  async stop(): Promise<void> {
    await this.engines.at(-1)?.stop();
  }

  async snapshot(): Promise<Record<string, unknown>> {
    const { namespace, far } = this.ground;
    const text = JSON.stringify(await looked(() => snapshotOf(this.ground)));
    // One is the beginning of the other.
    return JSON.parse(text.replaceAll(far, "far").replaceAll(namespace, "shop"));
  }

  /**
   * Ends its processes. What it has in the cluster stays, since the cluster itself goes: to delete a namespace takes two requests for
   * each kind.
   */
  async end(): Promise<void> {
    this.line.end();
    await within(LONGEST_END_MS, Promise.all(this.engines.map((engine) => engine.stop(1).catch(() => {}))));
    this.ground.objects.close();
  }

  /** Whether every object that is to exist has a status for what it is now. On a busy machine nothing happens for a while before that. */
  private async isObserved(): Promise<boolean> {
    const things = await looked(() => this.ground.objects.list(THINGS, this.ground.namespace));
    return things.every(({ metadata: { deletionTimestamp, generation }, ...thing }) => {
      const { observedGeneration } = (thing["status"] ?? {}) as { observedGeneration?: number };
      return deletionTimestamp !== undefined || observedGeneration === generation;
    });
  }

  /** The next process begins, as if the one before had died so long ago that its Lease has expired. */
  private async again(operator: Operator, definition: Scenario["operator"]): Promise<void> {
    const metadata = { namespace: HOME, name: leaseNameOf(operator) };
    await this.ground.objects.delete({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata });
    if (this.nextHandler) this.handler = this.nextHandler;
    this.start(definition);
  }
}

/** Looks again if the API server did not answer in time: it may be busy for a while. @throws DeadlineError with what the last look threw */
function looked<T>(look: () => Promise<T>): Promise<T> {
  let what = "";
  const probe = () =>
    look().catch((error: Error) => {
      what = error.message;
      return undefined;
    });
  return until(probe, { what: () => what, deadlineMs: LONGEST_MS, pollMs: LOOK_MS });
}
