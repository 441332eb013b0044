import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { eventually } from "../support/eventually";
import { processesNaming } from "./cliProcess";
import { deployment, inNamespace } from "./support/manifests";
import { useDev } from "./support/useDev";
import { statusOf } from "./support/useOperator";

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

/** The engine is a stand-in, which shows what Argosy asks of one, and how it speaks with what runs in a container. */
describe("argosy dev: a handler in its image", function () {
  this.timeout(180_000);
  const bench = useDev("contained.example.com", ["Reading", "Program", "Killed"]);
  const at = (...names: string[]) => path.join(bench.folder, ...names);

  beforeEach(async () => {
    await bench.api.apply(inNamespace(deployment("seen", { replicas: 3 }), bench.namespace));
    for (const name of ["bin", "tmp"]) mkdirSync(at(name));
    program("docker", `exec python3 "${STAND_IN}" "$@"`);
  });

  /** Puts a program where the command finds it first. */
  function program(name: string, script: string): void {
    writeFileSync(at("bin", name), `#!/bin/sh\n${script}\n`);
    chmodSync(at("bin", name), 0o755);
  }

  const start = (...options: string[]) => {
    const PATH = `${at("bin")}${path.delimiter}${process.env.PATH}`;
    const env = { PATH, DOCKER_STAND_IN: at("commands"), PASSWORD: "not to be seen" };
    return bench.start(options, env, at("tmp"));
  };

  const commands = (): string[][] =>
    readFileSync(at("commands"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string[]);

  const statusOfReady = async (kind: string) => statusOf(await bench.ready(kind));

  it("has what a pod has: files, variables and the token of its account, and leaves nothing", async () => {
    bench.write("Reading", "main.py", READING, {
      rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] }],
      secretEnv: { PASSWORD: { secret: "a", key: "b" } },
    });
    const running = start("--in-image");
    await running.printed(/Press Ctrl-C to stop/);
    await bench.api.apply(bench.object("Reading"));
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
      readdirSync(at("tmp")).filter((name) => name.startsWith("argosy-")),
      [],
    );
    await eventually(async () => assert.deepEqual(await processesNaming(bench.folder), []));
  });

  it("is used without being asked for if this machine lacks its program, which is said", async () => {
    bench.write("Program", "main.py", PROGRAM, {
      handler: { image: "shop/program:1", command: ["only-in-image", "main.py", "a b"] },
    });
    const running = start();
    await running.printed(
      /program: only-in-image is not on this machine\. The handler runs in its image shop\/program:1 with docker\./,
    );
    await running.printed(/Press Ctrl-C to stop/);
    await bench.api.apply(bench.object("Program"));
    assert.deepEqual((await statusOfReady("Program")).words, ["a b"]);
    const run = commands().find(([first]) => first === "run") ?? [];
    assert.doesNotMatch(run.join(" "), /--network|serviceaccount/);
  });

  it("leaves no file where argosy dev is killed, and asks the engine to remove its containers", async () => {
    // A kind of its own: the engine of the test before was killed, and its lease has not ended.
    bench.write("Killed", "main.py", PROGRAM, {
      handler: { image: "shop/program:1", command: ["only-in-image", "main.py"] },
    });
    const running = start();
    await running.printed(/Press Ctrl-C to stop/);
    await bench.api.apply(bench.object("Killed"));
    await statusOfReady("Killed");
    const scratch = readdirSync(at("tmp")).find((name) => name.startsWith("argosy-containers-"));
    assert.ok(scratch);
    const before = commands().length;
    running.kill();
    await eventually(() => {
      assert.ok(!existsSync(at("tmp", scratch)));
      const label = /^label=argosy\.dev\/dev-session=/;
      assert.ok(
        commands()
          .slice(before)
          .some((words) => words[0] === "ps" && label.test(words.at(-1) ?? "")),
      );
    });
  });

  it("is refused before anything is started if the engine is not running", async () => {
    bench.write("Reading", "main.py", READING, {});
    const complaint =
      "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
    program("docker", `echo '${complaint}' >&2\nexit 1`);
    program("podman", "exit 125");
    const refused = start("--in-image");
    assert.equal(await refused.ended(), 1);
    assert.match(
      refused.stderr,
      /docker is installed, but is not running: .*Start it .*podman does not work/,
    );
  });
});
