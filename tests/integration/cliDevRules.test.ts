import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { cacheDirectory, programPaths } from "../../cli/controlPlane/cache";
import { connectionFromKubeconfig } from "../../preflight/kubeconfig";
import { eventually } from "../support/eventually";
import { InspectorClient } from "../support/inspector";
import { type CommandProcess, processesNaming } from "./cliProcess";
import { Api } from "./support/api";
import { deployment, inNamespace } from "./support/manifests";
import { useDev } from "./support/useDev";
import { statusOf } from "./support/useOperator";

/** The handler that docs/tasks/call-an-api.md shows. It asks for the Deployment "shop". */
const [, DOCUMENTED = ""] =
  /## Kubernetes' API\n[\s\S]*?```python\n([\s\S]*?)```/.exec(
    readFileSync(path.join(__dirname, "..", "..", "docs", "tasks", "call-an-api.md"), "utf8"),
  ) ?? [];

/** Asks the API server by kubectl, which looks where every client looks. */
const ASKING = `import os
import subprocess


def kubectl(*words):
    done = subprocess.run([os.environ["KUBECTL"], *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "refused"


def reconcile(request):
    namespace = request["object"]["metadata"]["namespace"]
    status = {
        "who": kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"),
        "read": kubectl("get", "deployment", "seen", "-n", namespace, "-o", "jsonpath={.spec.replicas}"),
        "secrets": kubectl("get", "secrets", "-n", namespace, "-o", "name"),
        "given": sorted(name for name in os.environ if name.startswith(("KUBERNETES_", "ARGOSY_"))),
    }
    if "ARGOSY_SERVICE_ACCOUNT" in os.environ:
        with open(os.path.join(os.environ["ARGOSY_SERVICE_ACCOUNT"], "namespace")) as file:
            status["home"] = file.read()
    return {"children": [], "status": status}
`;

const STOPPED = `export function reconcile({ object }: { object: unknown }) {
  const seen = object;
  return { children: [], status: { seen: seen !== undefined } };
}
`;

describe("argosy dev: a handler with rules", function () {
  this.timeout(180_000);
  const bench = useDev("rules.example.com", ["Asking", "Bare", "Documented", "Stopped"]);
  beforeEach(async () => {
    for (const [name, replicas] of [
      ["seen", 3],
      ["shop", 2],
    ] as const)
      await bench.api.apply(inNamespace(deployment(name, { replicas }), bench.namespace));
  });

  const write = (kind: string, handler: string, content: string, fields = {}) =>
    bench.write(kind, handler, content, {
      env: { KUBECTL: programPaths(cacheDirectory()).kubectl },
      ...fields,
    });

  const RULES = { rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] }] };

  /** The developer may do everything, by a kubeconfig in the home folder and by one that KUBECONFIG names. */
  function start(...options: string[]): CommandProcess {
    const home = path.join(bench.folder, "home");
    mkdirSync(path.join(home, ".kube"), { recursive: true });
    copyFileSync(bench.kubeconfig, path.join(home, ".kube", "config"));
    return bench.start(options, {
      HOME: home,
      KUBECONFIG: bench.kubeconfig,
      ARGOSY_CACHE: cacheDirectory(),
      KUBERNETES_SERVICE_HOST: "developer.example.com",
      ARGOSY_SERVICE_ACCOUNT: bench.folder,
    });
  }

  const statusOfReady = async (kind: string) => statusOf(await bench.ready(kind));

  it("acts as its own account, with its rules and no others, and one without rules has nothing", async () => {
    write("Asking", "main.py", ASKING, RULES);
    write("Bare", "main.py", ASKING);
    write("Documented", "main.py", DOCUMENTED, RULES);
    const running = start();
    await running.printed(/Press Ctrl-C to stop/);
    for (const kind of ["Asking", "Bare", "Documented"]) await bench.api.apply(bench.object(kind));
    const asking = await statusOfReady("Asking");
    assert.equal(asking.who, "system:serviceaccount:argosy:asking-handler");
    assert.deepEqual([asking.read, asking.secrets], ["3", "refused"]);
    assert.equal(asking.home, "argosy");
    assert.deepEqual(asking.given, [
      "ARGOSY_SERVICE_ACCOUNT",
      "KUBERNETES_SERVICE_HOST",
      "KUBERNETES_SERVICE_PORT",
    ]);
    const bare = await statusOfReady("Bare");
    assert.deepEqual([bare.who, bare.read, bare.given], ["refused", "refused", []]);
    assert.equal((await statusOfReady("Documented")).replicas, 2);
    running.interrupt();
    assert.equal(await running.ended(), 130, running.stderr);
    assert.deepEqual(await processesNaming(bench.folder), []);
    assert.deepEqual(
      readdirSync(bench.folder).filter((name) => name.startsWith("argosy-")),
      [],
    );
  });

  it("has its token in a debugger too, and no longer than argosy dev runs, also where that is killed", async () => {
    write("Stopped", "main.ts", STOPPED, RULES);
    const running = start("--debug", "stopped/one", "--namespace", bench.namespace);
    const port = Number(await running.printed(/(?<=waits for a debugger at 127\.0\.0\.1:)\d+/));
    await bench.api.apply(bench.object("Stopped"));
    const client = await InspectorClient.attach(port, (each) => each.beginWithBreak("main.ts", 3));
    const stop = await client.stopped();
    const account = String(await stop.evaluate("process.env.ARGOSY_SERVICE_ACCOUNT"));
    const config = String(await stop.evaluate("process.env.KUBECONFIG"));
    assert.equal(path.dirname(config), account);
    const who = new Api(await connectionFromKubeconfig(config));
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { status } = await who.post<{ status: { userInfo: { username: string } } }>(
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      review,
    );
    assert.equal(status.userInfo.username, "system:serviceaccount:argosy:stopped-handler");
    who.close();
    await stop.resume();
    client.close();
    await statusOfReady("Stopped");
    assert.ok(existsSync(account));
    running.kill();
    await eventually(() => assert.ok(!existsSync(account), "the token is gone"));
  });
});
