import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { filePool } from "../support/filePool";
import { assertEach } from "./support/lists";

describe("the pool of test files", () => {
  /** Submits files, of which those that begin with "i" have a lower limit. Gives what runs, and ends files by name. */
  async function poolOf(files: readonly string[]) {
    const running = new Set<string>();
    const ends = new Map<string, (error?: Error) => void>();
    const limits = { all: 3, limited: 2, isLimited: (file: string) => file.startsWith("i") };
    const start = (file: string) =>
      new Promise<void>((resolve, reject) => ends.set(file, (error) => (error ? reject(error) : resolve())));
    const results = Promise.allSettled(files.map(filePool(limits, start, running)));
    await turn();
    const end = async (file: string, error?: Error) => {
      ends.get(file)?.(error);
      await turn();
      return [...running];
    };
    return { running, end, results };
  }

  it("runs files in their order, and lets others pass those whose own limit is reached", async () => {
    const { running, end } = await poolOf(["i1", "i2", "i3", "u1", "u2", "i4"]);
    assert.deepEqual([...running], ["i1", "i2", "u1"]);
    assert.deepEqual(await end("u1"), ["i1", "i2", "u2"]);
    assert.deepEqual(await end("u2"), ["i1", "i2"]);
    assert.deepEqual(await end("i2"), ["i1", "i3"]);
    assert.deepEqual(await end("i1"), ["i3", "i4"]);
  });

  it("goes on after a file that has failed, and gives its error", async () => {
    const { running, end, results } = await poolOf(["u1", "u2", "u3", "u4"]);
    assert.deepEqual(await end("u1", new Error("broken")), ["u2", "u3", "u4"]);
    for (const file of [...running]) await end(file);
    assertEach(await results, ({ status }) => status, ["rejected", "fulfilled", "fulfilled", "fulfilled"]);
  });
});
