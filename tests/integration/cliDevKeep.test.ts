import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../cli/controlPlane/cache";
import { placeOf } from "../../cli/dev/stableKubeconfig";
import { eventually } from "../support/eventually";
import { CommandProcess } from "./cliProcess";

const memcached = path.join(__dirname, "..", "..", "examples", "memcached");

describe("npm run dev -- --keep", function () {
  this.timeout(300_000);
  let folder: string;
  let handlers: string;
  let dev: CommandProcess;
  let kubectl: string;
  let kubeconfig: string;

  before(async () => {
    folder = await realpath(await mkdtemp(path.join(tmpdir(), "argosy-keep-test-")));
    handlers = path.join(folder, "handlers");
    await cp(memcached, path.join(handlers, "memcached"), { recursive: true });
  });
  after(async () => {
    dev?.kill();
    await rm(`${placeOf(handlers, cacheDirectory())}.kept`, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  });

  async function start(...options: string[]): Promise<string> {
    const args = ["run", "dev", "--silent", "--", "--handlers", handlers, "--keep", ...options];
    dev = new CommandProcess("npm", args, folder);
    await dev.printed(/Press Ctrl-C to stop/);
    kubeconfig = await dev.printed(/(?<=export KUBECONFIG=)\S+/);
    kubectl = await dev.printed(/(?<=alias kubectl=)\S+/);
    return dev.printed(/(?<=kubectl apply -f )\S+/);
  }

  async function kube(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(kubectl, ["--kubeconfig", kubeconfig, ...args]);
    return stdout.trim();
  }

  const uid = () => kube("get", "memcached", "sessions", "-o", "jsonpath={.metadata.uid}");

  it("has the objects of the last time again, also after it was killed, until they are thrown away", async () => {
    const example = await start();
    await kube("apply", "-f", example);
    await dev.printed(/created Deployment sessions/);
    const before = await uid();
    dev.kill();
    await dev.ended();
    await eventually(() => assert.ok(!existsSync(path.dirname(example)), `${example} is left`));

    await start();
    assert.match(dev.stderr, /using the objects that were kept/);
    assert.equal(await uid(), before);
    // The engine leads when the lease of the one that was killed has ended, and goes on with the object.
    await kube("patch", "memcached", "sessions", "--type=merge", "-p", '{"spec":{"size":5}}');
    await eventually(
      async () =>
        assert.equal(await kube("get", "deployment", "sessions", "-o", "jsonpath={.spec.replicas}"), "5"),
      { timeoutMs: 120_000, pollMs: 500 },
    );
    dev.interrupt();
    assert.equal(await dev.ended(), 130, dev.stderr);

    await start("--fresh");
    assert.equal(await kube("get", "memcached", "-o", "name"), "");
    dev.interrupt();
    assert.equal(await dev.ended(), 130, dev.stderr);
  });
});
