import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import path from "node:path";
import { isLoopback } from "../../cli/containers/containers";
import {
  ContainerEngineError,
  type EngineAnswer,
  engineComplaint,
  findEngine,
} from "../../cli/containers/engine";
import { Images, pullComplaint } from "../../cli/containers/images";
import { writeFolder } from "./operatorFolder";
import { titleOf } from "./support/titles";

describe("cli: the engine for containers", () => {
  let folder: string;

  /** A folder with programs of these names, as the only ones on the PATH. */
  function programs(files: Record<string, string>): NodeJS.ProcessEnv {
    const scripts = Object.entries(files).map(([name, text]) => [name, `#!/bin/sh\n${text}\n`]);
    folder = writeFolder(Object.fromEntries(scripts));
    for (const name of Object.keys(files)) chmodSync(path.join(folder, name), 0o755);
    return { PATH: folder };
  }

  it("is Docker, else Podman, where they answer", async () => {
    const both = programs({ docker: "exit 0", podman: "exit 0" });
    assert.equal((await findEngine(undefined, both)).name, "docker");
    const second = programs({ docker: "echo no >&2; exit 1", podman: "exit 0" });
    assert.equal((await findEngine(undefined, second)).name, "podman");
  });

  it("is missed with the remedy where there is none", async () => {
    const none = programs({ other: "" });
    await assert.rejects(findEngine(undefined, none), {
      name: "ContainerEngineError",
      message: /^Neither Docker nor Podman is on the PATH.* without --in-image\.$/,
    });
  });

  it("says what is wrong with each where none answers", async () => {
    const broken = programs({
      docker:
        "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1",
      podman: "echo 'strange' >&2; exit 125",
    });
    await assert.rejects(findEngine(undefined, broken), (error: Error) => {
      assert.ok(error instanceof ContainerEngineError);
      assert.match(error.message, /docker is installed, but is not running: Cannot .* running\? Start it/);
      assert.match(error.message, /podman does not work: strange\. See what podman info says\./);
      return true;
    });
  });

  for (const [engine, words, complaint] of [
    [
      "docker",
      "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
      /does not allow you to use it: permission denied .*usermod/,
    ],
    [
      "podman",
      "Error: unable to connect to Podman socket: dial unix: no such file or directory",
      /is not running: .*podman machine start/,
    ],
    ["docker", "", /docker does not work: there is no message/],
  ] as const)
    it(`tells by the engine's own words: ${titleOf(complaint)}`, () =>
      assert.match(engineComplaint(engine, words), complaint));
});

describe("cli: the image of a handler", () => {
  let calls: string[];
  let answers: Record<string, Partial<EngineAnswer>>;
  let pulled: string[];
  let now: number;
  let images: Images;
  beforeEach(() => {
    [calls, answers, pulled, now] = [[], {}, [], 0];
    const run = async (args: readonly string[]) => {
      calls.push(args.join(" "));
      return { code: 0, output: "", complaint: "", ...answers[args[0] ?? ""] };
    };
    images = new Images(
      { name: "docker", run },
      (image) => pulled.push(image),
      () => now,
    );
  });

  it("is not asked of a registry if it exists locally", async () => {
    await images.ensure("python:3");
    assert.deepEqual([calls, pulled], [["image inspect python:3"], []]);
  });

  it("is not pulled again at once after that failed, but looked for: the user may have built it", async () => {
    answers = { image: { code: 1 }, pull: { code: 1, complaint: "manifest unknown" } };
    await assert.rejects(images.ensure("python:3"), ContainerEngineError);
    await assert.rejects(images.ensure("python:3"), ContainerEngineError);
    assert.deepEqual(pulled, ["python:3"]);
    answers = { image: { code: 0 } };
    await images.ensure("python:3");
    answers = { image: { code: 1 } };
    now = 61_000;
    await images.ensure("python:3");
    assert.deepEqual(pulled, ["python:3", "python:3"]);
  });

  for (const [engine, words, complaint] of [
    [
      "docker",
      "Error response from daemon: Head: dial tcp: lookup registry.example.com: no such host",
      /^Image a:1 is not here, and its registry cannot be reached: .*docker load --input FILE/,
    ],
    [
      "podman",
      "Error response from daemon: manifest for a:1 not found: manifest unknown.",
      /does not deliver it: .*manifest unknown\. Correct the image .*podman login/,
    ],
    ["docker", "no space left on device", /docker cannot pull it: no space left/],
  ] as const)
    it(`is missed with the remedy: ${titleOf(complaint)}`, () =>
      assert.match(pullComplaint(engine, "a:1", words), complaint));
});

describe("cli: a container's way to the API server", () => {
  it("is the machine's own network where the server is on this machine alone", () => {
    for (const server of [
      "https://127.0.0.1:6443",
      "https://localhost:1",
      "https://[::1]:6443",
      "https://127.8.0.1",
    ])
      assert.ok(isLoopback(server), server);
    for (const server of [
      "https://10.0.0.1:6443",
      "https://api.example.com",
      "https://localhost.example.com",
    ])
      assert.ok(!isLoopback(server), server);
  });
});
