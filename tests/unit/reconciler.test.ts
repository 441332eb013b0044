import assert from "node:assert/strict";
import type { HandlerPool } from "../../runtime/handler/handlerPool";
import { Reconciler, type ReconcilerOptions } from "../../runtime/reconciler";
import { CLUSTER_ROLES, CONFIG_MAPS, configMap, operator, WIDGETS, widget } from "./support/objects";

/** What it does with objects is tried on a real API server; here, in what order it lets others go first. */
describe("Reconciler", () => {
  let applied: PromiseWithResolvers<undefined>;
  let goOn: PromiseWithResolvers<void>;
  let steps: string[];
  let reconciler: Reconciler;

  beforeEach(() => {
    applied = withResolvers();
    goOn = withResolvers();
    steps = [];
    const step = (name: string) => {
      steps.push(name);
    };
    const parts = {
      operator: operator(),
      resource: WIDGETS,
      childResources: [CONFIG_MAPS, CLUSTER_ROLES],
      pool: { ask: async () => ({ answer: { children: [configMap()] }, log: "" }) },
      objects: { read: async () => widget(), learn: () => {}, invalidate: () => {} },
      index: { of: () => [], ofFormer: () => [], find: () => undefined },
      children: {
        apply: () => {
          step("apply");
          return applied.promise;
        },
      },
      status: { write: async () => step("status") },
      events: { record: () => step("event") },
      fence: () => {},
      stepAside: () => {
        step(`aside, ${reconciler.applying} applying`);
        return goOn.promise;
      },
    };
    reconciler = new Reconciler(parts as unknown as ReconcilerOptions & { pool: HandlerPool });
  });

  const name = { namespace: "shop", name: "widget" };
  const soon = () => new Promise((resolve) => setImmediate(resolve));

  it("counts an object while its children are written, and steps aside before the status", async () => {
    const report = reconciler.reconcile(name, 1);
    await soon();
    assert.deepStrictEqual([reconciler.applying, steps], [1, ["apply"]]);
    applied.resolve(undefined);
    await soon();
    assert.deepStrictEqual([reconciler.applying, steps], [0, ["apply", "aside, 0 applying"]]);
    goOn.resolve();
    assert.equal((await report).result, "succeeded");
    assert.deepStrictEqual(steps, ["apply", "aside, 0 applying", "status"]);
  });

  it("counts it no more where they cannot be written, and tells of that without delay", async () => {
    applied.reject(new Error("refused"));
    await reconciler.reconcile(name, 1);
    assert.deepStrictEqual([reconciler.applying, steps[0], steps.at(-1)], [0, "apply", "status"]);
    assert.ok(!steps.some((each) => each.startsWith("aside")));
  });
});

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: Error): void;
}

/** `Promise.withResolvers`, which Node 20 has not. */
function withResolvers<T>(): PromiseWithResolvers<T> {
  let settle: Omit<PromiseWithResolvers<T>, "promise"> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, resolve: (value) => settle?.resolve(value), reject: (reason) => settle?.reject(reason) };
}
