import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { Leading } from "../../runtime/engine/leading";
import { ReconcileRequests } from "../../runtime/engine/objectWork";
import { Orphans } from "../../runtime/engine/orphans";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { Lease, LeaseApi } from "../../runtime/leadership/lease";
import type { Term } from "../../runtime/leadership/term";
import type { StandingAnswers } from "../../runtime/reconcile/standingAnswers";
import { Outbox } from "../../runtime/report/outbox";
import { messageWith } from "../../runtime/report/teller";
import { Pace, Resync } from "../../runtime/when/resync";
import { Workers } from "../../runtime/when/workers";
import { WorkQueue } from "../../runtime/when/workQueue";
import { eventually } from "../support/eventually";
import { sideBySide } from "../support/sideBySide";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { patched } from "./support/net/memoryApi";
import { WIDGETS } from "./support/objects";
import { TestApiServer } from "./support/testApiServer";
import { due } from "./support/wakeups";

const KEY = "shop/widget";
const OTHER = "shop/other";

/** One process that may lead, and what a test sees of it. */
class Bench {
  lease: Lease | undefined;
  /** What the API server says of the lease. */
  refusal: ApiError | undefined;
  readonly notices: string[] = [];
  /** The work in progress: how it is ended, by its key. */
  readonly working = new Map<string, () => void>();
  /** Whenever handlers were abandoned: the objects that were worked on, what the Lease said, and whether more could be asked. */
  readonly abandoned: {
    readonly keys: readonly string[];
    readonly lease: Lease | undefined;
    readonly isOver: boolean | undefined;
  }[] = [];
  readonly reread: string[] = [];
  /** Ends the list of the custom resources. */
  listed = () => {};
  /** How often the custom resources were said to be outdated. */
  lists = 0;
  /** How often everything was. */
  restores = 0;
  /** What a report requests. */
  tell = async (_client: KubernetesClient) => {};
  readonly outbox = new Outbox({
    teller: { tell: async (client) => void (await this.tell(client)) },
    join: (one) => one,
    onDrop: () => {},
    onFault: assert.fail,
  });
  private readonly queue = new WorkQueue();
  private readonly workers = new Workers({
    queue: this.queue,
    concurrency: 4,
    work: async (key) => {
      await new Promise<void>((resolve) => this.working.set(key, resolve));
      this.working.delete(key);
      return { kind: "done" };
    },
    onFault: assert.fail,
  });
  /** Undefined: the handler is asked in every reconcile. */
  standing: StandingAnswers | undefined;
  /** The last term that has begun. */
  private term: Term | undefined;
  private leading: Leading | undefined;

  async end(): Promise<void> {
    for (const end of this.working.values()) end();
    await this.leading?.stop(0);
  }

  start(keys: readonly string[] = [KEY], client = new FakeCluster().client()): Leading {
    const cluster = new FakeCluster();
    const leading: Leading = new Leading({
      client,
      queue: this.queue,
      workers: this.workers,
      abandon: () => {
        this.abandoned.push({
          keys: [...this.working.keys()],
          lease: structuredClone(this.lease),
          isOver: this.term?.hasEnded,
        });
        for (const end of this.working.values()) end();
      },
      resync: new Resync({
        periodMs: 600_000,
        relist: async () => {},
        keys: () => [],
        add: () => {},
        pace: new Pace(() => 0),
      }),
      requests: new ReconcileRequests(),
      rollout: undefined,
      refresh: (isRestored) => {
        this.lists++;
        this.restores += Number(isRestored);
        return new Promise<void>((resolve) => {
          this.listed = resolve;
        });
      },
      outbox: this.outbox,
      orphans: new Orphans({
        ...childrenIn(cluster),
        objects: { hasUid: () => true, removedAt: () => undefined },
        wouldShow: () => true,
        isFollowed: () => true,
        masked: (text) => text,
        notice: () => {},
      }),
      lease: this.leaseInMemory(),
      identity: "one",
      program: this.standing && "program",
      standing: this.standing,
      keys: () => keys,
      // A process that is given no core for some seconds does not lose it.
      leaseSeconds: 6,
      emit: (news) => {
        if (news.kind === "term begun") {
          this.term = leading.term;
          for (const key of keys) this.queue.add(key, due("routine"));
        } else if (news.kind === "taken over") {
          this.reread.push(news.key);
          this.queue.add(news.key, due());
        }
      },
      notice: (text) => void this.notices.push(text),
    });
    this.leading = leading;
    leading.start();
    return leading;
  }

  /** Starts, and waits until the object is worked on. */
  async startWork(): Promise<Leading> {
    const leading = this.start();
    await eventually(() => assert.ok(this.lists === 1, "it lists"));
    this.listed();
    await eventually(() => assert.ok(this.working.has(KEY), "it works"));
    return leading;
  }

  /** A Lease without other candidates, in memory. */
  private leaseInMemory(): LeaseApi {
    let version = 0;
    const store = ({ metadata, ...rest }: Manifest & Pick<Lease, "spec">): Lease => {
      const resourceVersion = String(++version);
      this.lease = { ...rest, metadata: { ...metadata, uid: "lease-uid", resourceVersion } };
      return structuredClone(this.lease);
    };
    return {
      get: async () => {
        if (this.refusal) throw this.refusal;
        return structuredClone(this.lease);
      },
      create: async (spec, annotations) =>
        store({
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "lease", annotations: { ...this.lease?.metadata.annotations, ...annotations } },
          spec,
        }),
      replace: async (next) => {
        if (this.refusal) throw this.refusal;
        return store(next);
      },
      patch: async (operations) => {
        if (this.refusal) throw this.refusal;
        return store(patched(this.lease as Lease, operations) as Lease);
      },
    };
  }
}

/** A Lease that is free, and that process still works on one object. */
function finishedBy(identity: string): Lease {
  const finishing = { identity, keys: [KEY], leaseSeconds: 1, renewal: 1 };
  const annotations = { [`argosy.dev/finishing-${identity}`]: JSON.stringify(finishing) };
  const metadata = { name: "lease", uid: "lease-uid", resourceVersion: "0", annotations };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { holderIdentity: "" } };
}

/** A test on a bench of its own. */
function withBench(test: (bench: Bench) => Promise<void>): () => Promise<void> {
  return async () => {
    const bench = new Bench();
    await test(bench).finally(() => bench.end());
  };
}

describe("Leading", () => {
  // Each waits for seconds: until a lease ends.
  sideBySide({
    "says what to do if the runner may not have its lease": withBench(async (bench) => {
      const message = 'leases "widget" is forbidden: User "runner" cannot get resource "leases"';
      bench.refusal = new ApiError(403, { message }, "GET");
      bench.start();
      await eventually(() =>
        assert.match(bench.notices[0] ?? "", /^lease: .*cannot get .*run `pulumi up --refresh`\.$/),
      );
    }),
    "reconciles nothing before the custom resources were listed in the term": withBench(async (bench) => {
      const leading = bench.start();
      await eventually(() => assert.ok(leading.isLeading, "it leads"));
      await eventually(() => assert.ok(bench.lists === 1, "it lists"));
      assert.deepEqual([...bench.working.keys()], []);
      bench.listed();
      await eventually(() => assert.ok(bench.working.has(KEY), "it works"));
    }),
    "reconciles nothing if it is stopped while it lists": withBench(async (bench) => {
      const leading = bench.start();
      await eventually(() => assert.ok(bench.lists === 1, "it lists"));
      const stopped = leading.stop();
      bench.listed();
      await stopped;
      assert.deepEqual([[...bench.working.keys()], leading.isLeading], [[], false]);
      assert.equal(bench.lease?.spec?.holderIdentity, "");
    }),
    "leaves an object alone that another process still works on, and reads it again afterwards": withBench(
      async (bench) => {
        bench.lease = finishedBy("two");
        bench.start([KEY, OTHER]);
        await eventually(() => assert.ok(bench.lists === 1, "it lists"));
        bench.listed();
        await eventually(() => assert.ok(bench.working.has(OTHER), "it works on the other"));
        assert.deepEqual([bench.working.has(KEY), bench.reread], [false, []]);
        await eventually(() => assert.ok(bench.working.has(KEY), "the other process counts as dead"));
        assert.deepEqual(bench.reread, [KEY]);
      },
    ),
    "reads an object again of which another process has ended its work while the objects were listed":
      withBench(async (bench) => {
        bench.lease = finishedBy("two");
        const leading = bench.start();
        await eventually(() => assert.ok(bench.lists === 1, "it lists"));
        assert.ok(bench.lease?.metadata.annotations);
        delete bench.lease.metadata.annotations["argosy.dev/finishing-two"];
        const renewedAt = bench.lease.spec?.renewTime;
        await eventually(() => assert.notEqual(bench.lease?.spec?.renewTime, renewedAt));
        bench.listed();
        await eventually(() => assert.ok(bench.working.has(KEY), "it works"));
        assert.deepEqual([bench.reread, leading.isLeading], [[KEY], true]);
      }),
    "lists everything again if it finds its Lease in an earlier state: etcd was restored": withBench(
      async (bench) => {
        const leading = await bench.startWork();
        const backup = structuredClone(bench.lease) as Lease;
        await eventually(() => assert.notEqual(bench.lease?.spec?.renewTime, backup.spec?.renewTime));
        assert.equal(bench.restores, 0);
        bench.refusal = new ApiError(503, { message: "away" }, "GET");
        await eventually(() => assert.equal(leading.isLeading, false));
        bench.lease = backup;
        bench.refusal = undefined;
        await eventually(() => assert.deepEqual([bench.lists, bench.restores], [2, 1]));
      },
    ),
    "lets another process lead while it ends work that takes long": withBench(async (bench) => {
      const leading = await bench.startWork();
      const stopping = leading.stop();
      await eventually(() => assert.ok(bench.lease?.spec?.holderIdentity === "", "the lease is free"));
      assert.ok(bench.working.has(KEY));
      assert.match(JSON.stringify(bench.lease?.metadata.annotations), /shop\/widget/);
      bench.working.get(KEY)?.();
      await stopping;
      assert.doesNotMatch(JSON.stringify(bench.lease?.metadata.annotations ?? {}), /shop\/widget/);
    }),
    "kills handlers at work when its term has ended, and works on their objects in the next one": withBench(
      async (bench) => {
        const leading = await bench.startWork();
        bench.refusal = new ApiError(503, {}, "GET");
        await eventually(() => assert.ok(bench.abandoned.length === 1, "its term has ended"));
        assert.deepEqual([bench.abandoned[0]?.keys, leading.isLeading], [[KEY], false]);
        bench.refusal = undefined;
        await eventually(() => assert.ok(bench.lists === 2, "it leads again"));
        bench.listed();
        await eventually(() => assert.ok(bench.working.has(KEY), "it works again"));
      },
    ),
    "does not wait in its next term for a request of the last one that gets no answer": withBench(
      async (bench) => {
        const api = await TestApiServer.start(() => {
          // It gives no answer.
        });
        const client = api.client();
        const object = { namespace: "shop", name: "widget", uid: "uid" };
        const event = { type: "Normal", reason: "Test", note: "test" } as const;
        bench.tell = async (client) => void (await client.get(WIDGETS, object).catch(() => {}));
        try {
          bench.start([KEY], client);
          for (const term of [1, 2]) {
            await eventually(() => assert.equal(bench.lists, term));
            bench.listed();
            await eventually(() => assert.ok(bench.working.has(KEY), "it works"));
            bench.outbox.put(object, messageWith(event, object, WIDGETS));
            await eventually(() => assert.equal(api.calls.length, term));
            if (term === 2) break;
            bench.refusal = new ApiError(503, {}, "GET");
            await eventually(() => assert.ok(bench.abandoned.length === 1, "its term has ended"));
            bench.refusal = undefined;
          }
        } finally {
          client.close();
          await api.stop();
        }
      },
    ),
    "kills handlers that take longer than a stop may, before another process may work on their objects":
      withBench(async (bench) => {
        const leading = await bench.startWork();
        await leading.stop(2_500);
        assert.deepEqual(
          bench.abandoned.map(({ keys, isOver }) => [keys, isOver]),
          [[[KEY], true]],
        );
        assert.match(JSON.stringify(bench.abandoned[0]?.lease?.metadata.annotations), /shop\/widget/);
        assert.doesNotMatch(JSON.stringify(bench.lease?.metadata.annotations ?? {}), /shop\/widget/);
      }),
  });
});
