import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type ControlPlane, startControlPlane } from "../../cli/controlPlane";
import { ApiClient } from "../../cli/controlPlane/apiClient";
import { cacheDirectory, programPaths } from "../../cli/controlPlane/cache";
import { PortTakenError, startCluster } from "../../cli/controlPlane/cluster";
import { portsFrom } from "../../cli/controlPlane/configuration";
import { freePorts } from "../../cli/controlPlane/ports";
import { Watchdog } from "../../cli/controlPlane/watchdog";
import { rememberVariables } from "../environment";
import { eventually } from "../support/eventually";
import { killApiServer, startApiServer } from "./support/apiServer";

const run = promisify(execFile);
const programs = programPaths(cacheDirectory());

/** Where a control plane of another process is. */
type Place = Pick<ControlPlane, "kubeconfig" | "directory" | "server">;

async function kubectl(place: Place, ...commandArguments: string[]): Promise<string> {
  const { stdout } = await run(programs.kubectl, ["--kubeconfig", place.kubeconfig, ...commandArguments]);
  return stdout.trim();
}

async function processesOf(directory: string): Promise<string[]> {
  const { stdout } = await run("ps", ["-A", "-o", "args="]);
  return stdout.split("\n").filter((line) => line.startsWith(`${directory}/`));
}

/** Starts a process with a control plane of its own. */
function startOwner(): { readonly child: ChildProcess; readonly place: Promise<Place> } {
  const path = JSON.stringify(join(__dirname, "..", "..", "cli", "controlPlane"));
  const script = `require(${path}).startControlPlane().then((place) => {
    console.log(JSON.stringify(place));
    setInterval(() => {}, 1000);
  })`;
  const child = spawn(process.execPath, ["--require", "tsx/cjs", "--eval", script], {
    cwd: join(__dirname, "..", ".."),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const place = once(createInterface({ input: child.stdout }), "line").then(
    ([line]) => JSON.parse(line) as Place,
  );
  return { child, place };
}

describe("the embedded control plane", function () {
  this.timeout(120_000);
  let controlPlane: ControlPlane;

  before(async function () {
    this.timeout(0); // the programs may have to be built first
    controlPlane = await startControlPlane({ onProgress: (line) => void process.stderr.write(`${line}\n`) });
  });
  after(() => controlPlane?.stop());

  it("makes the pods of a Deployment Ready", async () => {
    await kubectl(controlPlane, "create", "deployment", "web", "--image=none", "--replicas=3");
    await kubectl(controlPlane, "wait", "--for=condition=Available", "deployment/web", "--timeout=60s");
    const ready = await kubectl(
      controlPlane,
      "get",
      "deployment/web",
      "-o",
      "jsonpath={.status.readyReplicas}",
    );
    assert.equal(ready, "3");
  });

  it("deletes what a deleted object owns", async () => {
    await kubectl(controlPlane, "create", "deployment", "owner", "--image=none");
    await kubectl(controlPlane, "wait", "--for=condition=Available", "deployment/owner", "--timeout=60s");
    await kubectl(controlPlane, "delete", "deployment", "owner", "--cascade=foreground", "--timeout=60s");
    assert.equal(await kubectl(controlPlane, "get", "pods", "-l", "app=owner", "-o", "name"), "");
  });

  it("enforces RBAC", async () => {
    const refused = kubectl(controlPlane, "get", "pods", "--as=a-user");
    await assert.rejects(refused, /forbidden/i);
  });

  it("loses its API server and gets it back, with all objects and working controllers", async () => {
    await kubectl(controlPlane, "create", "deployment", "survivor", "--image=none", "--replicas=1");
    await killApiServer(controlPlane);
    await assert.rejects(kubectl(controlPlane, "get", "nodes"), /refused/);
    await startApiServer(controlPlane);
    await kubectl(controlPlane, "scale", "deployment/survivor", "--replicas=2");
    await kubectl(controlPlane, "rollout", "status", "deployment/survivor", "--timeout=60s");
  });

  it("starts in several processes at once, each alone, and ends with its process", async () => {
    const owners = [startOwner(), startOwner()];
    try {
      const [first, second] = await Promise.all(owners.map((owner) => owner.place));
      assert.ok(first && second);
      assert.equal(new Set([first.server, second.server, controlPlane.server]).size, 3);
      await kubectl(first, "create", "namespace", "only-here");
      await assert.rejects(kubectl(second, "get", "namespace", "only-here"), /not found/i);

      owners[0]?.child.kill("SIGKILL");
      await eventually(() => assert.ok(!existsSync(first.directory)));
      assert.deepEqual(await processesOf(first.directory), []);
      assert.equal(await kubectl(second, "get", "--raw", "/readyz"), "ok");

      owners[1]?.child.kill("SIGTERM");
      await eventually(() => assert.ok(!existsSync(second.directory)));
      assert.deepEqual(await processesOf(second.directory), []);
    } finally {
      for (const owner of owners) owner.child.kill("SIGKILL");
    }
  });

  it("notices that another process has taken a port", async () => {
    const ports = portsFrom(await freePorts(6));
    // A connection that is not read would outlive its other end.
    const thief = createServer((socket) => socket.destroy()).listen(ports.etcd, "127.0.0.1");
    await once(thief, "listening");
    const directory = await realpath(await mkdtemp(join(tmpdir(), "argosy-cluster-")));
    const watchdog = new Watchdog(directory);
    try {
      await assert.rejects(startCluster(directory, programs, ports, undefined), PortTakenError);
    } finally {
      await watchdog.stop();
      thief.close();
    }
  });

  it("can be aborted while it starts, and leaves nothing", async () => {
    const putBack = rememberVariables("TMPDIR");
    const folder = await realpath(await mkdtemp(join(tmpdir(), "argosy-test-")));
    process.env.TMPDIR = folder;
    const abort = new AbortController();
    try {
      const started = startControlPlane({ signal: abort.signal });
      // One that starts all the same is no reason for the run never to end.
      const starting = assert.rejects(
        started.then((unexpected) => unexpected.stop()),
        /enough/,
      );
      const begun = async () => (await processesOf(folder)).some((line) => line.includes("/kube-apiserver "));
      // Where it cannot start at all, that is what the test tells.
      for (let over = false; !over && !(await begun()); )
        over = await Promise.race([starting.then(() => true), sleep(20, false)]);
      abort.abort(new Error("enough"));
      await starting;
      assert.deepEqual(await processesOf(folder), []);
      assert.deepEqual(await readdir(folder), []);
    } finally {
      putBack();
      await rm(folder, { recursive: true });
    }
  });

  it("is gone after stop(), with its directory", async () => {
    const own = await startControlPlane();
    const client = await ApiClient.open(own.server, own.directory);
    assert.equal(await client.succeeds("/readyz"), true);
    assert.equal((await processesOf(own.directory)).length, 5);
    await own.stop();
    assert.deepEqual(await processesOf(own.directory), []);
    assert.ok(!existsSync(own.directory));
    assert.equal(await client.succeeds("/readyz"), false);
    await own.stop();
  });
});
