import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError, isBusy } from "../../runtime/kubernetes/errors";
import { applied, CONFIG_MAPS, MANAGER } from "./support/objects";
import {
  APPLY,
  DELETE,
  desired,
  FORMER,
  FORMER_NAME,
  failureOf,
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

    it("is deleted and created if it cannot be changed", async () => {
      assert.equal(verbOf(await bench.apply(next())), "recreated");
      assert.deepEqual(bench.cluster.steps, [APPLY, "try ConfigMap", DELETE, APPLY]);
      assert.deepEqual(bench.there()?.["data"], { key: "2" });
    });

    it("is not deleted if a policy or a webhook forbids the change, and names no field", async () => {
      const message = "ValidatingAdmissionPolicy 'p' denied request: no changes on Fridays";
      for (const each of [refused({ message }), new ApiError(422, { message }, "PATCH")]) {
        [refusals, refusal] = [1, each];
        assert.equal((await failureOf(bench.apply(next()))).reason, "ChildRefused");
        assert.deepEqual([...new Set(bench.cluster.steps)], [APPLY]);
      }
    });

    it("is not deleted if the new one would be refused too", async () => {
      bench.cluster.refusals.set("try ConfigMap", new ApiError(422, { message: "bad" }, "POST"));
      const { reason, message } = await failureOf(bench.apply(next()));
      assert.deepEqual([reason, bench.cluster.steps.includes(DELETE)], ["ChildRefused", false]);
      assert.match(message, /would refuse the new one: bad\. The change was refused: field is immutable/);
    });

    it("is not deleted if a dry run under another name shows nothing: the failure says that a user must delete it", async () => {
      const details = { causes: [{ reason: "FieldValueInvalid", field: "metadata.name" }] };
      const refusal = new ApiError(422, { message: "must be plural.group", details }, "POST");
      bench.cluster.refusals.set("try ConfigMap", refusal);
      const { reason, message } = await failureOf(bench.apply(next()));
      assert.deepEqual([reason, bench.cluster.steps.includes(DELETE)], ["ChildRefused", false]);
      assert.doesNotMatch(message, /would refuse the new one/);
      assert.match(message, /Delete it yourself .*: it is created again\. The change was refused: field is/);
    });

    it("is not blamed, nor deleted, if the API server is busy when it is to say whether the new one would be accepted", async () => {
      const busy = new ApiError(429, { message: "later" }, "POST");
      bench.cluster.refusals.set("try ConfigMap", busy);
      await assert.rejects(bench.apply(next()), busy);
      assert.ok(!bench.cluster.steps.includes(DELETE));
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

    it("is not blamed if the API server cannot ask a webhook for a moment that must allow its deletion, or a new one", async () => {
      const message =
        'Internal error occurred: failed calling webhook "deny.example.com": connection refused';
      for (const step of ["try ConfigMap", DELETE]) {
        refusals = 1;
        bench.cluster.refusals.clear();
        bench.cluster.refusals.set(step, new ApiError(500, { kind: "Status", message }, "DELETE"));
        await assert.rejects(bench.apply(next()), (error) => isBusy(error));
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

    it("is deleted after another look if another client has written it since the refusal, up to the limit of tries", async () => {
      const { beforeRequest } = bench.cluster;
      let writes = 3;
      bench.cluster.beforeRequest = (step) => {
        beforeRequest(step);
        if (step !== APPLY && writes-- > 0) bench.change({ annotations: { touched: String(writes) } });
      };
      assert.equal(verbOf(await bench.apply(next())), "recreated");
      assert.deepEqual(bench.cluster.steps, [APPLY, "try ConfigMap", DELETE, DELETE, DELETE, APPLY]);
    });

    it("is only deleted as long as another controller's finalizer keeps it", async () => {
      bench.change({ finalizers: ["theirs.example.com/x"] });
      bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
      assert.equal(verbOf(await bench.apply(next())), "deleted");
      assert.deepEqual(bench.there()?.["data"], { key: "1" });
    });
  });

  describe("deletes a child", () => {
    async function known() {
      await bench.apply();
      bench.cluster.steps.length = 0;
      const [child] = bench.store.of(OWNER.metadata.uid);
      assert.ok(child);
      return child;
    }

    it("in the version that was seen, and forgets it", async () => {
      assert.equal(verbOf(await bench.writer.delete(await known(), bench.scope())), "deleted");
      assert.deepEqual([bench.there(), bench.store.size], [undefined, 0]);
    });

    it("that is gone: says nothing of it, and forgets it", async () => {
      const child = await known();
      bench.cluster.remove("ConfigMap", NAME);
      assert.equal(await bench.writer.delete(child, bench.scope()), undefined);
      assert.equal(bench.store.size, 0);
    });

    it("after another look, if another client wrote between look and deletion", async () => {
      const child = await known();
      bench.touched(2);
      assert.equal(verbOf(await bench.writer.delete(child, bench.scope())), "deleted");
      assert.deepEqual(bench.cluster.steps, [DELETE, DELETE, DELETE]);
    });

    it("not if it is no longer ours by then", async () => {
      const child = await known();
      bench.cluster.beforeRequest = () => bench.change({ ownerReferences: [], managedFields: [] });
      assert.equal(await bench.writer.delete(child, bench.scope()), undefined);
      assert.ok(bench.there());
    });

    it("not if another client has deleted it and a finalizer keeps it", async () => {
      const child = await known();
      bench.cluster.beforeRequest = () => bench.change({ deletionTimestamp: "2026-01-01T00:00:00Z" });
      assert.equal(await bench.writer.delete(child, bench.scope()), undefined);
      assert.deepEqual(bench.cluster.steps, [DELETE]);
    });

    it("not if another object has its name by then", async () => {
      const child = await known();
      bench.cluster.remove("ConfigMap", NAME);
      bench.cluster.put(foreign());
      assert.equal(await bench.writer.delete(child, bench.scope()), undefined);
      assert.equal(bench.there()?.metadata.uid, "foreign-uid");
    });

    it("not if another client writes all the time, and still knows it", async () => {
      const child = await known();
      bench.touched(100);
      await assert.rejects(
        bench.writer.delete(child, bench.scope()),
        (error: ApiError) => error.code === 409,
      );
      assert.equal(bench.store.of(OWNER.metadata.uid).length, 1);
    });

    it("not if it is refused, even as a conflict without another write, and says so", async () => {
      const child = await known();
      for (const code of [403, 409, 422]) {
        bench.cluster.refusals.set(DELETE, new ApiError(code, { message: "it is needed" }, "DELETE"));
        const { reason, message } = await failureOf(bench.writer.delete(child, bench.scope()));
        assert.equal(reason, "ChildRefused");
        assert.equal(message, "the API server refused to delete ConfigMap shop/settings: it is needed.");
      }
      assert.equal(bench.store.of(OWNER.metadata.uid).length, 1);
    });

    it("not if it cannot be looked at again, and still knows it", async () => {
      const child = await known();
      bench.touched(1);
      bench.cluster.readRefusals.set("get ConfigMap", new ApiError(503, {}, "GET"));
      await assert.rejects(bench.writer.delete(child, bench.scope()));
      assert.equal(bench.store.of(OWNER.metadata.uid).length, 1);
    });

    it("of an object that is gone only if that was its only owner, and marked as such", async () => {
      const child = await known();
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

    it("takes over what the former name applied, and releases that", async () => {
      assert.equal(verbOf(await bench.apply()), "patched");
      assert.deepEqual(managers(), [MANAGER]);
      assert.equal(await bench.apply(), undefined);
    });

    it("releases that even if it did not get so far at first: nothing of an earlier answer stays", async () => {
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
