import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import {
  type EventPathPart,
  type EventPathPod,
  eventPathPodOf,
  outdatedPods,
  ROLL_OUT_MS,
} from "../../runtime/programs/keep/eventPathPods";

const HOUR = 3_600_000;

interface Given {
  /** Seconds since the hour: when the program began. */
  readonly began?: number;
  /** When it ended last, and waits to be started again. */
  readonly failed?: number;
  readonly created?: number;
  /** When the API server was told last. @default at the last of these times */
  readonly written?: number;
  readonly shard?: string;
  readonly ready?: boolean;
  readonly deleting?: boolean;
  readonly phase?: string;
}

const time = (seconds: number) => new Date(HOUR + seconds * 1000).toISOString();

function object(part: EventPathPart, given: Given): KubernetesObject {
  const {
    began,
    failed,
    created = 0,
    written = Math.max(began ?? 0, failed ?? 0, created),
    shard = "argosy",
    ready = began !== undefined,
    deleting,
    phase,
  } = given;
  const label = { "event-bus": "eventbus-name", sensor: "sensor-name", "event-source": "eventsource-name" }[
    part
  ];
  const state =
    began === undefined
      ? { waiting: { reason: "CrashLoopBackOff" } }
      : { running: { startedAt: time(began) } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${shard}-${part}`,
      uid: part,
      resourceVersion: "1",
      creationTimestamp: time(created),
      managedFields: [{ manager: "kubelet", subresource: "status", time: time(written) }],
      labels: { "app.kubernetes.io/component": part, [label]: shard },
      ...(deleting && { deletionTimestamp: time(0) }),
    },
    status: {
      phase: phase ?? "Running",
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [
        { name: "reloader", state: { running: { startedAt: time(9_000) } } },
        {
          name: "main",
          state,
          ...(failed !== undefined && { lastState: { terminated: { finishedAt: time(failed) } } }),
        },
      ],
    },
  };
}

const pods = (...given: readonly (readonly [EventPathPart, Given])[]): EventPathPod[] =>
  given.flatMap(([part, fields]) => eventPathPodOf(object(part, fields)) ?? []);

/** Which are outdated an hour later, when all has settled. */
const outdated = (given: readonly EventPathPod[], now = 2 * HOUR) =>
  outdatedPods(given, now).map(({ object: { metadata } }) => metadata.name);

describe("outdatedPods", () => {
  it("has nothing to replace where bus, sensor and event source began in this order", () => {
    assert.deepEqual(
      outdated(pods(["event-bus", { began: 1 }], ["sensor", { began: 1 }], ["event-source", { began: 2 }])),
      [],
    );
  });

  it("replaces the sensor first where the bus began after both, and then the event source", () => {
    const source = ["event-source", { began: 2 }] as const;
    const after = ["event-bus", { began: 10 }] as const;
    assert.deepEqual(outdated(pods(after, ["sensor", { began: 1 }], source)), ["argosy-sensor"]);
    assert.deepEqual(outdated(pods(after, ["sensor", { began: 40 }], source)), ["argosy-event-source"]);
    assert.deepEqual(outdated(pods(after, ["sensor", { began: 40 }], ["event-source", { began: 70 }])), []);
  });

  it("replaces an event source that began before its sensor did", () => {
    const given = pods(["event-bus", { began: 1 }], ["sensor", { began: 9 }], ["event-source", { began: 5 }]);
    assert.deepEqual(outdated(given), ["argosy-event-source"]);
  });

  it("waits until what began has been there for a while: a roll-out of several counts once", () => {
    const given = pods(
      ["event-bus", { began: 10 }],
      ["sensor", { began: 1 }],
      ["event-source", { began: 2 }],
    );
    assert.deepEqual(outdated(given, HOUR + 10_000 + ROLL_OUT_MS - 1), []);
    assert.deepEqual(outdated(given, HOUR + 10_000 + ROLL_OUT_MS), ["argosy-sensor"]);
  });

  it("leaves an event source alone while its sensor is missing, or not recreated yet", () => {
    const bus = ["event-bus", { began: 10 }] as [EventPathPart, Given];
    const source = ["event-source", { began: 2 }] as [EventPathPart, Given];
    assert.deepEqual(outdated(pods(bus, source)), []);
    assert.deepEqual(outdated(pods(bus, ["sensor", {}], source)), []);
    assert.deepEqual(outdated(pods(bus, ["sensor", { began: 20, deleting: true }], source)), []);
  });

  it("waits for the bus: for most of its servers", () => {
    const others = [
      ["sensor", { began: 1 }],
      ["event-source", { began: 2 }],
    ] as const;
    const servers = (...ready: readonly boolean[]) =>
      pods(
        ...ready.map((each): [EventPathPart, Given] => ["event-bus", { began: 10, ready: each }]),
        ...others.map(([part, given]): [EventPathPart, Given] => [part, given]),
      );
    assert.deepEqual(outdated(servers()), []);
    assert.deepEqual(outdated(servers(false)), []);
    assert.deepEqual(outdated(servers(true, false, false)), []);
    assert.deepEqual(outdated(servers(true, true, false)), ["argosy-sensor"]);
  });

  it("does not let one wait minutes for its restart that failed because there was no bus", () => {
    const bus = ["event-bus", { began: 100 }] as [EventPathPart, Given];
    assert.deepEqual(outdated(pods(bus, ["sensor", { failed: 90 }], ["event-source", {}])), [
      "argosy-sensor",
    ]);
    assert.deepEqual(outdated(pods(bus, ["sensor", { failed: 110 }], ["event-source", {}])), []);
    const sensor = ["sensor", { began: 105 }] as [EventPathPart, Given];
    assert.deepEqual(outdated(pods(bus, sensor, ["event-source", { failed: 90 }])), ["argosy-event-source"]);
  });

  it("looks at each pair by itself", () => {
    const given = pods(
      ["event-bus", { began: 10 }],
      ["sensor", { began: 20 }],
      ["event-source", { began: 30 }],
      ["sensor", { began: 5, shard: "argosy-2" }],
      ["event-source", { began: 6, shard: "argosy-2" }],
    );
    assert.deepEqual(outdated(given), ["argosy-2-sensor"]);
  });

  it("takes a pod for no older than the API server does, whatever the clock of its node says", () => {
    const given = pods(
      ["event-bus", { began: 10 }],
      ["sensor", { began: 1, created: 15 }],
      ["event-source", { began: 2, created: 30 }],
    );
    assert.deepEqual(outdated(given), []);
  });

  it("takes a pod for no younger than the API server does, either", () => {
    const began = 3_605;
    const source = ["event-source", { began: 30 }] as const;
    const sensor = ["sensor", { began, written: 6 }] as const;
    assert.deepEqual(outdated(pods(["event-bus", { began: 10 }], sensor, source)), ["argosy-sensor"]);
    const given = pods(["event-bus", { began, written: 10 }], ["sensor", { began: 1 }], source);
    assert.deepEqual(outdated(given, HOUR + 10_000 + ROLL_OUT_MS), ["argosy-sensor"]);
  });

  it("looks at no pod that has ended, nor at any other", () => {
    assert.equal(eventPathPodOf(object("sensor", { phase: "Failed" })), undefined);
    assert.equal(eventPathPodOf(object("sensor", { phase: "Succeeded" })), undefined);
    assert.equal(eventPathPodOf(object("runner" as EventPathPart, {})), undefined);
  });
});
