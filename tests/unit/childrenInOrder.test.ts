import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { ChildKind, UpdatePolicy } from "../../runtime/operator/definition";
import { memoryOf } from "../../runtime/remember/memory";
import type { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, operator } from "./support/objects";
import { ReconcileWorld } from "./support/reconcileWorld";

const JOBS: Resource = { apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true };
const COMPLETE = { conditions: [{ type: "Complete", status: "True", reason: "Done", message: "" }] };

/** A ConfigMap that is applied after others. */
function following(names: string, name = "app", data: Record<string, string> = {}): Manifest {
  return configMap({ name, annotations: { "argosy.dev/after": names } }, { data });
}

function job(name: string, spec: object = {}, isOnce = false): Manifest {
  const annotations = isOnce ? { "argosy.dev/once": "true" } : {};
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name, annotations }, spec };
}

describe("children in order", () => {
  let world: ReconcileWorld;
  let cluster: FakeCluster;
  let answer: Manifest[];
  /** How Jobs are changed. */
  let update: UpdatePolicy;

  /** @param children what the definition says of when they are ready */
  function begin(children: readonly ChildKind[] = []): void {
    world = new ReconcileWorld({ children });
    cluster = world.cluster;
    world.given();
    update = "apply";
  }
  beforeEach(() => begin());

  /** One run, after the watches have seen all that exists. @returns what was written, and what the object says */
  async function run(): Promise<[steps: string[], says: string]> {
    const childResources = [CONFIG_MAPS, JOBS];
    world.seeChildren(childResources);
    cluster.steps.length = 0;
    world.answer = { children: answer };
    const children = [
      { apiVersion: "v1", kind: "ConfigMap", update: "apply" as const, plural: "configmaps" },
      { apiVersion: "batch/v1", kind: "Job", update, plural: "jobs" },
    ];
    const { report, verdict } = await world.reconcile({ operator: operator({ children }), childResources });
    assert.equal(report.ready ?? false, verdict?.kind === "ready");
    const says = verdict?.kind === "progressing" ? verdict.message : (report.failure?.message ?? "ready");
    // tests/unit/deletionOrder.test.ts has the finalizer.
    return [cluster.steps.filter((step) => !/^(status|ask |apply finalizers )/.test(step)), says];
  }

  const find = (name: string) => cluster.find("Job", { namespace: "shop", name });
  /** What a Job's controller writes. */
  function complete(name: string, more: object = {}): void {
    cluster.change(find(name), {}, { status: { ...COMPLETE, ...more } });
  }

  const goes = (name: string) => cluster.remove("Job", { namespace: "shop", name });
  /** These are answered, and one of them, a Job, becomes ready. */
  async function completed(name: string, ...answered: Manifest[]): Promise<void> {
    answer = answered;
    await run();
    complete(name);
    await run();
  }
  /** A Job that another child waited for was ready, and goes. */
  async function migrated(migration: Manifest): Promise<void> {
    await completed("migrate", following("Job/migrate"), migration);
    goes("migrate");
  }
  const remembered = () => {
    const object = world.object();
    assert.ok(object);
    return memoryOf(object);
  };

  it("come when what they name is ready by the rule of the definition, and Ready follows that rule", async () => {
    const ready = { field: "status.terminating", in: [0] };
    begin([{ apiVersion: "batch/v1", kind: "Job", ready }]);
    answer = [following("Job/migrate"), job("migrate")];
    const waits = (why: string) => `Job migrate ${why}; ConfigMap app waits for Job migrate`;
    assert.deepEqual(await run(), [["apply Job migrate"], waits("has no status.terminating yet")]);
    complete("migrate");
    assert.deepEqual(await run(), [[], waits("has no status.terminating yet")]);
    complete("migrate", { terminating: 1 });
    assert.deepEqual(await run(), [[], waits("has status.terminating 1, not 0")]);
    complete("migrate", { terminating: 0 });
    assert.deepEqual(await run(), [["apply ConfigMap app"], "ready"]);
  });

  it("come in one run if what they name is ready at once, one after another", async () => {
    answer = [following("ConfigMap/b", "c"), following("ConfigMap/a", "b"), configMap({ name: "a" })];
    assert.deepEqual(await run(), [["apply ConfigMap a", "apply ConfigMap b", "apply ConfigMap c"], "ready"]);
  });

  it("say in the cluster what they follow, so that another order writes that, and makes nothing wait", async () => {
    const annotations = (name: string) =>
      cluster.find("ConfigMap", { namespace: "shop", name })?.metadata.annotations ?? {};
    await completed(
      "migrate",
      following("ConfigMap/a, Job/migrate", "b"),
      following("", "a"),
      job("migrate"),
    );
    const follows = "ConfigMap/shop/a, batch/Job/shop/migrate";
    assert.deepEqual([annotations("a"), annotations("b")], [{}, { "argosy.dev/follows": follows }]);
    assert.deepEqual(await run(), [[], "ready"]);
    answer = [following("", "b"), following("Job/other", "a"), job("migrate"), job("other")];
    const [steps, says] = await run();
    assert.deepEqual(steps.filter((step) => !step.startsWith("try ")).sort(), [
      "apply ConfigMap a",
      "apply ConfigMap b",
      "apply Job other",
    ]);
    assert.equal(says, "Job other is running");
    assert.deepEqual(
      [annotations("a"), annotations("b")],
      [{ "argosy.dev/follows": "batch/Job/shop/other" }, {}],
    );
  });

  it("that exist are neither changed nor deleted while they wait for another Job", async () => {
    await completed("v1", following("Job/v1", "app", { version: "1" }), job("v1"));
    answer = [following("Job/v2", "app", { version: "2" }), job("v2")];
    const waits = "Job v2 is running; ConfigMap app waits for Job v2";
    assert.deepEqual(await run(), [["apply Job v2", "delete Job v1"], waits]);
    assert.deepEqual(await run(), [[], waits]);
    complete("v2");
    assert.deepEqual(await run(), [["apply ConfigMap app"], "ready"]);
    assert.deepEqual(await run(), [[], "ready"]);
  });

  it("that are as they should be wait for nothing, even if what they name is not ready any more", async () => {
    await completed("v1", following("Job/v1"), job("v1"));
    answer = [following("Job/v2"), job("v2")];
    // What it follows is all that is written of it.
    assert.deepEqual(await run(), [
      ["apply ConfigMap app", "apply Job v2", "delete Job v1"],
      "Job v2 is running",
    ]);
  });

  it("wait for a child that itself waits, even if it exists and is ready as before", async () => {
    await completed("v1", following("ConfigMap/middle", "last"), following("Job/v1", "middle"), job("v1"));
    const data = { version: "2" };
    answer = [following("ConfigMap/middle", "last", data), following("Job/v2", "middle", data), job("v2")];
    const [steps, says] = await run();
    assert.deepEqual(steps, ["apply Job v2", "delete Job v1"]);
    assert.match(says, /ConfigMap last waits for ConfigMap middle; ConfigMap middle waits for Job v2/);
    complete("v2");
    assert.deepEqual((await run())[0], ["apply ConfigMap middle", "apply ConfigMap last"]);
  });

  it("wait for a Job that has failed", async () => {
    answer = [following("Job/migrate"), job("migrate")];
    await run();
    const conditions = [{ type: "Failed", status: "True", reason: "Backoff", message: "" }];
    cluster.change(find("migrate"), {}, { status: { conditions } });
    assert.deepEqual(await run(), [[], "Job migrate has failed; ConfigMap app waits for Job migrate"]);
  });

  it("are left alone if what they wait for cannot be applied", async () => {
    answer = [following("Job/migrate"), job("migrate"), configMap({ name: "other" })];
    cluster.refusals.set("apply Job migrate", new ApiError(422, { message: "bad" }, "PATCH"));
    const [steps, says] = await run();
    assert.ok(!steps.includes("apply ConfigMap app"));
    assert.match(says, /bad/);
  });

  describe("that are created once", () => {
    it("are not created again when a user deletes them, and are deleted when they are not answered", async () => {
      await completed("once", job("once", {}, true));
      goes("once");
      assert.deepEqual(await run(), [[], "ready"]);
      answer = [job("once", { changed: true }, true)];
      assert.deepEqual(await run(), [[], "ready"]);
      answer = [];
      await run();
      answer = [job("once", {}, true)];
      assert.deepEqual(await run(), [["apply Job once"], "Job once is running"]);
    });

    it("are changed as long as they exist", async () => {
      answer = [job("once", { a: 1 }, true)];
      await run();
      answer = [job("once", { a: 2 }, true)];
      assert.deepEqual((await run())[0], ["apply Job once"]);
    });

    it("count as ready after they went if they were ready before, even for children that come later", async () => {
      await migrated(job("migrate", {}, true));
      assert.deepEqual(await run(), [[], "ready"]);
      answer = [
        following("Job/migrate", "app", { a: "2" }),
        following("Job/migrate", "more"),
        job("migrate", {}, true),
      ];
      const [steps, said] = await run();
      assert.deepEqual([[...steps].sort(), said], [["apply ConfigMap app", "apply ConfigMap more"], "ready"]);
    });

    it("are created again if others wait for them and they went before they were seen ready", async () => {
      answer = [following("Job/migrate"), job("migrate", {}, true)];
      await run();
      goes("migrate");
      assert.deepEqual((await run())[0], ["apply Job migrate"]);
    });

    it("are created again if others wait for them and they are to be something else, not for a new label", async () => {
      await migrated(job("migrate", { to: 1 }, true));
      const labelled = job("migrate", { to: 1 }, true);
      labelled.metadata.labels = { team: "a" };
      answer = [following("Job/migrate"), labelled];
      assert.deepEqual(await run(), [[], "ready"]);
      answer = [following("Job/migrate", "app", { to: "2" }), job("migrate", { to: 2 }, true)];
      assert.deepEqual(await run(), [
        ["apply Job migrate"],
        "Job migrate is running; ConfigMap app waits for Job migrate",
      ]);
    });

    it("are remembered as ready even if a child that waited for them is refused", async () => {
      answer = [following("Job/migrate"), job("migrate", {}, true)];
      await run();
      complete("migrate");
      cluster.refusals.set("apply ConfigMap app", new ApiError(422, {}, "PATCH"));
      await run();
      goes("migrate");
      cluster.refusals.clear();
      assert.deepEqual(await run(), [["apply ConfigMap app"], "ready"]);
    });

    it("are forgotten with their place in the answer", async () => {
      await completed("migrate", following("Job/migrate"), job("migrate", {}, true));
      assert.deepEqual(Object.keys(remembered().readyOnce ?? {}), ["batch/Job/shop/migrate"]);
      answer = [];
      await run();
      assert.deepEqual(remembered(), { kinds: ["batch/v1/Job", "v1/ConfigMap"].slice(2), created: [] });
    });

    it("are remembered as created only when they were: not while they wait", async () => {
      const once = following("Job/migrate", "settings");
      once.metadata.annotations = { ...once.metadata.annotations, "argosy.dev/once": "true" };
      answer = [once, job("migrate")];
      await run();
      assert.deepEqual(remembered().created, []);
      complete("migrate");
      assert.deepEqual((await run())[0], ["apply ConfigMap settings"]);
      assert.deepEqual(remembered().created, ["ConfigMap/shop/settings"]);
    });
  });

  describe("that are created once, of a kind that is recreated", () => {
    const invalid = new ApiError(
      422,
      {
        details: { causes: [{ reason: "FieldValueInvalid", field: "spec", message: "field is immutable" }] },
      },
      "PATCH",
    );
    const away = new ApiError(503, {}, "PATCH");

    /** Lets the API server refuse that an existing Job is changed, and then the next one with that error. */
    function refuseChange(next?: Error): void {
      cluster.refusals.set("apply Job once", invalid);
      cluster.beforeRequest = (step) => {
        if (step !== "delete Job once") return;
        cluster.refusals.clear();
        // From now on the API server takes neither the new Job nor the memory of the run.
        if (next) for (const each of ["apply Job once", "status"]) cluster.refusals.set(each, next);
      };
    }

    beforeEach(async () => {
      update = "recreate";
      answer = [job("once", { to: 1 }, true)];
      await run();
      answer = [job("once", { to: 2 }, true)];
    });

    it("are created once the old one, which another controller's finalizer kept, is gone", async () => {
      cluster.change(find("once"), { finalizers: ["example.com/hold"] });
      refuseChange();
      const [steps, says] = await run();
      assert.ok(steps.includes("delete Job once"));
      assert.equal(says, "Job once is being deleted");
      // The old one is still shown.
      assert.deepEqual(await run(), [
        [],
        "Job once is being deleted and is held by the finalizer example.com/hold",
      ]);
      goes("once");
      assert.deepEqual(await run(), [["apply Job once"], "Job once is running"]);
      goes("once");
      assert.deepEqual(await run(), [[], "ready"]);
    });

    it("are created after the deletion, although the API server was away soon after it", async () => {
      refuseChange(away);
      assert.ok((await run())[0].includes("delete Job once"));
      cluster.refusals.clear();
      assert.deepEqual(await run(), [["apply Job once"], "Job once is running"]);
    });
  });

  describe("of a kind that is never updated", () => {
    beforeEach(() => {
      update = "never";
    });

    it("count as ready after they went, whatever is answered for them now", async () => {
      await migrated(job("migrate", { to: 1 }));
      answer = [following("Job/migrate", "app", { a: "2" }), job("migrate", { to: 2 })];
      assert.deepEqual(await run(), [["apply ConfigMap app"], "ready"]);
    });

    it("are created again if they have the annotation, and went before they were ready: nothing waits for what has it and is missing", async () => {
      answer = [following("Job/migrate"), job("migrate", {}, true)];
      await run();
      goes("migrate");
      const running = "Job migrate is running; ConfigMap app waits for Job migrate";
      assert.deepEqual(await run(), [["apply Job migrate"], running]);
      complete("migrate");
      assert.deepEqual(await run(), [["apply ConfigMap app"], "ready"]);
      goes("migrate");
      assert.deepEqual(await run(), [[], "ready"]);
    });

    it("let others wait if they went before they were ready, and the object says so", async () => {
      answer = [following("Job/migrate"), job("migrate")];
      await run();
      goes("migrate");
      assert.deepEqual(await run(), [
        [],
        "ConfigMap app waits for Job migrate, which is gone and is not created again",
      ]);
    });
  });
});
