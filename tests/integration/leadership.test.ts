import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { type JsonPatchOperation, KubernetesClient } from "../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { ApiError, isApiError } from "../../runtime/kubernetes/errors";
import { Leadership } from "../../runtime/leadership/leadership";
import { LEASES, type Lease, leaseApi } from "../../runtime/leadership/lease";
import type { Term } from "../../runtime/leadership/term";
import { always, eventually, whileRepeating } from "../support/eventually";
import { sideBySide } from "../support/sideBySide";
import type { Api } from "./support/api";
import { sharedCluster } from "./support/cluster";
import { TcpProxy } from "./support/tcpProxy";

/**
 * A leader trusts its lease for two thirds of this time. A machine that is so busy that no renewal succeeds in that time ends
 * its term, and rightly so. So this is as long as it is by default.
 */
const LEASE_SECONDS = 15;
/** Longer than a lease holds that is not renewed. */
const PAST_THE_LEASE = { forMs: LEASE_SECONDS * 1_000 + 3_000 };
/** Sooner than a lease ends that is not renewed. */
const BEFORE_ITS_END = { timeoutMs: LEASE_SECONDS * 1_000 - 3_000 };

/** A process that stands for election. */
interface Standing {
  readonly leadership: Leadership;
  readonly terms: Term[];
  readonly errors: Error[];
  mayWrite(key?: string): boolean;
}

/** One lease, and those who stand for election by it. */
class Election {
  private readonly cleanUp: (() => unknown)[] = [];

  constructor(
    readonly api: Api,
    readonly connection: ClusterConnection,
    private readonly namespace: string,
  ) {}

  stand(identity: string, through = this.connection): Standing {
    const client = new KubernetesClient(through);
    const terms: Term[] = [];
    const errors: Error[] = [];
    const leadership = new Leadership({
      lease: leaseApi(client, this.namespace, "test"),
      identity,
      leaseSeconds: LEASE_SECONDS,
      onLeading: (term) => void terms.push(term),
      onLost: () => {},
      onError: (error) => void errors.push(error),
    });
    const mayWrite = (key?: string) =>
      terms.some((term) => {
        try {
          term.assert(key);
          return true;
        } catch {
          return false;
        }
      });
    this.cleanUp.push(async () => {
      await leadership.stop();
      client.close();
    });
    leadership.start();
    return { leadership, terms, errors, mayWrite };
  }

  async leading(identity: string, through = this.connection): Promise<Standing> {
    const standing = this.stand(identity, through);
    await eventually(() => assert.ok(standing.mayWrite(), `${identity} does not lead`));
    return standing;
  }

  /** A bad network to the API server. */
  async proxy(): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(this.connection);
    this.cleanUp.push(() => proxy.stop());
    return proxy;
  }

  lease() {
    const metadata = { name: "test", namespace: this.namespace };
    return this.api.get({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata });
  }

  /** Changes the Lease, as a user may by hand. */
  patch(...operations: JsonPatchOperation[]) {
    return this.api.client.jsonPatch(LEASES, { name: "test", namespace: this.namespace }, operations);
  }

  /** Deletes the Lease, if there is one, as a user may by hand. */
  async remove(): Promise<void> {
    const metadata = { name: "test", namespace: this.namespace };
    await this.api.client.delete(LEASES, metadata).catch((error) => {
      if (!isApiError(error, 404)) throw error;
    });
  }

  async end(): Promise<void> {
    for (const clean of this.cleanUp.reverse()) await clean();
  }
}

/** What the API server refused. On a busy machine it may also not answer in time. */
function refusals({ errors }: Standing): Error[] {
  return errors.filter((error) => error instanceof ApiError);
}

/** Hands over while a run of the key goes on. Gives what ends it. */
function handOver({ leadership }: Standing, key: string): { end: () => void; over: Promise<void> } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, over: leadership.handOver({ unfinished: () => [key], ended }) };
}

describe("leadership by a Lease of the API server", function () {
  this.timeout(180_000);
  let api: Api;
  let connection: ClusterConnection;

  before(async function () {
    this.timeout(0);
    ({ api, connection } = await sharedCluster());
  });

  /** Each has a lease of its own, and waits for the end of leases nearly all the time. */
  const election = (play: (election: Election) => Promise<void>) => async () => {
    const place = new Election(api, connection, await api.newNamespace("leadership"));
    try {
      await play(place);
    } finally {
      await place.end();
    }
  };

  sideBySide({
    "goes on by renewal, and to another one at once when the leader stops": election(async (place) => {
      const a = await place.leading("a");
      const b = place.stand("b");
      await always(() => assert.ok(a.terms[0] === a.leadership.term && !b.mayWrite()), PAST_THE_LEASE);
      await a.leadership.stop();
      assert.ok(!a.mayWrite());
      await eventually(() => assert.ok(b.mayWrite()), BEFORE_ITS_END);
      assert.deepEqual([refusals(a), refusals(b)], [[], []]);
    }),

    "is handed over while a run goes on, which alone may write its object until it has ended": election(
      async (place) => {
        const a = await place.leading("a");
        const b = place.stand("b");
        await eventually(() => assert.equal(b.leadership.holder, "a"));
        const { end, over } = handOver(a, "slow");
        await eventually(() => assert.ok(b.mayWrite()), BEFORE_ITS_END);
        await always(() => {
          assert.ok(a.mayWrite("slow") && !a.mayWrite("other") && !a.mayWrite());
          assert.ok(!b.mayWrite("slow") && b.mayWrite("other") && b.mayWrite());
        }, PAST_THE_LEASE);
        assert.deepEqual([...b.leadership.blockedKeys], ["slow"]);
        end();
        await over;
        assert.ok(!a.mayWrite("slow"));
        await eventually(() => assert.ok(b.mayWrite("slow")));
        assert.equal((await place.lease()).metadata.annotations, undefined);
        assert.deepEqual([b.terms.length, refusals(a), refusals(b)], [1, [], []]);
      },
    ),

    "is kept when the Lease is filled with nonsense, and deleted every second": election(async (place) => {
      const a = await place.leading("a");
      const b = place.stand("b");
      await eventually(() => assert.equal(b.leadership.holder, "a"));
      const most = 2 ** 31 - 1;
      const nonsense: JsonPatchOperation[][] = [
        [{ op: "remove", path: "/spec" }],
        [{ op: "add", path: "/spec/holderIdentity", value: "" }],
        [
          { op: "remove", path: "/spec/renewTime" },
          { op: "remove", path: "/spec/acquireTime" },
        ],
        [
          { op: "add", path: "/spec/leaseDurationSeconds", value: most },
          { op: "add", path: "/spec/renewTime", value: "9999-12-31T23:59:59.000000Z" },
          { op: "add", path: "/spec/leaseTransitions", value: most },
        ],
      ];
      const isRight = async () => {
        const { spec } = (await place.lease()) as Lease;
        assert.deepEqual([spec?.holderIdentity, spec?.leaseDurationSeconds], ["a", LEASE_SECONDS]);
        assert.ok(spec?.acquireTime && spec.renewTime && spec.renewTime < "9999");
      };
      const alone = () => assert.ok(a.mayWrite() && !b.mayWrite());
      for (const operations of nonsense) {
        await place.patch(...operations);
        await eventually(async () => {
          alone();
          await isRight();
        });
      }
      for (const [path, value] of [
        ["leaseDurationSeconds", 0],
        ["leaseDurationSeconds", -1],
        ["renewTime", "2026-01-01T00:00:00Z"],
      ] as const)
        await assert.rejects(place.patch({ op: "add", path: `/spec/${path}`, value }), ApiError);
      for (let turn = 0; turn < 8; turn++) {
        // It is missing until the next renewal.
        await place.remove();
        await always(alone, { forMs: 1_000 });
      }
      await eventually(isRight);
      assert.deepEqual([a.terms.length, b.terms.length], [1, 0]);
      await a.leadership.stop();
      await eventually(() => assert.ok(b.mayWrite()), BEFORE_ITS_END);
    }),

    "is taken from a dead leader although another client sets an annotation to and fro": election(
      async (place) => {
        const proxy = await place.proxy();
        const a = await place.leading("a", proxy.through(connection));
        const b = place.stand("b");
        await eventually(() => assert.equal(b.leadership.holder, "a"));
        const { apiVersion, kind, metadata } = await place.lease();
        const { name, namespace } = metadata;
        const set = (turn: string) =>
          api.apply({
            apiVersion,
            kind,
            metadata: { name, ...(namespace && { namespace }), annotations: { turn } },
          });
        // Another process almost always sees the same value.
        const toggle = async () => {
          await set("to");
          await set("fro");
          await pause(300);
        };
        proxy.hold();
        await whileRepeating(toggle, () => eventually(() => assert.ok(b.mayWrite())));
        assert.ok(!a.mayWrite());
        proxy.release();
      },
    ),
  });
});
