import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError, isBusy } from "../../runtime/kubernetes/errors";
import { failureOf } from "./support/failures";
import { applied, CONFIG_MAPS, MANAGER } from "./support/objects";
import {
  APPLY,
  DELETE,
  desired,
  FORMER,
  FORMER_NAME,
  foreign,
  NAME,
  OWNER,
  SECRET,
  verbOf,
  WriterBench,
} from "./support/writerBench";

describe("ChildWriter, which lets go of a child", () => {
  let bench: WriterBench;
  beforeEach(() => {
    bench = new WriterBench();
  });

  describe("a child that is recreated", () => {
    const refused = (cause: object) =>
      new ApiError(422, { message: "field is immutable", details: { causes: [cause] } }, "PATCH");
    const immutable = refused({ reason: "FieldValueForbidden", field: "data" });
    const next = () => desired({ key: "2" }, { update: "recreate" });
    let refusals: number;
    let refusal: ApiError;

    beforeEach(async () => {
      await bench.apply(desired({ key: "1" }, { update: "recreate" }));
      [refusals, refusal] = [1, immutable];
      bench.cluster.steps.length = 0;
      bench.cluster.beforeRequest = (step) => {
        if (step === APPLY && refusals-- > 0) throw refusal;
      };
    });

    it("is not deleted if a policy or a webhook forbids the change, and names no field", async () => {
      const message = "ValidatingAdmissionPolicy 'p' denied request: no changes on Fridays";
      for (const each of [refused({ message }), new ApiError(422, { message }, "PATCH")]) {
        [refusals, refusal] = [1, each];
        assert.equal((await failureOf(bench.apply(next()))).reason, "ChildRefused");
        assert.deepEqual([...new Set(bench.cluster.steps)], [APPLY]);
      }
    });

    it("is not deleted if the new one would be refused too, or a dry run under another name shows nothing: then a user must", async () => {
      const details = { causes: [{ reason: "FieldValueInvalid", field: "metadata.name" }] };
      for (const [status, expected] of [
        [{ message: "bad" }, /would refuse the new one: bad\. The change was refused: field is immutable/],
        [
          { message: "must be plural.group", details },
          /^(?!.*would refuse the new one).*Delete it yourself .*: it is created again\. The change was refused: field is/,
        ],
      ] as const) {
        refusals = 1;
        bench.cluster.refusals.set("try ConfigMap", new ApiError(422, status, "POST"));
        const { reason, message } = await failureOf(bench.apply(next()));
        assert.deepEqual([reason, bench.cluster.steps.includes(DELETE)], ["ChildRefused", false]);
        assert.match(message, expected);
      }
    });

    it("is still known if its deletion is refused, even as a conflict without another write, and says why", async () => {
      for (const code of [403, 409, 422]) {
        refusals = 1;
        bench.cluster.refusals.set(DELETE, new ApiError(code, { message: "not on Fridays." }, "DELETE"));
        const { reason, message } = await failureOf(bench.apply(next()));
        assert.equal(reason, "ChildRefused");
        assert.equal(
          message,
          "the API server refused to delete ConfigMap shop/settings: not on Fridays. It must be deleted and created again, since the change was refused: field is immutable.",
        );
        assert.deepEqual([bench.there()?.["data"], bench.store.size], [{ key: "1" }, 1]);
      }
    });

    it("is not blamed if the API server is busy, or cannot ask a webhook for a moment that must allow its deletion, or a new one", async () => {
      const message =
        'Internal error occurred: failed calling webhook "deny.example.com": connection refused';
      for (const step of ["try ConfigMap", DELETE])
        for (const busy of [
          new ApiError(500, { kind: "Status", message }, "DELETE"),
          new ApiError(429, { message: "later" }, "POST"),
        ]) {
          refusals = 1;
          bench.cluster.refusals.clear();
          bench.cluster.refusals.set(step, busy);
          await assert.rejects(bench.apply(next()), (error) => isBusy(error));
          assert.deepEqual(bench.there()?.["data"], { key: "1" });
        }
    });

    it("says why its deletion is refused before anything else, without values of Secrets, however long the API server's quotation is", async () => {
      const quoted = `spec.template: Invalid value: ${"x".repeat(350)}${SECRET}${"x".repeat(3_000)}: field is immutable`;
      refusal = new ApiError(422, { ...immutable.status, message: quoted }, "PATCH");
      bench.cluster.refusals.set(DELETE, new ApiError(403, { message: "not on Fridays" }, "DELETE"));
      const { message } = await failureOf(bench.apply(next()));
      assert.match(
        message,
        /^the API server refused to delete .* was refused: spec.* … .*: field is immutable\.$/,
      );
      assert.ok(!message.includes(SECRET.slice(0, 4)) && message.length < 1_000, message);
    });

    it("is not deleted if it lost its owner since the refusal: kubectl delete --cascade=orphan keeps it", async () => {
      const { beforeRequest } = bench.cluster;
      bench.cluster.beforeRequest = (step) => {
        beforeRequest(step);
        if (step === "try ConfigMap") bench.change({ ownerReferences: [] });
      };
      await assert.rejects(bench.apply(next()), (error: ApiError) => error.code === 409);
      assert.deepEqual([bench.there()?.["data"], bench.store.size], [{ key: "1" }, 0]);
    });

    it("is deleted and created if it cannot be changed, after another look each time that another client has written it", async () => {
      const { beforeRequest } = bench.cluster;
      let writes = 3;
      bench.cluster.beforeRequest = (step) => {
        beforeRequest(step);
        if (step !== APPLY && writes-- > 0) bench.change({ annotations: { touched: String(writes) } });
      };
      assert.equal(verbOf(await bench.apply(next())), "recreated");
      assert.deepEqual(bench.cluster.steps, [APPLY, "try ConfigMap", DELETE, DELETE, DELETE, APPLY]);
      assert.deepEqual(bench.there()?.["data"], { key: "2" });
    });

    it("is only deleted as long as another controller's finalizer keeps it", async () => {
      bench.change({ finalizers: ["theirs.example.com/x"] });
      bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
      assert.equal(verbOf(await bench.apply(next())), "deleted");
      assert.deepEqual(bench.there()?.["data"], { key: "1" });
    });
  });

  describe("deletes a child", () => {
    let child: ReturnType<typeof bench.store.of>[number];
    beforeEach(async () => {
      await bench.apply();
      bench.cluster.steps.length = 0;
      const [known] = bench.store.of(OWNER.metadata.uid);
      assert.ok(known);
      child = known;
    });
    const gone = () => bench.cluster.remove("ConfigMap", NAME);
    const meddled = (change: object) => {
      bench.cluster.beforeRequest = () => bench.change(change);
    };
    const cases: readonly (readonly [
      what: string,
      before: () => unknown,
      verb: string | undefined,
      requests: number,
      left: string | undefined,
    ])[] = [
      ["in the version that was seen", () => {}, "deleted", 1, undefined],
      ["and says nothing of one that is gone", gone, undefined, 1, undefined],
      ["after another look, if another client wrote since", () => bench.touched(2), "deleted", 3, undefined],
      [
        "not if it is no longer ours by then",
        () => meddled({ ownerReferences: [], managedFields: [] }),
        undefined,
        1,
        "settings-uid",
      ],
      [
        "not if another client has deleted it and a finalizer keeps it",
        () => meddled({ deletionTimestamp: "2026-01-01T00:00:00Z" }),
        undefined,
        1,
        "settings-uid",
      ],
      [
        "not if another object has its name by then",
        () => {
          gone();
          bench.cluster.put(foreign());
        },
        undefined,
        1,
        "foreign-uid",
      ],
    ];
    for (const [what, before, verb, requests, left] of cases)
      it(what, async () => {
        before();
        assert.equal(verbOf(await bench.writer.delete(child, bench.scope())), verb);
        assert.deepEqual([bench.cluster.steps.length, bench.there()?.metadata.uid], [requests, left]);
        if (left === undefined) assert.equal(bench.store.size, 0);
      });

    it("not if another client writes all the time or it cannot be looked at again, and still knows it", async () => {
      for (const code of [409, 503]) {
        bench.touched(100);
        if (code === 503) bench.cluster.readRefusals.set("get ConfigMap", new ApiError(code, {}, "GET"));
        const work = bench.writer.delete(child, bench.scope());
        await assert.rejects(work, (error: ApiError) => error.code === code);
        assert.equal(bench.store.of(OWNER.metadata.uid).length, 1);
      }
    });

    it("not if it is refused, even as a conflict without another write, and says so", async () => {
      for (const code of [403, 409, 422]) {
        bench.cluster.refusals.set(DELETE, new ApiError(code, { message: "it is needed" }, "DELETE"));
        const { reason, message } = await failureOf(bench.writer.delete(child, bench.scope()));
        assert.equal(reason, "ChildRefused");
        assert.equal(message, "the API server refused to delete ConfigMap shop/settings: it is needed.");
      }
      assert.equal(bench.store.of(OWNER.metadata.uid).length, 1);
    });

    it("of an object that is gone only if that was its only owner, and marked as such", async () => {
      const [ours] = bench.there()?.metadata.ownerReferences ?? [];
      assert.ok(ours);
      bench.change({ ownerReferences: [ours, { ...ours, uid: "second", controller: false }] });
      assert.equal(await bench.writer.deleteOrphan(child, bench.scope()), undefined);
      bench.change({ ownerReferences: [] });
      assert.equal(await bench.writer.deleteOrphan(child, bench.scope()), undefined);
      bench.change({ ownerReferences: [ours] });
      assert.equal(verbOf(await bench.writer.deleteOrphan(child, bench.scope())), "deleted");
    });
  });

  describe("under a new name of the operator", () => {
    /** The child as the operator applied it under its former name. */
    const former = () => applied(desired({ key: "1", old: "1" }).manifest, FORMER);
    beforeEach(() => {
      bench.begin({ formerNames: [FORMER_NAME] });
      bench.store.learn(CONFIG_MAPS, [bench.cluster.put(former())]);
    });
    const managers = () => bench.there()?.metadata.managedFields?.map(({ manager }) => manager);

    it("takes over what the former name applied and releases that, even if it did not get so far at first: nothing of an earlier answer stays", async () => {
      const lost = new ApiUnreachableError("PATCH", new Error("cut"));
      bench.cluster.lost.set(APPLY, lost);
      // It is applied under the former name first.
      await assert.rejects(bench.apply(), lost);
      bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
      await assert.rejects(bench.apply(), lost);
      bench.cluster.lost.clear();
      assert.deepEqual(managers(), [FORMER, MANAGER]);
      bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
      await bench.apply();
      assert.deepEqual(managers(), [MANAGER]);
      assert.equal(await bench.apply(), undefined);
    });

    it("looks again before it releases, if another client wrote since its apply", async () => {
      let requests = 0;
      bench.cluster.beforeRequest = () => {
        // Between our apply and the release, the old program applies once more.
        if (++requests === 4) bench.change({ annotations: { touched: "1" } });
      };
      assert.equal(verbOf(await bench.apply()), "patched");
      // A dry run, the apply under the former name, the apply, and two releases.
      assert.deepEqual([bench.cluster.steps.length, managers()], [5, [MANAGER]]);
    });
  });
});
