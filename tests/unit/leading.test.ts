import assert from "node:assert/strict";
import { Orphans } from "../../runtime/children/orphans";
import { Leading } from "../../runtime/engine/leading";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { JsonObject, Manifest } from "../../runtime/kubernetes/objects";
import type { Lease, LeaseApi } from "../../runtime/leadership/lease";
import type { Term } from "../../runtime/leadership/term";
import { messageWith } from "../../runtime/outbox/message";
import { Outbox } from "../../runtime/outbox/outbox";
import { ReconcileRequests } from "../../runtime/reconcile/requests";
import { Resync } from "../../runtime/work/resync";
import { Workers } from "../../runtime/work/workers";
import { WorkQueue } from "../../runtime/work/workQueue";
import { eventually } from "../support/eventually";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { WIDGETS } from "./support/objects";
import { TestApiServer } from "./support/testApiServer";

const KEY = "shop/widget";
const OTHER = "shop/other";

describe("Leading", function () {
  this.timeout(20_000);
  let lease: Lease | undefined;
  /** What the API server says of the lease. */
  let refusal: ApiError | undefined;
  let notices: string[];
  let queue: WorkQueue;
  let workers: Workers;
  /** The work in progress: how it is ended, by its key. */
  let working: Map<string, () => void>;
  /** Whenever handlers were abandoned: the objects that were worked on, what the Lease said, and whether more could be asked. */
  let abandoned: {
    readonly keys: readonly string[];
    readonly lease: Lease | undefined;
    readonly isOver: boolean | undefined;
  }[];
  let reread: string[];
  /** Ends the list of the custom resources. */
  let listed: () => void;
  /** How often the custom resources were said to be outdated. */
  let lists: number;
  /** The last term that has begun. */
  let term: Term | undefined;
  let outbox: Outbox;
  /** What a report requests. */
  let tell: (client: KubernetesClient) => Promise<void>;
  const processes: Leading[] = [];

  beforeEach(() => {
    [lease, lists, reread] = [undefined, 0, []];
    [refusal, notices, abandoned] = [undefined, [], []];
    working = new Map();
    tell = async () => {};
    listed = () => {};
    queue = new WorkQueue();
    workers = new Workers({
      queue,
      concurrency: 4,
      work: async (key) => {
        await new Promise<void>((resolve) => working.set(key, resolve));
        working.delete(key);
        return { kind: "done" };
      },
    });
  });
  afterEach(async () => {
    for (const end of working.values()) end();
    await Promise.all(processes.splice(0).map((process) => process.stop(0)));
  });

  function start(keys: readonly string[] = [KEY], client = new FakeCluster().client()): Leading {
    const cluster = new FakeCluster();
    outbox = new Outbox({
      teller: { tell: async (client) => void (await tell(client)) },
      join: (one) => one,
      onDrop: () => {},
    });
    const leading: Leading = new Leading({
      client,
      queue,
      workers,
      handlers: {
        abandon: () => {
          abandoned.push({
            keys: [...working.keys()],
            lease: structuredClone(lease),
            isOver: term?.hasEnded,
          });
          for (const end of working.values()) end();
        },
      },
      resync: new Resync({ periodMs: 600_000, relist: async () => {}, keys: () => [], add: () => {} }),
      requests: new ReconcileRequests(),
      watches: {
        refreshObjects: () => {
          lists++;
          return new Promise<void>((resolve) => {
            listed = resolve;
          });
        },
      },
      outbox,
      orphans: new Orphans({
        ...childrenIn(cluster),
        ownerKind: WIDGETS,
        objects: { hasUid: () => true, removedAt: () => undefined },
        wouldShow: () => true,
        isFollowed: () => true,
        masked: (text) => text,
        notice: () => {},
      }),
      lease: leaseInMemory(),
      identity: "one",
      // A process that is given no core for some seconds does not lose it.
      leaseSeconds: 6,
      wakeups: {
        beginTerm: () => {
          ({ term } = leading);
          for (const key of keys) queue.add(key, { priority: "routine" });
        },
        takeOver: (key) => {
          reread.push(key);
          queue.add(key);
        },
      },
      notice: (text) => void notices.push(text),
    });
    processes.push(leading);
    leading.start();
    return leading;
  }

  /** A Lease of nobody else's, in memory. */
  function leaseInMemory(): LeaseApi {
    let version = 0;
    const store = ({ metadata, ...rest }: Manifest & Pick<Lease, "spec">): Lease => {
      const resourceVersion = String(++version);
      lease = { ...rest, metadata: { ...metadata, uid: "lease-uid", resourceVersion } };
      return structuredClone(lease);
    };
    return {
      get: async () => {
        if (refusal) throw refusal;
        return structuredClone(lease);
      },
      create: async (spec, annotations) =>
        store({
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "lease", annotations: { ...lease?.metadata.annotations, ...annotations } },
          spec,
        }),
      replace: async (next) => {
        if (refusal) throw refusal;
        return store(next);
      },
      patch: async (operations) => {
        if (refusal) throw refusal;
        const patched = structuredClone(lease) as Lease;
        for (const { op, path, ...more } of operations) {
          const names = path.split("/").slice(1);
          const parts = names.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
          const name = parts.pop() ?? "";
          let place = patched as unknown as JsonObject;
          for (const part of parts) {
            place[part] ??= {};
            place = place[part] as JsonObject;
          }
          if (op === "remove") delete place[name];
          else if (op !== "test") place[name] = (more as { value: string }).value;
        }
        return store({ ...patched, spec: patched.spec ?? {} });
      },
    };
  }

  /** A Lease that is free, and that process still works on one object. */
  function finishedBy(identity: string): Lease {
    const finishing = { identity, keys: [KEY], leaseSeconds: 1, renewal: 1 };
    const annotations = { [`argosy.dev/finishing-${identity}`]: JSON.stringify(finishing) };
    const metadata = { name: "lease", uid: "lease-uid", resourceVersion: "0", annotations };
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { holderIdentity: "" } };
  }

  it("says what to do if the runner may not have its lease", async () => {
    const message = 'leases "widget" is forbidden: User "runner" cannot get resource "leases"';
    refusal = new ApiError(403, { message }, "GET");
    start();
    await eventually(() =>
      assert.match(notices[0] ?? "", /^lease: .*cannot get .*run `pulumi up --refresh`\.$/),
    );
  });

  it("reconciles nothing before the custom resources were listed in the term", async () => {
    const leading = start();
    await eventually(() => assert.ok(leading.isLeading, "it leads"));
    await eventually(() => assert.ok(lists === 1, "it lists"));
    assert.deepEqual([...working.keys()], []);
    listed();
    await eventually(() => assert.ok(working.has(KEY), "it works"));
  });

  it("reconciles nothing if it is stopped while it lists", async () => {
    const leading = start();
    await eventually(() => assert.ok(lists === 1, "it lists"));
    const stopped = leading.stop();
    listed();
    await stopped;
    assert.deepEqual([[...working.keys()], leading.isLeading], [[], false]);
    assert.equal(lease?.spec?.holderIdentity, "");
  });

  it("leaves an object alone that another process still works on, and reads it again afterwards", async () => {
    lease = finishedBy("two");
    start([KEY, OTHER]);
    await eventually(() => assert.ok(lists === 1, "it lists"));
    listed();
    await eventually(() => assert.ok(working.has(OTHER), "it works on the other"));
    assert.deepEqual([working.has(KEY), reread], [false, []]);
    await eventually(() => assert.ok(working.has(KEY), "the other process counts as dead"));
    assert.deepEqual(reread, [KEY]);
  });

  it("reads an object again of which another process has ended its work while the objects were listed", async () => {
    lease = finishedBy("two");
    const leading = start();
    await eventually(() => assert.ok(lists === 1, "it lists"));
    assert.ok(lease?.metadata.annotations);
    delete lease.metadata.annotations["argosy.dev/finishing-two"];
    const renewedAt = lease.spec?.renewTime;
    await eventually(() => assert.notEqual(lease?.spec?.renewTime, renewedAt));
    listed();
    await eventually(() => assert.ok(working.has(KEY), "it works"));
    assert.deepEqual([reread, leading.isLeading], [[KEY], true]);
  });

  it("lets another process lead while it ends work that takes long", async () => {
    const leading = start();
    await eventually(() => assert.ok(lists === 1, "it lists"));
    listed();
    await eventually(() => assert.ok(working.has(KEY), "it works"));
    const stopping = leading.stop();
    await eventually(() => assert.ok(lease?.spec?.holderIdentity === "", "the lease is free"));
    assert.ok(working.has(KEY));
    assert.match(JSON.stringify(lease?.metadata.annotations), /shop\/widget/);
    working.get(KEY)?.();
    await stopping;
    assert.doesNotMatch(JSON.stringify(lease?.metadata.annotations ?? {}), /shop\/widget/);
  });

  it("kills handlers at work when its term has ended, and works on their objects in the next one", async () => {
    const leading = start();
    await eventually(() => assert.ok(lists === 1, "it lists"));
    listed();
    await eventually(() => assert.ok(working.has(KEY), "it works"));
    refusal = new ApiError(503, {}, "GET");
    await eventually(() => assert.ok(abandoned.length === 1, "its term has ended"));
    assert.deepEqual([abandoned[0]?.keys, leading.isLeading], [[KEY], false]);
    refusal = undefined;
    await eventually(() => assert.ok(lists === 2, "it leads again"));
    listed();
    await eventually(() => assert.ok(working.has(KEY), "it works again"));
  });

  it("does not wait in its next term for a request of the last one that gets no answer", async () => {
    const api = await TestApiServer.start(() => {
      // It gives no answer.
    });
    const client = api.client();
    const object = { namespace: "shop", name: "widget", uid: "uid" };
    const event = { type: "Normal", reason: "Test", note: "test" } as const;
    tell = async (client) => void (await client.get(WIDGETS, object).catch(() => {}));
    try {
      start([KEY], client);
      for (const term of [1, 2]) {
        await eventually(() => assert.equal(lists, term));
        listed();
        await eventually(() => assert.ok(working.has(KEY), "it works"));
        outbox.put(object, messageWith(event, object, WIDGETS));
        await eventually(() => assert.equal(api.calls.length, term));
        if (term === 2) break;
        refusal = new ApiError(503, {}, "GET");
        await eventually(() => assert.ok(abandoned.length === 1, "its term has ended"));
        refusal = undefined;
      }
    } finally {
      client.close();
      await api.stop();
    }
  });

  it("kills handlers that take longer than a stop may, before another process may work on their objects", async () => {
    const leading = start();
    await eventually(() => assert.ok(lists === 1, "it lists"));
    listed();
    await eventually(() => assert.ok(working.has(KEY), "it works"));
    await leading.stop(2_500);
    assert.deepEqual(
      abandoned.map(({ keys, isOver }) => [keys, isOver]),
      [[[KEY], true]],
    );
    assert.match(JSON.stringify(abandoned[0]?.lease?.metadata.annotations), /shop\/widget/);
    assert.doesNotMatch(JSON.stringify(lease?.metadata.annotations ?? {}), /shop\/widget/);
  });
});
