import assert from "node:assert/strict";
import fc from "fast-check";
import type { Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { Child } from "../../runtime/observe/childStore";
import { lastOf } from "../../runtime/write/deletionOrder";
import { CONFIG_MAPS, configMap, operator } from "./support/objects";
import { DELETED, FINALIZER, ORDER, ReconcileWorld } from "./support/reconcileWorld";

const JOBS: Resource = { apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true };
const HOLD = ["example.com/hold"];

function following(name: string, after = "", namespace?: string): Manifest {
  const annotations = { "argosy.dev/after": after };
  return configMap({ name, annotations, ...(namespace && { namespace }) });
}

describe("children are deleted in the reverse order of after", () => {
  let world: ReconcileWorld;
  let finalize: boolean;
  let isListed: boolean;

  beforeEach(() => {
    world = new ReconcileWorld();
    world.given();
    finalize = false;
    isListed = true;
  });

  /** One run, after the watches have seen all that exists. @returns what was written, and what the object says */
  async function run(...answer: Manifest[]): Promise<[steps: string[], says: string | undefined]> {
    const childResources = [CONFIG_MAPS, JOBS];
    world.seeChildren(childResources);
    world.cluster.steps.length = 0;
    if (answer.length > 0) world.answer = { children: answer };
    const children = [
      { apiVersion: "v1", kind: "ConfigMap", update: "apply" as const, plural: "configmaps" },
      { apiVersion: "batch/v1", kind: "Job", update: "apply" as const, plural: "jobs" },
    ];
    const namespaces = isListed ? ("all" as const) : ["other"];
    const defined = operator({ children, finalize, namespaces });
    const { report, verdict } = await world.reconcile({ operator: defined, childResources });
    const says = verdict && "message" in verdict ? verdict.message : report.failure?.message;
    return [world.cluster.steps.filter((step) => !/^(status|ask reconcile|try .*)$/.test(step)), says];
  }

  const find = (name: string, namespace = "shop") => world.cluster.find("ConfigMap", { namespace, name });
  const goes = (name: string) => world.cluster.remove("ConfigMap", { namespace: "shop", name });

  /** Something else than the API server keeps a child that is being deleted. */
  function hold(name: string, finalizers: string[] = HOLD): void {
    world.cluster.change(find(name), { finalizers });
  }

  /** The object is being deleted. */
  function deleteObject(...others: string[]): void {
    const finalizers = [...(world.object()?.metadata.finalizers ?? []), ...others];
    world.cluster.change(world.object(), { finalizers, deletionTimestamp: DELETED });
  }

  const CHAIN = [following("a"), following("b", "ConfigMap/a"), following("c", "ConfigMap/b")];

  it("by a finalizer that is set before the first child that follows another one, and on no other object", async () => {
    const [steps] = await run(...CHAIN);
    assert.deepEqual(steps, [
      `apply finalizers ${ORDER}`,
      ...["a", "b", "c"].map((name) => `apply ConfigMap ${name}`),
    ]);
    assert.deepEqual(await run(), [[], undefined]);
    // A user takes it away, as a replace by an old file does.
    world.given();
    assert.deepEqual(await run(), [[`apply finalizers ${ORDER}`], undefined]);
    world = new ReconcileWorld();
    world.given();
    assert.deepEqual((await run(following("a")))[0], ["apply ConfigMap a"]);
  });

  it("each when what follows it is gone, and the object says what holds them up", async () => {
    await run(...CHAIN, following("alone"));
    hold("c");
    deleteObject();
    const held = "ConfigMap c is being deleted and is held by the finalizer example.com/hold";
    assert.deepEqual(await run(), [
      ["delete ConfigMap c"],
      `children go in order: ${held}; then ConfigMap b`,
    ]);
    assert.deepEqual(await run(), [[], `children go in order: ${held}; then ConfigMap b`]);
    goes("c");
    // What follows nothing is the garbage collector's.
    assert.deepEqual(await run(), [["delete ConfigMap b", `remove ${ORDER}`], undefined]);
    assert.ok(find("a") && find("alone"));
  });

  it("and the store knows at once that one still exists, before a watch shows it", async () => {
    await run(...CHAIN);
    hold("c", ["foregroundDeletion"]);
    deleteObject();
    await run();
    const { steps } = world.cluster;
    steps.length = 0;
    // No watch has shown anything since.
    await world.reconcileAgain();
    assert.deepEqual(steps, []);
  });

  it("after the handler has finalized, which is asked once", async () => {
    finalize = true;
    await run(...CHAIN);
    hold("c");
    deleteObject();
    world.answer = { finalized: true };
    assert.deepEqual((await run())[0], ["ask finalize", `remove ${FINALIZER}`, "delete ConfigMap c"]);
    assert.deepEqual((await run())[0], []);
    goes("c");
    assert.deepEqual((await run())[0], ["delete ConfigMap b", `remove ${ORDER}`]);
  });

  it("in other namespaces too", async () => {
    await run(following("a", "", "far"), following("b", "ConfigMap/a", "far"));
    deleteObject();
    const [steps] = await run();
    assert.deepEqual(steps.slice(0, 2), ["delete ConfigMap b", "delete ConfigMap a"]);
    assert.deepEqual([find("a", "far"), find("b", "far")], [undefined, undefined]);
  });

  it("not if they are to stay, nor with argosy.dev/skip-finalize, nor where the operator no longer has rights", async () => {
    await run(...CHAIN);
    deleteObject("orphan");
    assert.deepEqual((await run())[0], [`remove ${ORDER}`]);
    world = new ReconcileWorld();
    world.given({ annotations: { "argosy.dev/skip-finalize": "true" } });
    await run(...CHAIN);
    deleteObject();
    assert.deepEqual((await run())[0], [`remove ${ORDER}`]);
    world = new ReconcileWorld();
    world.given();
    await run(...CHAIN);
    deleteObject();
    isListed = false;
    assert.deepEqual((await run())[0], [`remove ${ORDER}`]);
  });

  it("all at once if whoever may write to them has made them follow each other", async () => {
    await run(...CHAIN);
    for (const [name, follows] of [
      ["b", "ConfigMap/shop/c"],
      ["c", "ConfigMap/shop/b"],
    ] as const)
      world.cluster.change(find(name), { annotations: { "argosy.dev/follows": follows } });
    deleteObject();
    assert.deepEqual((await run())[0].sort(), [
      "delete ConfigMap b",
      "delete ConfigMap c",
      `remove ${ORDER}`,
    ]);
  });

  it("and if one cannot be deleted, those before it stay, and the object says why", async () => {
    await run(...CHAIN);
    deleteObject();
    world.cluster.refusals.set("delete ConfigMap c", new ApiError(403, { message: "kept" }, "DELETE"));
    const [steps, says] = await run();
    assert.deepEqual(steps, ["delete ConfigMap c"]);
    assert.match(says ?? "", /kept/);
    assert.ok(find("b") && world.object()?.metadata.finalizers?.includes(ORDER));
  });

  it("also those that are no longer answered, while those that are answered hold up nothing", async () => {
    await run(...CHAIN, following("d", "ConfigMap/a"));
    hold("c");
    const [steps, says] = await run(following("d"));
    assert.deepEqual(steps, ["apply ConfigMap d", "delete ConfigMap c"]);
    const held = "ConfigMap c is being deleted and is held by the finalizer example.com/hold";
    assert.equal(says, held);
    assert.deepEqual(await run(), [[], held]);
    goes("c");
    assert.deepEqual((await run())[0], ["delete ConfigMap b", "delete ConfigMap a"]);
  });

  it("whatever they are: nothing goes before what follows it, and everything goes in the end", () => {
    const order = fc.array(fc.array(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(order, fc.boolean(), (given, isWild) => {
        const key = (at: number) => `ConfigMap/shop/${at}`;
        const child = (follows: readonly number[], at: number) => {
          const meant = isWild ? follows : follows.filter((each) => each < at);
          const facts = { follows: meant.map(key) };
          return { resource: CONFIG_MAPS, namespace: "shop", name: String(at), facts } as unknown as Child;
        };
        let there: readonly Child[] = given.map(child);
        while (there.length > 0) {
          const last = lastOf(there);
          assert.ok(last.length > 0);
          there = there.filter((each) => !last.includes(each));
          if (isWild) continue;
          const followed = new Set(last.map(({ name }) => key(Number(name))));
          for (const { facts } of there) assert.ok(!facts.follows.some((each) => followed.has(each)));
        }
      }),
    );
  });
});
