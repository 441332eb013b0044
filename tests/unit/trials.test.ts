import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { Trials } from "../../runtime/reconcile/trial";
import { operator, widget } from "./support/objects";

describe("trials", () => {
  /** The names of the objects about which the handler is asked now, each with what ends its answer. */
  let asked: Map<string, (failure?: Error) => void>;
  const names = () => [...asked.keys()];

  beforeEach(() => {
    asked = new Map();
  });

  function newTrials(concurrency: number): Trials {
    const pool = {
      hidden: () => [],
      ask: ({ object: { metadata } }: { readonly object: ReturnType<typeof widget> }) =>
        new Promise<{ answer: Record<string, unknown>; length: number; log: string }>((resolve, reject) => {
          asked.set(metadata.name, (failure) => {
            asked.delete(metadata.name);
            if (failure) reject(failure);
            else resolve({ answer: { children: [] }, length: 0, log: "" });
          });
        }),
    };
    return new Trials({ operator: operator({ concurrency }), childResources: [], pool });
  }

  /** Tries the handler on objects of these names, in this order. */
  async function tryAll(trials: Trials, ...objects: string[]): Promise<void> {
    for (const name of objects) void trials.run(widget({ name }), {}).catch(() => {});
    await turn();
  }

  async function ends(name: string, failure?: Error): Promise<void> {
    asked.get(name)?.(failure);
    await turn();
  }

  it("are at most two at once, and come in their order, however long one takes", async () => {
    await tryAll(newTrials(4), "slow", "a", "b", "c");
    assert.deepEqual(names(), ["slow", "a"]);
    await ends("a");
    assert.deepEqual(names(), ["slow", "b"]);
    await ends("b");
    assert.deepEqual(names(), ["slow", "c"]);
  });

  it("leave their place if they fail", async () => {
    const trials = newTrials(4);
    await tryAll(trials, "a", "b", "c");
    await ends("a", new Error("the handler is away"));
    assert.deepEqual(names(), ["b", "c"]);
    await Promise.all([ends("b"), ends("c")]);
    await tryAll(trials, "d", "e", "f");
    assert.deepEqual(names(), ["d", "e"]);
  });

  it("are one at a time if the operator does one thing at a time", async () => {
    await tryAll(newTrials(1), "a", "b");
    assert.deepEqual(names(), ["a"]);
    await ends("a");
    assert.deepEqual(names(), ["b"]);
  });
});
