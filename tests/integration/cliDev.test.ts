import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { CommandProcess, processesNaming } from "./cliProcess";

const website = path.join(__dirname, "..", "..", "examples", "14-manifest-template");
const memcached = path.join(__dirname, "..", "..", "examples", "memcached");
const WATCHED = "{ apiVersion: apps/v1, kind: Deployment, labels: { watched: 'yes' } }";

describe("npm run dev", function () {
  this.timeout(180_000);
  let folder: string;
  let handlers: string;
  let dev: CommandProcess;

  before(async () => {
    folder = await realpath(await mkdtemp(path.join(tmpdir(), "argosy-dev-test-")));
    handlers = path.join(folder, "handlers");
    await cp(memcached, path.join(handlers, "memcached"), { recursive: true });
    await writeWatcher();
    dev = new CommandProcess("npm", ["run", "dev", "--silent", "--", "--handlers", handlers], folder);
    await dev.printed(/Press Ctrl-C to stop/);
  });
  after(async () => {
    dev?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  /** Adds an operator that watches Deployments, with a fixture that has no spec. */
  async function writeWatcher(): Promise<void> {
    const watcher = path.join(handlers, "watcher");
    await mkdir(path.join(watcher, "fixtures"), { recursive: true });
    const files = {
      "operator.yaml": `{ watch: ${WATCHED}, handler: main.py, children: [v1/ConfigMap] }`,
      "main.py": "def reconcile(request):\n    return {'children': []}\n",
      "fixtures/created.yaml":
        "object: { metadata: { name: web, labels: { watched: 'yes' } } }\nanswer: { children: [] }\n",
    };
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(watcher, name), text);
  }

  async function edit(file: string, change: (text: string) => string): Promise<void> {
    const place = path.join(handlers, file);
    const before = await readFile(place, "utf8");
    const after = change(before);
    assert.notEqual(after, before);
    await writeFile(place, after);
  }

  async function kubectl(...args: string[]): Promise<void> {
    const kubeconfig = await dev.printed(/(?<=export KUBECONFIG=)\S+/);
    const program = await dev.printed(/(?<=alias kubectl=)\S+/);
    await promisify(execFile)(program, ["--kubeconfig", kubeconfig, ...args]);
  }

  it("prints commands that work: an example object, and metrics", async () => {
    await kubectl("apply", "-f", await dev.printed(/(?<=kubectl apply -f )\S+/));
    await dev.printed(/default\/sessions {2}gen 1 {2}created Deployment sessions, created Service sessions/);
    // The API server would refuse a Deployment without a spec.
    await dev.printed(/watcher: running/);
    assert.doesNotMatch(dev.stdout, /watcher\.yaml/);
    const metrics = await (await fetch(await dev.printed(/(?<=curl )\S+/))).text();
    assert.match(metrics, /argosy_reconciles_total\{result="succeeded",operator="memcached"\}/);
  });

  it("says of a stuck handler for how long, and goes on with other objects", async () => {
    const example = await readFile(await dev.printed(/(?<=kubectl apply -f )\S*memcached.yaml/), "utf8");
    const apply = async (name: string) => {
      const file = path.join(folder, `${name}.yaml`);
      await writeFile(file, example.replace("name: sessions", `name: ${name}`));
      await kubectl("apply", "-f", file);
    };
    const before = await readFile(path.join(handlers, "memcached/main.py"), "utf8");
    const name = '    name = request["object"]["metadata"]["name"]\n';
    const hang = '    if name == "stuck":\n        __import__("time").sleep(3600)\n';
    await edit("memcached/main.py", (text) => text.replace(name, name + hang));
    await apply("stuck");
    await dev.printed(/memcached: the handler has not returned an answer about default\/stuck for 5 s/);
    await apply("other");
    await dev.printed(/default\/other {2}gen 1 {2}created Deployment other/);
    await writeFile(path.join(handlers, "memcached/main.py"), before);
  });

  it("takes an edit of the handler in", async () => {
    await edit("memcached/main.py", (text) => text.replace("memcached:1.6.39", "memcached:1.6.40"));
    await dev.printed(/handler reloaded[\s\S]*patched Deployment sessions/);
  });

  it("prints what is wrong with a definition, and keeps the last good one running", async () => {
    await edit("memcached/operator.yaml", (text) => text.replace("children:", "childen:"));
    await dev.printed(/operator\.yaml:4:1: childen is not a known field\. Did you mean children\?/);
    await edit("memcached/main.py", (text) => text.replace("memcached:1.6.40", "memcached:1.6.41"));
    await dev.printed(/childen is not a known field[\s\S]*patched Deployment sessions/);
  });

  it("replaces an operator whose definition has become another one", async () => {
    await edit("memcached/operator.yaml", (text) => text.replace("childen:", "concurrency: 2\nchildren:"));
    await dev.printed(/memcached: stopped: its definition has changed\nmemcached: running/);
  });

  it("starts a new operator, and stops a removed one", async () => {
    const scratch = path.join(folder, "website");
    await cp(website, scratch, { recursive: true });
    // By a rename, so that it is never seen in parts.
    await rename(scratch, path.join(handlers, "website"));
    await dev.printed(/manifest-template: running/);
    await rm(path.join(handlers, "website"), { recursive: true });
    await dev.printed(/manifest-template: removed/);
  });

  it("prints that an object is deleted", async () => {
    await kubectl("delete", "memcached", "other");
    await dev.printed(/memcached {2}default\/other {2}deleted/);
  });

  it("ends with exit code 1 when its control plane is gone, says so, and leaves nothing", async () => {
    const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,args="]);
    const server = stdout
      .split("\n")
      .filter((line) => line.includes("kube-apiserver") && line.includes(folder))
      .map((line) => Number(line.trim().split(" ")[0]));
    assert.ok(server.length > 0, stdout);
    for (const pid of server) process.kill(pid, "SIGKILL");
    assert.equal(await dev.ended(), 1, dev.stderr);
    assert.match(
      dev.stderr,
      /^The control plane is gone: .* Start argosy dev again\. Without --keep, the objects are lost\.$/m,
    );
    assert.deepEqual(await processesNaming(folder), []);
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith("argosy")),
      [],
    );
  });
});
