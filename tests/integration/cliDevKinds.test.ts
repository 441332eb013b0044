import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { cacheDirectory } from "../../cli/controlPlane/cache";
import { connectionFromKubeconfig } from "../../preflight/kubeconfig";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { isAlive } from "../unit/support/handlers";
import { CommandProcess } from "./cliProcess";
import { Api } from "./support/api";
import { announceKind } from "./support/cluster";
import { configMap, customResourceDefinition, inNamespace, OPEN_SCHEMA } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { conditionOf, statusOf } from "./support/useOperator";

const GROUP = "kinds.example.com";

/** Answers what the spec has, and leaves a process behind that holds its streams and is in a session of its own. */
const HANDLER = `import subprocess

left = subprocess.Popen(["sleep", "300"], start_new_session=True)


def reconcile(request):
    return {"children": request["object"]["spec"]["answer"], "status": {"left": left.pid}}
`;
const WATCHING = 'def reconcile(request):\n    return {"children": []}\n';

const definitionOf = (kind: string) =>
  customResourceDefinition(GROUP, kind, { spec: OPEN_SCHEMA, status: OPEN_SCHEMA });

describe("argosy dev: kinds that the cluster does not serve", function () {
  this.timeout(120_000);
  announceKind(definitionOf("Part"));
  let folder: string;
  let api: Api;
  let kubeconfig: string;
  let namespace: string;
  let dev: CommandProcess;
  /** Ids of the processes that handlers left behind. */
  const left = new Set<number>();

  before(async () => {
    kubeconfig = await askForCluster();
    api = new Api(await connectionFromKubeconfig(kubeconfig));
    namespace = await api.newNamespace("kinds");
    folder = temporaryFolder();
    const handler = "main.py";
    write("parts", { crd: "crd.yaml", handler, children: ["v1/ConfigMap", `${GROUP}/v1/Bolt`] }, HANDLER);
    writeFileSync(path.join(folder, "parts", "crd.yaml"), JSON.stringify(definitionOf("Part")));
    const watch = { apiVersion: `${GROUP}/v1`, kind: "Nut" };
    write("looker", { watch, handler, children: ["v1/ConfigMap"] }, WATCHING);
    const where = ["--kubeconfig", kubeconfig, "--handlers", folder];
    const env = { ARGOSY_CACHE: cacheDirectory() };
    dev = new CommandProcess("npm", ["run", "dev", "--silent", "--", ...where], folder, env);
    await dev.printed(/Press Ctrl-C to stop/);
  });
  after(async () => {
    dev?.kill();
    for (const pid of left) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    for (const kind of ["Bolt", "Nut"]) await api.delete(definitionOf(kind));
    api.close();
  });

  function write(name: string, definition: JsonObject, handler: string): void {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, "operator.yaml"), JSON.stringify(definition));
    writeFileSync(path.join(folder, name, "main.py"), handler);
  }

  const object = (kind: string, name: string, spec: JsonObject = {}): Manifest => ({
    apiVersion: `${GROUP}/v1`,
    kind,
    metadata: { name, namespace },
    spec,
  });

  async function withReady(name: string, status: string): Promise<string> {
    return eventually(async () => {
      const found = await api.get(object("Part", name));
      const ready = conditionOf(found, "Ready");
      assert.equal(ready.status, status, dev.stdout);
      if (status === "True") left.add(statusOf(found).left as number);
      return `${ready.reason}: ${ready.message}`;
    });
  }

  it("names the operator, its definition and the field, and serves the objects that need no such kind", async () => {
    await dev.printed(/^parts: .*operator\.yaml declares Bolt \(kinds\.example\.com\/v1\) under "children"/m);
    await dev.printed(/^parts: running, for Part of kinds\.example\.com$/m);
    await api.apply(object("Part", "plain", { answer: [configMap("plain") as unknown as JsonObject] }));
    await withReady("plain", "True");
    await api.get(inNamespace(configMap("plain"), namespace));
    const bolt = { apiVersion: `${GROUP}/v1`, kind: "Bolt", metadata: { name: "bolted" } };
    await api.apply(object("Part", "bolted", { answer: [bolt] }));
    assert.match(await withReady("bolted", "False"), /^KindMissing: .*Bolt \(kinds\.example\.com\/v1\)/);
  });

  it("waits next to them for the kind that another operator watches, and says which one in which file", async () => {
    await dev.printed(
      /looker\/operator\.yaml: watch names the kind Nut \(kinds\.example\.com\/v1\), which the cluster does not serve\./,
    );
    assert.doesNotMatch(dev.stdout, /looker: running/);
  });

  it("takes the kinds up when they are served", async () => {
    await api.apply(definitionOf("Bolt"));
    await withReady("bolted", "True");
    await api.get(object("Bolt", "bolted"));
    await api.apply(definitionOf("Nut"));
    await dev.printed(/^looker: running, for Nut of kinds\.example\.com$/m);
  });

  it("ends on Ctrl-C although processes that a handler left behind hold its streams", async () => {
    dev.interrupt();
    assert.equal(await dev.ended(), 130, dev.stderr);
    assert.ok([...left].some(isAlive));
  });
});
