import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../cli/controlPlane/cache";
import type { JsonObject } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { runArgosy } from "../unit/support/runArgosy";
import { CommandProcess, processesNaming } from "./cliProcess";
import { customResourceDefinition, OPEN_SCHEMA } from "./support/manifests";

const run = promisify(execFile);
const GROUP = "whole.example.com";

/** A database with a volume. It writes the schedules that are due into a ConfigMap, and fails if its object says so. */
const STORE = `import sys


def reconcile(request):
    spec = request["object"]["spec"]
    print("looking at", spec, file=sys.stderr)
    if "fail" in spec:
        raise ValueError(spec["fail"])
    labels = {"app": request["object"]["metadata"]["name"]}
    due = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": act["name"]}} for act in request["due"]]
    kept = [{k: c[k] for k in ("apiVersion", "kind")} | {"metadata": {"name": c["metadata"]["name"]}}
            for c in request["children"] if c["kind"] == "ConfigMap"]
    return {"children": [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": labels["app"]},
            "spec": {
                "serviceName": "none",
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "db", "image": "none"}]},
                },
                "volumeClaimTemplates": [{
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }],
            },
        },
        *{c["metadata"]["name"]: c for c in due + kept}.values(),
    ]}
`;
const EMPTY = 'def reconcile(request):\n    return {"children": []}\n';

const event = (kind: string, spec: JsonObject) => ({
  webhook: {
    endpoint: `/${kind}`,
    method: "POST",
    port: "12000",
    authSecret: { name: "hook", key: "token" },
  },
  id: ["body.number"],
  when: { "header.X-Kind[0]": "order" },
  create: { kind, namespace: "orders", spec },
});

describe("argosy dev shows the whole product", function () {
  this.timeout(180_000);
  let folder: string;
  let dev: CommandProcess;
  let kubeconfig: string;
  let kubectlPath: string;

  before(async () => {
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), "argosy-whole-test-")));
    const statefulSet = "apps/v1/StatefulSet";
    write("store", "Store", STORE, {
      children: [statefulSet, "v1/ConfigMap"],
      schedules: { nightly: { cron: "0 3 * * *" } },
      on: {
        order: event("Store", { number: "body.number" }),
        stock: {
          webhook: { ...event("Store", {})["webhook"], endpoint: "/stock" },
          wake: { namespace: { from: "body.shop" }, name: "body.store" },
        },
      },
    });
    const fixture = {
      on: "order",
      event: { header: { "X-Kind": ["order"] }, body: { number: 7 } },
      object: {},
    };
    mkdirSync(path.join(folder, "handlers/store/fixtures"));
    writeFileSync(path.join(folder, "handlers/store/fixtures/order.yaml"), JSON.stringify(fixture));
    write("parcel", "Parcel", EMPTY, {
      children: ["v1/ConfigMap"],
      on: { order: event("Parcel", { weight: "body.weight?", number: "body.number" }) },
    });
    const args = ["run", "dev", "--silent", "--", "--handlers", path.join(folder, "handlers")];
    dev = new CommandProcess("npm", args, folder, { ARGOSY_CACHE: cacheDirectory() });
    await dev.printed(/Press Ctrl-C to stop/);
    kubeconfig = await dev.printed(/(?<=export KUBECONFIG=)\S+/);
    kubectlPath = await dev.printed(/(?<=alias kubectl=)\S+/);
  });
  after(() => {
    dev?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  function write(name: string, kind: string, handler: string, definition: JsonObject): void {
    const place = path.join(folder, "handlers", name);
    mkdirSync(place, { recursive: true });
    const crd = customResourceDefinition(GROUP, kind, { spec: OPEN_SCHEMA, status: OPEN_SCHEMA });
    writeFileSync(path.join(place, "crd.yaml"), JSON.stringify(crd));
    writeFileSync(path.join(place, "main.py"), handler);
    writeFileSync(
      path.join(place, "operator.yaml"),
      JSON.stringify({ crd: "crd.yaml", handler: "main.py", ...definition }),
    );
  }

  async function kubectl(...args: string[]): Promise<string> {
    const { stdout } = await run(kubectlPath, ["--kubeconfig", kubeconfig, ...args]);
    return stdout.trim();
  }
  async function apply(manifest: object): Promise<void> {
    const file = path.join(folder, "applied.json");
    writeFileSync(file, JSON.stringify(manifest));
    await kubectl("apply", "-f", file);
  }
  const store = (name: string, spec: JsonObject = {}) =>
    apply({ apiVersion: `${GROUP}/v1`, kind: "Store", metadata: { name, namespace: "default" }, spec });

  /** Another command about what runs here. */
  async function argosy(...args: string[]): Promise<{ code: number; text: string }> {
    const { result, stdout, stderr } = await runArgosy(...args, "--kubeconfig", kubeconfig);
    return { code: result, text: stdout + stderr };
  }

  it("binds the volumes of a StatefulSet, so that its object becomes Ready", async () => {
    await store("db");
    await kubectl("wait", "--for=condition=Ready", "store/db", "--timeout=60s");
    assert.equal(await kubectl("get", "pvc/data-db-0", "-o", "jsonpath={.status.phase}"), "Bound");
  });

  it("binds claims of a class that only another cluster has, and of one that waits for a pod", async () => {
    const claim = (name: string, storageClassName: string) => ({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace: "default" },
      spec: {
        storageClassName,
        accessModes: ["ReadWriteMany"],
        volumeMode: "Block",
        resources: { requests: { storage: "3Gi" } },
      },
    });
    await apply({
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "lazy" },
      provisioner: "csi.example.com",
      reclaimPolicy: "Retain",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    for (const [name, storageClass] of [
      ["gp3", "gp3"],
      ["lazy", "lazy"],
      ["static", ""],
    ] as const)
      await apply(claim(name, storageClass));
    await kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/gp3", "--timeout=60s");
    assert.equal(await kubectl("get", "pvc/lazy", "-o", "jsonpath={.status.phase}"), "Pending");
    const mount = { name: "data", persistentVolumeClaim: { claimName: "lazy" } };
    await apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "lazy", namespace: "default" },
      spec: {
        containers: [
          { name: "main", image: "none", volumeDevices: [{ name: "data", devicePath: "/dev/data" }] },
        ],
        volumes: [mount],
      },
    });
    await kubectl("wait", "--for=condition=Ready", "pod/lazy", "--timeout=60s");
    assert.equal(await kubectl("get", "pvc/lazy", "-o", "jsonpath={.status.capacity.storage}"), "3Gi");
    // As in a cluster: without a class, a claim waits for a volume that a user makes.
    assert.equal(await kubectl("get", "pvc/static", "-o", "jsonpath={.status.phase}"), "Pending");
  });

  it("deletes a volume with its claim, unless its class retains it", async () => {
    const volume = await kubectl("get", "pvc/gp3", "-o", "jsonpath={.spec.volumeName}");
    const retained = await kubectl("get", "pvc/lazy", "-o", "jsonpath={.spec.volumeName}");
    await kubectl("delete", "pvc/gp3", "pod/lazy", "--timeout=60s");
    await kubectl("delete", "pvc/lazy", "--timeout=60s");
    await kubectl("wait", "--for=delete", `pv/${volume}`, "--timeout=60s");
    await kubectl("wait", "--for=jsonpath={.status.phase}=Released", `pv/${retained}`, "--timeout=60s");
  });

  const curl = (operator: string) => dev.printed(new RegExp(`curl .*/events/${operator}/order`));

  async function post(
    operator: string,
    body: string,
    headers: Record<string, string> = {},
    event = "order",
  ): Promise<{ status: number; text: string }> {
    const line = await curl(operator);
    const [url] = /http:\S+/.exec(line) ?? [""];
    const [, token = ""] = /Bearer (\w+)/.exec(line) ?? [];
    const answer = await fetch(url.replace(/order$/, event), {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${token}`, "x-kind": "order", ...headers },
    });
    return { status: answer.status, text: await answer.text() };
  }

  it("makes an object of a webhook, by the printed line, whose body comes from a fixture", async () => {
    const { stdout } = await run("sh", ["-c", await curl("store")]);
    assert.match(stdout, /^created: Store orders\/order-[0-9a-f]{20}\n$/);
    await kubectl("-n", "orders", "wait", "--for=condition=Ready", "stores", "--all", "--timeout=60s");
  });

  it("makes the same object for the same event, and of the right operator where two have an event of one name", async () => {
    assert.equal((await post("store", '{"number":7}')).status, 200);
    assert.match((await post("parcel", '{"number":7}')).text, /^created: Parcel orders\/order-/);
  });

  it("wakes an object by a webhook, and says if it does not exist", async () => {
    await store("woken", { number: 4711 });
    await kubectl("wait", "--for=condition=Ready", "store/woken", "--timeout=60s");
    const looks = async () => {
      // What a handler writes is only in the log of its operator.
      const { text } = await argosy("logs", "store");
      return text.split("4711").length;
    };
    const before = await looks();
    const sent = JSON.stringify({ shop: "default", store: "woken" });
    assert.deepEqual(await post("store", sent, {}, "stock"), {
      status: 200,
      text: "woken: Store default/woken\n",
    });
    await eventually(async () => assert.ok((await looks()) > before, "not asked"));
    const absent = await post("store", sent.replace("woken", "missing"), {}, "stock");
    assert.deepEqual(absent, {
      status: 404,
      text: "absent: an event of stock woke nothing: there is no Store default/missing\n",
    });
    const refused = await post("store", JSON.stringify({ shop: "default" }), {}, "stock");
    assert.equal(refused.status, 422);
    assert.match(refused.text, /^refused: .*body\.store is missing, or no text/);
  });

  it("answers an event with the checks, the refusals and the Warnings of a cluster", async () => {
    assert.deepEqual(await post("store", '{"number":7}', { "x-kind": "other" }), {
      status: 200,
      text: "skipped: the event does not meet when\n",
    });
    const missing = await post("store", "{}");
    assert.equal(missing.status, 422);
    assert.match(missing.text, /^refused: .*body\.number is missing, and it is part of the id\n$/);
    const { status, text } = await post("store", "{");
    assert.equal(status, 422);
    assert.match(text, /^refused: .* the event is no JSON\n$/);
    assert.equal((await post("parcel", '{"number":7,"weight":3}')).status, 409);
    const warnings = await kubectl("get", "events", "-o", "jsonpath={.items[*].reason}");
    assert.match(warnings, /EventRefused/);
  });

  it("runs a schedule now", async () => {
    const { code, text } = await argosy("replay", "store/db", "--due", "nightly", "-n", "default");
    assert.equal(code, 0, text);
    assert.match(text, /✔ store-db-\S+ .*created ConfigMap nightly; nightly due/);
    await kubectl("-n", "default", "get", "configmap", "nightly");
  });

  it("shows its runs, and runs one again", async () => {
    await store("bad", { fail: "no room" });
    await eventually(async () => {
      const { code, text } = await argosy("runs", "store", "--failed", "--log");
      assert.equal(code, 0, text);
      assert.match(text, /✘ store-bad-\S+ {2}default\/bad .*HandlerError: .*no room/);
      assert.match(text, /looking at/);
    });
    const all = await argosy("runs", "store/db", "-n", "default", "--json");
    const runs = all.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { name: string; message: string });
    assert.ok(runs.some(({ message }) => message.includes("created StatefulSet db")));
    const again = await argosy("replay", runs[0]?.name ?? "", "--no-wait");
    assert.equal(again.code, 0, again.text);
    assert.match(again.text, /Store default\/db: its operator will reconcile it at once/);
  });

  it("shows its logs, of an operator and of an object", async () => {
    const { code, text } = await argosy("logs", "store");
    assert.equal(code, 0, text);
    assert.match(text, /default\/db {2}created StatefulSet db/);
    assert.match(text, /handler\| looking at/);
    assert.doesNotMatch(text, /Parcel|parcel/);
    const own = await argosy("logs", "store/bad", "-n", "default");
    assert.match(own.text, /default\/bad {2}HandlerError/);
    assert.doesNotMatch(own.text, /default\/db/);
    assert.match((await argosy("doctor")).text, /argosy dev runs (parcel, store|store, parcel)/);
    const none = await argosy("logs", "stores-typo");
    assert.equal(none.code, 2, none.text);
    assert.match(none.text, /There is no operator stores-typo .* Known operators: parcel, store\./);
  });

  it("lets its logs be followed until it ends on Ctrl-C, and leaves nothing", async () => {
    const env = { ARGOSY_CACHE: cacheDirectory() };
    const follow = ["run", "argosy", "--silent", "--", "logs", "store", "--follow", "--tail", "0"];
    const logs = new CommandProcess("npm", [...follow, "--kubeconfig", kubeconfig], folder, env);
    try {
      await eventually(async () => {
        await store("followed", { at: String(performance.now()) });
        assert.match(logs.stdout, /handler\| looking at .*\bat\b/);
      });
      assert.doesNotMatch(logs.stdout, /default\/db/);
      dev.interrupt();
      assert.equal(await dev.ended(), 130, dev.stderr);
      assert.equal(await logs.ended(), 0, logs.stderr);
      assert.match(logs.stderr, /argosy dev has ended\./);
    } finally {
      logs.kill();
    }
    const { text } = await argosy("logs", "store");
    assert.match(text, /does not answer|No operator is installed|no such file/);
    assert.deepEqual(await processesNaming(folder), []);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("argosy")),
      [],
    );
  });
});
