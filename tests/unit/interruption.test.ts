import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { interruptible } from "../../cli/interruption";

describe("the signal of a command", () => {
  it("may have as many listeners as there are operators: Node warns of no leak", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
    process.on("warning", onWarning);
    try {
      await interruptible(async (signal) => {
        for (let operator = 0; operator < 30; operator++) signal.addEventListener("abort", () => {});
        // A warning comes in a later turn.
        await sleep(10);
      });
    } finally {
      process.off("warning", onWarning);
    }
    assert.deepEqual(warnings, []);
  });
});
