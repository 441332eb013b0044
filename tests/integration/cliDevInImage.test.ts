import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { connectionFromKubeconfig } from "../../preflight/kubeconfig";
import type { Manifest } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { CommandProcess, processesNaming } from "./cliProcess";
import { Api } from "./support/api";
import { announceKind } from "./support/cluster";
import { customResourceDefinition, deployment, inNamespace, OPEN_SCHEMA } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { conditionOf, statusOf } from "./support/useOperator";

const GROUP = "contained.example.com";
const STAND_IN = path.join(__dirname, "support", "standInEngine.py");

const READING = `import json
import os
import ssl
from urllib.request import Request, urlopen


def reconcile(request):
    account = os.environ["ARGOSY_SERVICE_ACCOUNT"]
    server = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    with open(f"{account}/token") as file:
        headers = {"Authorization": f"Bearer {file.read()}"}
    namespace = request["object"]["metadata"]["namespace"]
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/seen"
    trusted = ssl.create_default_context(cafile=f"{account}/ca.crt")
    with urlopen(Request(server + path, headers=headers), context=trusted) as answer:
        replicas = json.load(answer)["spec"]["replicas"]
    print("no answer")
    given = sorted(name for name in os.environ if name not in ["LC_CTYPE", "PWD", "SHLVL", "_"])
    status = {"replicas": replicas, "given": given, "secret": os.environ["PASSWORD"], "files": sorted(os.listdir("."))}
    return {"children": [], "status": status}
`;

const PROGRAM = `import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "children": [], "status": {"words": sys.argv[1:]}}), flush=True)
`;

const definitionOf = (kind: string) =>
  customResourceDefinition(GROUP, kind, { spec: OPEN_SCHEMA, status: OPEN_SCHEMA });

/** The engine is a stand-in, which shows what Argosy asks of one, and how it speaks with what runs in a container. */
describe("argosy dev: a handler in its image", function () {
  this.timeout(180_000);
  for (const kind of ["Reading", "Program", "Killed"]) announceKind(definitionOf(kind));
  let folder: string;
  let api: Api;
  let kubeconfig: string;
  let namespace: string;
  let dev: CommandProcess | undefined;

  before(async () => {
    kubeconfig = await askForCluster();
    api = new Api(await connectionFromKubeconfig(kubeconfig));
  });
  beforeEach(async () => {
    folder = temporaryFolder();
    namespace = await api.newNamespace("contained");
    await api.apply(inNamespace(deployment("seen", { replicas: 3 }), namespace));
    mkdirSync(path.join(folder, "bin"));
    writeFileSync(path.join(folder, "bin", "docker"), `#!/bin/sh\nexec python3 "${STAND_IN}" "$@"\n`);
    chmodSync(path.join(folder, "bin", "docker"), 0o755);
    writeFileSync(path.join(folder, "Pulumi.yaml"), "name: contained\nruntime: nodejs\n");
    mkdirSync(path.join(folder, "tmp"));
  });
  afterEach(() => dev?.kill());

  function write(kind: string, file: string, content: string, definition: object): void {
    const own = path.join(folder, "handlers", kind.toLowerCase());
    mkdirSync(path.join(own, "fixtures"), { recursive: true });
    writeFileSync(
      path.join(own, "operator.yaml"),
      JSON.stringify({ crd: "crd.yaml", children: [], ...definition }),
    );
    writeFileSync(path.join(own, "crd.yaml"), JSON.stringify(definitionOf(kind)));
    writeFileSync(path.join(own, file), content);
  }

  function start(...options: string[]): CommandProcess {
    const where = ["--kubeconfig", kubeconfig, "--project", folder, ...options];
    dev = new CommandProcess("npm", ["run", "dev", "--silent", "--", ...where], path.join(folder, "tmp"), {
      PATH: `${path.join(folder, "bin")}${path.delimiter}${process.env.PATH}`,
      DOCKER_STAND_IN: path.join(folder, "commands"),
      PASSWORD: "not to be seen",
    });
    return dev;
  }

  const commands = (): string[][] =>
    readFileSync(path.join(folder, "commands"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string[]);

  const object = (kind: string): Manifest => ({
    apiVersion: `${GROUP}/v1`,
    kind,
    metadata: { name: "one", namespace },
    spec: {},
  });

  async function statusOfReady(kind: string): Promise<Record<string, unknown>> {
    return eventually(async () => {
      const found = await api.get(object(kind));
      assert.equal(conditionOf(found, "Ready").status, "True", dev?.stdout);
      return statusOf(found);
    });
  }

  it("has what a pod has: files, variables and the token of its account, and leaves nothing", async () => {
    write("Reading", "main.py", READING, {
      handler: "main.py",
      rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] }],
      secretEnv: { PASSWORD: { secret: "a", key: "b" } },
    });
    const running = start("--in-image");
    await running.printed(/Press Ctrl-C to stop/);
    await api.apply(object("Reading"));
    assert.deepEqual(await statusOfReady("Reading"), {
      observedGeneration: 1,
      conditions: (await statusOfReady("Reading")).conditions,
      replicas: 3,
      given: [
        "ARGOSY_SERVICE_ACCOUNT",
        "HOME",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
        "PASSWORD",
        "PATH",
      ],
      secret: "not to be seen",
      // The definition, the CRD and the fixtures stay behind, as for a pod.
      files: ["main.py"],
    });
    const run = commands().find(([first]) => first === "run") ?? [];
    assert.deepEqual(
      [run.includes("--network"), run.includes("python:3.13-slim")],
      [true, true],
      run.join(" "),
    );
    assert.doesNotMatch(run.join(" "), /not to be seen/);
    running.interrupt();
    assert.equal(await running.ended(), 130, running.stderr);
    assert.deepEqual(
      readdirSync(path.join(folder, "tmp")).filter((name) => name.startsWith("argosy-")),
      [],
    );
    await eventually(async () => assert.deepEqual(await processesNaming(folder), []));
  });

  it("is used without being asked for if this machine lacks its program, which is said", async () => {
    write("Program", "main.py", PROGRAM, {
      handler: { image: "shop/program:1", command: ["only-in-image", "main.py", "a b"] },
    });
    const running = start();
    await running.printed(
      /program: only-in-image is not on this machine\. The handler runs in its image shop\/program:1 with docker\./,
    );
    await running.printed(/Press Ctrl-C to stop/);
    await api.apply(object("Program"));
    assert.deepEqual((await statusOfReady("Program")).words, ["a b"]);
    const run = commands().find(([first]) => first === "run") ?? [];
    assert.doesNotMatch(run.join(" "), /--network|serviceaccount/);
  });

  it("leaves no file where argosy dev is killed, and asks the engine to remove its containers", async () => {
    // A kind of its own: the engine of the test before was killed, and its lease has not ended.
    write("Killed", "main.py", PROGRAM, {
      handler: { image: "shop/program:1", command: ["only-in-image", "main.py"] },
    });
    const running = start();
    await running.printed(/Press Ctrl-C to stop/);
    await api.apply(object("Killed"));
    await statusOfReady("Killed");
    const scratch = readdirSync(path.join(folder, "tmp")).find((name) =>
      name.startsWith("argosy-containers-"),
    );
    assert.ok(scratch);
    const before = commands().length;
    running.kill();
    await eventually(() => {
      assert.ok(!existsSync(path.join(folder, "tmp", scratch)));
      const label = /^label=argosy\.dev\/dev-session=/;
      assert.ok(
        commands()
          .slice(before)
          .some((words) => words[0] === "ps" && label.test(words.at(-1) ?? "")),
      );
    });
  });

  it("is refused before anything is started if the engine is not running, and with a debugger", async () => {
    write("Reading", "main.py", READING, { handler: "main.py" });
    const docker = path.join(folder, "bin", "docker");
    const complaint =
      "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
    writeFileSync(docker, `#!/bin/sh\necho '${complaint}' >&2\nexit 1\n`);
    writeFileSync(path.join(folder, "bin", "podman"), "#!/bin/sh\nexit 125\n");
    chmodSync(path.join(folder, "bin", "podman"), 0o755);
    const refused = start("--in-image");
    assert.equal(await refused.ended(), 1);
    assert.match(
      refused.stderr,
      /docker is installed, but is not running: .*Start it .*podman does not work/,
    );
    const both = start("--in-image", "--debug", "reading/one");
    assert.equal(await both.ended(), 2, both.stderr);
    assert.match(both.stderr, /--debug and --in-image exclude each other/);
  });
});
