import assert from "node:assert/strict";
import type { ManagedFieldsEntry } from "../../runtime/base/objects";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { Lease, LeaseSpec } from "../../runtime/leadership/lease";
import { isSignOfLife } from "../../runtime/leadership/ourLease";
import { LEASE_MS, LEASE_SECONDS, LeaseWorld, LOOK_MS, MEDDLING } from "./support/leaseWorld";

describe("Leadership", () => {
  let world: LeaseWorld;
  beforeEach(() => {
    world = new LeaseWorld();
  });

  it("goes on leading, no matter who else writes the Lease", async () => {
    const a = await world.leader();
    for (let turn = 0; turn < 400; turn++) {
      const annotations = { ...world.lease?.metadata.annotations, turn: `${turn}` };
      if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
      await world.pass(97, () => a.term?.assert());
    }
    assert.deepStrictEqual(a.told, ["leading"]);
    assert.equal(world.lease?.metadata.annotations?.["turn"], "399");
  });

  it("goes on leading when the Lease is deleted, and others wait as long as it would have held", async () => {
    const [a, b] = await world.pair();
    for (let turn = 0; turn < 5; turn++) {
      world.store(undefined);
      await world.pass(LEASE_MS, () => {
        a.term?.assert();
        assert.ok(!b.mayWrite());
      });
      assert.equal(world.holder, "a");
    }
    assert.deepStrictEqual(a.told, ["leading"]);
  });

  for (const [what, change] of Object.entries(MEDDLING)) {
    it(`goes on leading alone when a user ${what}, and puts it right`, async () => {
      const [a, b] = await world.pair();
      // So often that the other one sees little else: it must not take that for a Lease without renewals.
      for (let turn = 0; turn < 1_000; turn++) {
        if (world.lease) world.store({ ...world.lease, spec: change(world.lease.spec ?? {}) });
        await world.pass(97, () => {
          a.term?.assert();
          assert.ok(!b.mayWrite());
        });
      }
      await world.pass(LEASE_MS, () => assert.ok(a.mayWrite() && !b.mayWrite()));
      assert.deepStrictEqual(a.told, ["leading"]);
      assert.deepStrictEqual([world.holder, world.lease?.spec?.leaseDurationSeconds], ["a", LEASE_SECONDS]);
      assert.ok(world.lease?.spec?.acquireTime && world.lease.spec.renewTime);
      void a.leadership.stop();
      assert.ok((await world.until(() => b.mayWrite())) < LOOK_MS);
    });

    it(`is led by another one soon when a user ${what} and the leader is dead`, async () => {
      const [a, b] = await world.pair();
      a.kill();
      if (world.lease) world.store({ ...world.lease, spec: change(world.lease.spec ?? {}) });
      await world.until(() => b.mayWrite(), 60_000 + 4 * LOOK_MS);
    });
  }

  it("is led by the present leader alone when etcd is restored to the time of a former one", async () => {
    for (let turn = 0; turn < 20; turn++) {
      world = new LeaseWorld();
      const a = await world.leader("a");
      const backup = world.lease;
      const b = world.start("b");
      await world.pass(LEASE_MS);
      a.cutOff(2 * LEASE_MS);
      await world.until(() => b.mayWrite());
      await world.pass(3 * LEASE_MS + turn * 97);
      world.store(backup);
      await world.pass(2 * LEASE_MS, () => assert.ok(!a.mayWrite() || !b.mayWrite(), `turn ${turn}`));
      assert.ok(a.mayWrite() || b.mayWrite());
    }
  });

  it("ends the term and begins another one when etcd is restored to an earlier time of the same term", async () => {
    const a = await world.leader();
    await world.pass(LEASE_MS);
    const backup = world.lease;
    await world.pass(LEASE_MS);
    world.restore(backup);
    await world.until(() => a.terms.length === 2, LEASE_MS);
    assert.deepStrictEqual(a.told, ["leading", "lost", "leading"]);
    await world.pass(LEASE_MS, () => a.term?.assert());
  });

  it("is led by one at a time when etcd is restored to a time before a handover that has not ended", async () => {
    for (let turn = 0; turn < 20; turn++) {
      world = new LeaseWorld();
      const a = await world.leader("a");
      const b = world.start("b");
      await world.pass(LOOK_MS);
      const backup = world.lease;
      void a.handOver("key");
      await world.until(() => b.mayWrite("other"));
      await world.pass(LEASE_MS + turn * 97);
      world.restore(backup);
      const check = (key: string) => assert.ok(!a.mayWrite(key) || !b.mayWrite(key), `turn ${turn}`);
      await world.pass(2 * LEASE_MS, () => ["key", "other"].map(check));
      assert.ok(b.mayWrite("key") && b.mayWrite("other"));
    }
  });

  it("is led by one at a time when etcd is restored to a time without a leader", async () => {
    for (let turn = 0; turn < 20; turn++) {
      world = new LeaseWorld();
      const former = await world.leader("former");
      void former.leadership.stop();
      await world.pass(LOOK_MS);
      const backup = world.lease;
      const a = await world.leader("a");
      const b = world.start("b");
      await world.pass(LEASE_MS + turn * 97);
      world.restore(backup);
      await world.pass(2 * LEASE_MS, () => assert.ok(!a.mayWrite() || !b.mayWrite(), `turn ${turn}`));
      assert.ok(a.mayWrite() || b.mayWrite());
    }
  });

  it("blocks no object for ever when a user lets a dead process's mark hold for years", async () => {
    const a = await world.leader("a");
    const forged = JSON.stringify({ identity: "x", keys: ["key"], leaseSeconds: 2 ** 31, renewal: 1 });
    const annotations = { "argosy.dev/finishing-x": forged };
    if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
    await world.until(() => !a.mayWrite("key"));
    await world.until(() => a.mayWrite("key"), 60_000 + 4 * LOOK_MS);
    assert.deepStrictEqual(world.lease?.metadata.annotations, {});
  });

  it("creates a deleted Lease as it was, even when the first try fails", async () => {
    const a = await world.leader("a");
    const b = world.start("b");
    const annotations = { others: "kept" };
    if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
    await world.pass(LEASE_MS);
    const before = world.lease?.spec;
    let failures = 2;
    world.onCreate = () => {
      if (failures-- > 0) throw new ApiError(500, { message: "not now" }, "POST lease");
    };
    world.store(undefined);
    await world.pass(2 * LEASE_MS, () => {
      assert.ok(a.mayWrite());
      assert.ok(!b.mayWrite());
    });
    const { renewTime: _, ...spec } = world.lease?.spec ?? {};
    const { renewTime: __, ...expected } = before ?? {};
    assert.deepStrictEqual(spec, expected);
    assert.deepStrictEqual(world.lease?.metadata.annotations, annotations);
    assert.deepStrictEqual(a.told, ["leading"]);
  });
});

const [FIRST, SECOND] = ["2026-11-21T10:00:00Z", "2026-11-21T10:00:02Z"];
const SPEC: LeaseSpec = { holderIdentity: "a", renewTime: "2026-11-21T10:00:00.000000Z" };
const RENEWED: LeaseSpec = { ...SPEC, renewTime: "2026-11-21T10:00:02.000000Z" };

/** The entry of a manager that wrote the specification, or an annotation. */
function entry(manager: string, field: "f:spec" | "f:metadata", time: string): ManagedFieldsEntry {
  const content = field === "f:spec" ? { "f:renewTime": {} } : { "f:annotations": { "f:turn": {} } };
  return { manager, operation: "Update", time, fieldsV1: { [field]: content } };
}

function lease(
  resourceVersion: string,
  managedFields: ManagedFieldsEntry[] | undefined,
  spec: LeaseSpec | undefined = SPEC,
  turn = "0",
): Lease {
  const annotations = { turn };
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      ...{ name: "lease", uid: "uid", resourceVersion, annotations },
      ...(managedFields && { managedFields }),
    },
    ...(spec && { spec }),
  };
}

describe("a sign of life of a Lease's holder", () => {
  const holder = entry("argosy", "f:spec", FIRST);
  const toggled = (time: string) => entry("kubectl-annotate", "f:metadata", time);
  const BEFORE = lease("1", [holder, toggled(FIRST)]);

  const signs: Record<string, Lease | undefined> = {
    "is a renewal": lease("2", [entry("argosy", "f:spec", SECOND), toggled(FIRST)], RENEWED),
    "is a renewal next to a change of an annotation": lease("2", [holder], RENEWED, "1"),
    "is a renewal that another one has undone": lease("3", [holder, entry("kubectl-edit", "f:spec", SECOND)]),
    "is a renewal that one of the same name has undone": lease("3", [entry("argosy", "f:spec", SECOND)]),
    "may be whatever was written if it is not known who wrote the specification": lease("2", undefined),
    "may be whatever was written if no manager owns a part of the specification": lease("2", [
      toggled(SECOND),
    ]),
    "is a Lease that is gone": undefined,
  };
  for (const [what, after] of Object.entries(signs))
    it(what, () => assert.equal(isSignOfLife(after, BEFORE), true));

  const none: Record<string, Lease | undefined> = {
    "is not the same version": BEFORE,
    "is not a change of an annotation": lease("2", [holder, toggled(SECOND)], SPEC, "1"),
    "is not a change of an annotation that was undone": lease("3", [holder, toggled(SECOND)]),
    "is not an annotation of another one": lease("3", [
      holder,
      toggled(FIRST),
      entry("x", "f:metadata", SECOND),
    ]),
  };
  for (const [what, after] of Object.entries(none))
    it(what, () => assert.equal(isSignOfLife(after, BEFORE), false));

  it("is not that there is still no Lease", () => assert.equal(isSignOfLife(undefined, undefined), false));
});
