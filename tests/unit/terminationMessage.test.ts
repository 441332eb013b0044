import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  leaveExitOfHandler,
  leaveTimings,
  writeTerminationMessage,
} from "../../runtime/programs/terminationMessage";
import { temporaryFolder } from "../support/temporaryFolder";
import { reconcileReport } from "./support/objects";

describe("the last word of a container", () => {
  let root: string;
  let file: string;
  beforeEach(() => {
    root = temporaryFolder();
    mkdirSync(path.join(root, "dev"));
    file = path.join(root, "dev/termination-log");
  });

  it("goes where the kubelet looks for it, short and without what a terminal would act on", () => {
    writeFileSync(file, "");
    writeTerminationMessage({ root }, `the handler ended \u001b[31mwith exit code 3${"!".repeat(9_000)}`);
    const text = readFileSync(file, "utf8");
    assert.match(text, /^the handler ended with exit code 3!+…$/);
    assert.ok(Buffer.byteLength(text) < 4096, "the kubelet cuts what is longer");
  });

  it("is not left where no kubelet has made a place for it", () => {
    writeTerminationMessage({ root }, "over");
    assert.equal(existsSync(file), false);
  });

  it("says in the place of a handler's container that it has ended, where Argo waits for that and does not know it", () => {
    const folder = path.join(root, "var/run/argo/ctr/handler");
    leaveExitOfHandler({ root });
    assert.equal(existsSync(folder), false);
    mkdirSync(folder, { recursive: true });
    leaveExitOfHandler({ root });
    assert.equal(readFileSync(path.join(folder, "exitcode"), "utf8"), "137");
    writeFileSync(path.join(folder, "exitcode"), "0");
    leaveExitOfHandler({ root });
    assert.equal(readFileSync(path.join(folder, "exitcode"), "utf8"), "0");
  });

  it("leaves how long the steps took where Argo takes outputs from, and nothing where there is no such place", () => {
    const timing = { from: 0, to: 5, steps: [{ name: "handler" as const, from: 1, to: 4 }], omitted: 0 };
    const report = reconcileReport({ durationMs: 5, timing });
    leaveTimings({ root }, [report]);
    assert.equal(existsSync(path.join(root, "tmp")), false);
    mkdirSync(path.join(root, "tmp"));
    leaveTimings({ root }, [report]);
    assert.equal(readFileSync(path.join(root, "tmp/timings.txt"), "utf8"), "+1.0 ms  3.0 ms  handler");
  });
});
