import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { ownerRangeOf } from "../../runtime/base/names";
import { type KubernetesObject, type Manifest, timeOf } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { Dispatcher } from "../../runtime/engine/dispatch/dispatcher";
import { childrenFingerprint, contentFingerprint } from "../../runtime/engine/dispatch/footprint";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Operator } from "../../runtime/operator/definition";
import type { Outcome } from "../../runtime/reconcile/report";
import type { RolloutGate } from "../../runtime/reconcile/rolloutGate";
import { type Memory, remembered } from "../../runtime/remember/memory";
import { MemoryObjects } from "../../runtime/remember/memoryObjects";
import { RUN_PARAMETERS, WORKFLOWS, workflowTemplateOf } from "../../runtime/report/workflows";
import { soon } from "../support/eventually";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { MANAGER, OPERATOR, operator, WIDGETS, widget } from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };
const CREATED = "create Workflow";
const NOTHING: Memory = { kinds: [], created: [] };
/** A whole second, as memories have it. */
const NOON = Date.parse("2026-01-01T12:00:00Z");

describe("Dispatcher", () => {
  /** By the versions of the object. */
  const memories = new Map<string, Memory>();
  let cluster: FakeCluster;
  let client: KubernetesClient;
  let dispatcher: Dispatcher;
  /** The object as a watch has shown it. Undefined: as it is. */
  let shown: KubernetesObject | undefined;
  /** What happens while an object is read. */
  let whileReading: () => unknown;
  /** By how much each look at the clock moves it on, in milliseconds. */
  let tickMs: number;
  let news: string[];
  /** The Workflows that were made. */
  let workflows: KubernetesObject[];
  let watching: PassThrough | undefined;
  /** A staged roll-out in which every object waits. */
  const staged: RolloutGate = { waits: (_, isByUser) => !isByUser, withholds: () => true };

  async function begin(more: Partial<Operator> = {}, rollout?: RolloutGate): Promise<void> {
    await dispatcher?.runs.stopWatching();
    client?.close();
    [cluster, shown, whileReading, tickMs, news, workflows] = [
      new FakeCluster(),
      undefined,
      () => {},
      0,
      [],
      [],
    ];
    cluster.time = NOON;
    client = Object.assign(cluster.client(), {
      now: () => {
        cluster.time += tickMs;
        return cluster.time;
      },
      create: async (_: unknown, manifest: Manifest) => {
        cluster.step(CREATED);
        const { metadata } = manifest;
        const uid = `${metadata.name}-uid`;
        const creationTimestamp = timeOf(new Date(cluster.time));
        const made = { ...metadata, uid, resourceVersion: "1500", creationTimestamp };
        const workflow = { ...manifest, metadata: made };
        workflows.push(workflow);
        return workflow;
      },
      versionOf: async () => "1",
      watch: async ({ kind }: Resource, _: unknown, { signal }: { signal: AbortSignal }) => {
        const stream = new PassThrough();
        signal.addEventListener("abort", () => stream.destroy(new Error("aborted")), { once: true });
        if (kind === WORKFLOWS.kind) watching = stream;
        return stream;
      },
    });
    const { store: children, writer } = childrenIn(cluster);
    const others = more.watch && {
      memories: memoriesOf(operator(more)),
      objects: { hasUid: () => true, removedAt: () => undefined, readNow: async () => undefined },
      isBlind: false,
      assertSeen: () => {},
    };
    dispatcher = new Dispatcher({
      client,
      operator: operator(more),
      resource: WIDGETS,
      childResources: [],
      namespace: "argosy",
      instanceId: "",
      objects: {
        readToReconcile: async (name) => {
          await whileReading();
          return shown ?? cluster.find(WIDGETS.kind, name);
        },
        learn: () => {},
        invalidate: () => {
          shown = undefined;
        },
        isGoing: () => false,
        isShown: () => true,
      },
      children,
      writer,
      memories: others?.memories ?? {
        of: async (object) => memories.get(object.metadata.resourceVersion) ?? NOTHING,
        write: async () => undefined,
      },
      others,
      rollout,
      used: async () => ({ used: {}, warnings: [], secrets: [] }),
      whyNot: () => undefined,
      emit: ({ kind }) => void news.push(kind),
      isLeading: () => true,
      onInterruption: () => {},
    });
    await dispatcher.runs.startWatching();
    await dispatcher.beginTerm();
  }
  beforeEach(() => begin());
  after(async () => {
    await dispatcher.runs.stopWatching();
    client.close();
  });

  /** The memories of objects of others, as a process has them that no watch has shown any. */
  const memoriesOf = (watching: Operator) =>
    new MemoryObjects({ client, operator: watching, resource: WIDGETS, namespace: "argosy" });

  /** Puts the object there as a run has left it that has seen it as it is. */
  function ran(memory: Partial<Memory> = {}, reasonOfOwn?: string): KubernetesObject {
    const lastTransitionTime = timeOf(new Date(NOON - 60_000));
    const condition = { status: "True", reason: "Reconciled", message: "", lastTransitionTime };
    const own = reasonOfOwn === undefined ? [] : [{ ...condition, type: "Copied", reason: reasonOfOwn }];
    const status = { observedGeneration: 3, conditions: [{ type: "Ready", ...condition }, ...own] };
    const entry = {
      manager: MANAGER,
      operation: "Apply" as const,
      subresource: "status",
      time: lastTransitionTime,
    };
    const managedFields = [{ ...entry, fieldsV1: {} }];
    const object = cluster.put(widget({ managedFields }, { status }));
    const content = contentFingerprint(object, operator());
    const children = childrenFingerprint([], operator());
    memories.set(object.metadata.resourceVersion, { ...NOTHING, content, children, ...memory });
    return object;
  }

  async function look(): Promise<Outcome> {
    return dispatcher.reconcile(NAME, 1, { client, fence: () => {} });
  }

  /** Puts the object there and looks at it, which begins a run. */
  async function begun(): Promise<KubernetesObject> {
    cluster.put(widget());
    await look();
    const [workflow] = workflows;
    assert.ok(workflow);
    return workflow;
  }

  const runs = () => cluster.steps.filter((step) => step === CREATED).length;

  /** A Workflow about the object that a user has submitted. */
  function submitted(name: string): KubernetesObject {
    const parameters = [
      { name: RUN_PARAMETERS.namespace, value: NAME.namespace },
      { name: RUN_PARAMETERS.name, value: NAME.name },
    ];
    return {
      apiVersion: WORKFLOWS.apiVersion,
      kind: WORKFLOWS.kind,
      metadata: { name, namespace: "argosy", uid: `${name}-uid`, resourceVersion: "2000" },
      spec: { workflowTemplateRef: { name: workflowTemplateOf(OPERATOR) }, arguments: { parameters } },
    };
  }

  /** Lets the watch of Workflows bring an event, and waits until the dispatcher has said so. */
  async function brings(type: string, workflow: KubernetesObject): Promise<void> {
    const before = news.length;
    watching?.write(`${JSON.stringify({ type, object: workflow })}\n`);
    if (type === "DELETED") await soon(() => assert.ok(news.length > before));
  }

  const atNoon = {
    "a requeue": [{}, { dueAt: timeOf(new Date(NOON)) }],
    "a schedule": [
      { schedules: { daily: { cron: "0 12 * * *", timeZone: "UTC", spreadSeconds: 0 } } },
      { schedules: { daily: { at: "2026-01-01T00:00:00Z", of: "0 12 * * * UTC" } } },
    ],
  } as const;

  for (const [what, [more, memory]] of Object.entries(atNoon)) {
    it(`begins a run for ${what} or is woken by it, even if its time comes while the dispatcher looks`, async () => {
      for (let earlierMs = 0; earlierMs < 20; earlierMs++) {
        await begin(more);
        [cluster.time, tickMs] = [NOON - earlierMs, 1];
        ran(memory);
        const { again, report } = await look();
        assert.equal(report.failure, undefined);
        const isWoken = again.kind === "done" && again.againAfterMs === 1_000;
        assert.ok(runs() === 1 || isWoken, `${earlierMs} ms before it is due`);
      }
    });
  }

  const EVENT = { cause: "event", readyAt: 0, takenAt: 0 } as const;

  it("begins a run for an event from outside, and another for each that comes while there is one, however many", async () => {
    // Each run begins before what it leaves.
    cluster.time = NOON - 120_000;
    ran();
    const woken = () => dispatcher.reconcile(NAME, 1, { client, fence: () => {}, arrival: EVENT });
    await look();
    assert.equal(runs(), 0);
    await woken();
    assert.equal(runs(), 1);
    for (let at = 0; at < 3; at++) await woken();
    assert.equal(runs(), 1);
    for (const [index, expected] of [2, 2].entries()) {
      const [workflow] = workflows.slice(index);
      assert.ok(workflow);
      ran();
      await brings("DELETED", workflow);
      await look();
      assert.equal(runs(), expected);
    }
  });

  it("begins a run for an event from outside although its first look failed", async () => {
    ran();
    whileReading = () => Promise.reject(new Error("the API server is down"));
    await dispatcher.reconcile(NAME, 1, { client, fence: () => {}, arrival: EVENT });
    whileReading = () => {};
    await look();
    assert.equal(runs(), 1);
  });

  it("is woken when something is due by the API server's clock", async () => {
    cluster.time = NOON - 60_000;
    ran({ dueAt: timeOf(new Date(NOON)) });
    const { again } = await look();
    assert.equal(runs(), 0);
    const waitMs = again.kind === "done" ? (again.againAfterMs ?? 0) : 0;
    assert.ok(waitMs > 55_000 && waitMs <= 60_000, `${waitMs}`);
  });

  it("reads the object again after a run that a user submitted has ended", async () => {
    await brings("ADDED", submitted("by-hand"));
    shown = ran();
    ran({ dueAt: timeOf(new Date(NOON)) });
    await brings("DELETED", submitted("by-hand"));
    await look();
    assert.equal(runs(), 1);
  });

  it("labels a Workflow with the operator, and with the uid and the range of the object that it is about", async () => {
    assert.deepEqual((await begun()).metadata.labels, {
      "argosy.dev/operator": "argosy.shop",
      "argosy.dev/object-uid": "widget-uid",
      "argosy.dev/owner-range": ownerRangeOf("widget-uid"),
    });
  });

  it("begins no run of an object that waits for its stage, unless its user has changed or deleted it", async () => {
    const isHeld = async () => {
      const { report } = await look();
      return report.skipped === "waits for its stage" && runs() === 0;
    };
    const changes: ((object: KubernetesObject) => KubernetesObject)[] = [
      (object) => ({ ...object, metadata: { ...object.metadata, generation: 4 } }),
      ({ metadata, ...object }) => ({
        ...object,
        metadata: {
          ...metadata,
          deletionTimestamp: "2026-01-01T00:00:00Z",
          finalizers: ["argosy.dev/argosy.shop"],
        },
      }),
    ];
    for (const change of changes) {
      await begin({ finalize: true }, staged);
      const object = ran({ children: "others" });
      assert.ok(await isHeld());
      cluster.put(change(object));
      await look();
      assert.equal(runs(), 1);
    }
  });

  it("begins a run of an object that waits for its stage when its user changes its labels, whatever else comes", async () => {
    const labelled = (alsoBy: readonly ("watch" | "used")[]) =>
      dispatcher.reconcile(NAME, 1, { client, fence: () => {}, arrival: { ...EVENT, alsoBy } });
    await begin({}, staged);
    const { metadata, ...object } = ran();
    cluster.put({ ...object, metadata: { ...metadata, labels: { tier: "gold" } } });
    await labelled(["used"]);
    assert.equal(runs(), 0);
    await labelled(["watch"]);
    assert.equal(runs(), 1);
  });

  it("tells a run in a staged roll-out that its first answer must not delete children", async () => {
    for (const [rollout, withheld] of [
      [staged, "true"],
      [{ ...staged, withholds: () => false }, undefined],
      [undefined, undefined],
    ] as const) {
      await begin({}, rollout);
      assert.equal((await begun()).metadata.annotations?.["argosy.dev/withhold-deletions"], withheld);
    }
  });

  it("begins no second run if the first one ends while the object is read", async () => {
    const workflow = await begun();
    assert.equal(runs(), 1);
    shown = cluster.find(WIDGETS.kind, NAME);
    whileReading = () => brings("DELETED", workflow);
    await look();
    assert.equal(runs(), 1);
  });

  it("reads what a run has remembered of an object of others if no watch has shown it yet", async () => {
    const watching = { watch: { labels: {}, on: ["spec"] } } as const;
    await begin(watching);
    const workflow = await begun();
    const object = cluster.find(WIDGETS.kind, NAME);
    assert.ok(object);
    const [content, children] = [
      contentFingerprint(object, operator(watching)),
      childrenFingerprint([], operator()),
    ];
    const about = { ...NAME, uid: object.metadata.uid };
    const said = { verdict: { verdict: { kind: "ready" }, generation: 3 } } as const;
    const memory = remembered({ ...NOTHING, content, children });
    await memoriesOf(operator(watching)).write(client, about, { memory, ...said });
    const [written] = cluster.ofKind("Memory");
    assert.ok(written);
    const [entry] = written.metadata.managedFields ?? [];
    const managedFields = [{ ...entry, time: timeOf(new Date(cluster.time)) }];
    cluster.put({ ...written, metadata: { ...written.metadata, managedFields } });
    await brings("DELETED", workflow);
    assert.deepEqual([(await look()).verdict, runs()], [undefined, 1]);
  });

  it("takes a condition of the handler's own for none of its own, whatever its reason", async () => {
    cluster.time = NOON - 120_000;
    const workflow = await begun();
    cluster.time = NOON;
    ran({}, "RunFailed");
    await brings("DELETED", workflow);
    assert.deepEqual((await look()).events, []);
    assert.equal(runs(), 1);
  });

  it("says that a run is awaited, or was stopped since its Workflow is deleted, until a run of the object has begun or ended that may write its own verdict", async () => {
    const workflow = await begun();
    cluster.time += 11_000;
    const awaiting = await look();
    assert.deepEqual([awaiting.verdict?.kind, awaiting.isOver?.()], ["awaiting", false]);
    const running = (of: KubernetesObject) => ({
      ...of,
      metadata: { ...of.metadata, resourceVersion: `${of.metadata.resourceVersion}1` },
      status: { phase: "Running", nodes: { main: { displayName: "main", phase: "Running" } } },
    });
    await brings("MODIFIED", running(workflow));
    await soon(() => assert.equal(awaiting.isOver?.(), true));
    await brings("DELETED", running(workflow));
    const stopped = await look();
    assert.deepEqual([stopped.verdict?.kind, stopped.isOver?.(), runs()], ["stopped", false, 1]);
    assert.deepEqual(
      stopped.events.map(({ reason }) => reason),
      ["RunStopped"],
    );
    const other = submitted("by-hand");
    other.metadata.resourceVersion = "20000";
    await brings("ADDED", other);
    await brings("MODIFIED", running(other));
    await soon(() => assert.equal(stopped.isOver?.(), true));
  });

  const watchedSpec = { watch: { labels: {}, on: ["spec"] } } as const;
  const label = ({ metadata, ...object }: KubernetesObject) => ({
    ...object,
    metadata: { ...metadata, labels: { tier: "gold" } },
  });
  for (const [what, more, change] of [
    ["only in its labels", {}, label],
    ["and has no generation", watchedSpec, (object: KubernetesObject) => ({ ...object, spec: { size: 9 } })],
  ] as const)
    for (const when of ["while the run works", "afterwards"])
      it(`begins the next run after a stopped one as soon as the object has changed, ${what}, ${when}`, async () => {
        await begin(more);
        const { generation, ...metadata } = widget().metadata;
        cluster.put({
          ...widget(),
          metadata: { ...metadata, ...(more === watchedSpec ? {} : { generation }) },
        });
        await look();
        const [workflow] = workflows;
        assert.ok(workflow);
        const changes = () => {
          const object = cluster.find(WIDGETS.kind, NAME);
          assert.ok(object);
          cluster.put(change(object));
        };
        if (when !== "afterwards") changes();
        await brings("DELETED", workflow);
        assert.equal((await look()).verdict?.kind, "stopped");
        assert.equal(runs(), 1);
        if (when === "afterwards") changes();
        await look();
        assert.equal(runs(), 2);
      });

  it("takes the end of a run for none of another object that has the name by then", async () => {
    const workflow = await begun();
    cluster.put(widget({ uid: "another-uid" }));
    await look();
    await brings("DELETED", workflow);
    const { verdict, events } = await look();
    assert.deepEqual([verdict, events, runs()], [undefined, [], 2]);
  });
});
