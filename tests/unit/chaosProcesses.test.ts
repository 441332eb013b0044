import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import path from "node:path";
import {
  type ControlPlaneProgram,
  controlPlaneProcess,
  killControlPlane,
  podProcesses,
  signal,
} from "../../tools/chaos/inCluster/processes";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";

/** Notes how it was started, and stays. */
const PROGRAM =
  'require("node:fs").appendFileSync("starts", JSON.stringify([process.cwd(), process.env.MARK, process.argv[1]]) + "\\n"); setInterval(() => {}, 1000);';

describe("a process of a control plane", () => {
  const name = `argosy-victim-${process.pid}`;
  const option = "--secure-port";
  const program: ControlPlaneProgram = { name, option, value: "6443" };
  let folder: string;
  let victim: ChildProcess;
  const starts = () => readFileSync(path.join(folder, "starts"), "utf8").trim().split("\n");

  beforeEach(async () => {
    folder = temporaryFolder();
    appendFileSync(path.join(folder, "starts"), "");
    victim = spawn(process.execPath, ["-e", PROGRAM, "--", "an argument", `${option}=6443`], {
      argv0: name,
      cwd: folder,
      env: { MARK: "a=b" },
      stdio: "ignore",
    });
    await eventually(() => assert.ok(starts().length === 1 && starts()[0] !== "", "it has started"));
  });
  afterEach(() => {
    victim.kill("SIGKILL");
    try {
      signal(controlPlaneProcess(program), "SIGKILL");
    } catch {
      // It was not started again.
    }
  });

  it("is found by its program's name", () => {
    assert.equal(controlPlaneProcess(program).id, victim.pid);
    assert.throws(
      () => controlPlaneProcess({ ...program, name: "argosy-no-such-program" }),
      /no process of argosy-no-such-program/,
    );
  });

  it("is told from that of another cluster on the same machine, whichever began first", async () => {
    const theirs = spawn(process.execPath, ["-e", PROGRAM, "--", "theirs", option, "7443,7444"], {
      argv0: name,
      cwd: folder,
      stdio: "ignore",
    });
    try {
      await eventually(() => assert.equal(starts().length, 2));
      assert.equal(controlPlaneProcess(program).id, victim.pid);
      assert.equal(controlPlaneProcess({ ...program, value: "7444" }).id, theirs.pid);
      assert.throws(() => controlPlaneProcess({ ...program, value: "744" }), /with --secure-port=744 is in/);
    } finally {
      theirs.kill("SIGKILL");
    }
  });

  it("is killed, and started again as it was unless it already runs", async () => {
    const start = await killControlPlane(program);
    assert.throws(() => controlPlaneProcess(program));
    await start();
    await eventually(() => assert.ok(starts().length === 2, "it has started again"));
    assert.deepEqual(JSON.parse(starts()[1] ?? ""), [folder, "a=b", "an argument"]);
    assert.equal(starts()[1], starts()[0]);
    assert.notEqual(controlPlaneProcess(program).id, victim.pid);
  });

  it("of a pod is told from every other", () => {
    const metadata = { name: "web", uid: "0f0e0d0c-no-such-pod", resourceVersion: "1" };
    assert.throws(() => podProcesses({ apiVersion: "v1", kind: "Pod", metadata }), /no process of pod web/);
  });
});
