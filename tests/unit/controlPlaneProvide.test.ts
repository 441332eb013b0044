import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { isRunning } from "../../cli/common/isRunning";
import { programPaths } from "../../cli/controlPlane/cache";
import { programNames, programs } from "../../cli/controlPlane/programs";
import { providePrograms } from "../../cli/controlPlane/provide";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { assertNone } from "./support/lists";

const offline = async () => "no network";
const go = async () => ({ usable: true, version: "1.26.0" }) as const;
const originalPath = process.env.PATH;
const originalFetch = globalThis.fetch;
const PROGRAM = "#!/bin/sh\necho version 1\n";
const SHA256 = createHash("sha256").update(PROGRAM).digest("hex");

describe("providing the control plane's programs", () => {
  let directory: string;
  let cache: string;
  let lines: string[];
  const report = (line: string): void => void lines.push(line);

  beforeEach(async () => {
    directory = temporaryFolder();
    cache = join(directory, "cache");
    lines = [];
  });
  afterEach(async () => {
    process.env.PATH = originalPath;
    globalThis.fetch = originalFetch;
  });

  /** Puts a `go` of ours first in PATH: "list" answers, "build" runs the script with $target set. */
  async function fakeGo(build: string): Promise<void> {
    const released = join(directory, "released.mod");
    await writeFile(released, "module released\ngo 1.24.0\n");
    const script = [
      "#!/bin/sh",
      `if [ "$1" = list ]; then echo ${released}; exit; fi`,
      `echo build >>${directory}/builds`,
      'while [ "$1" != -o ]; do shift; done; target=$2',
      build,
    ];
    const bin = join(directory, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "go"), `${script.join("\n")}\n`);
    await chmod(join(bin, "go"), 0o755);
    process.env.PATH = [bin, originalPath].join(delimiter);
  }

  async function putInCache(names: readonly string[]): Promise<void> {
    for (const [name, path] of Object.entries(programPaths(cache))) {
      if (!names.includes(name)) continue;
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, "", { mode: 0o755 });
    }
  }

  it("asks neither the network nor Go if the cache has them all", async () => {
    await putInCache(programNames);
    const never = (): never => assert.fail("asked");
    const paths = await providePrograms({ report, cache, offline: never, go: never });
    assert.deepEqual(paths, programPaths(cache));
    assert.deepEqual(lines, []);
  });

  it("says that its cache cannot be written, and how to have another, before it asks for anything", async () => {
    const never = (): never => assert.fail("asked");
    const file = join(directory, "file");
    await writeFile(file, "");
    for (const [place, reason] of [
      [file, "a file is in its place"],
      [join(file, "cache"), "a part of its path is a file"],
    ] as const) {
      await assert.rejects(providePrograms({ report, cache: place, offline: never, go: never }), {
        name: "CommandError",
        message: `the cache folder ${place} cannot be written: ${reason}. Set ARGOSY_CACHE to a folder that can be written.`,
      });
    }
  });

  it("names the remedy when there is neither", async () => {
    const without = async () => ({ usable: false, why: "there is no go command" }) as const;
    const providing = providePrograms({ report, cache, offline, go: without });
    await assert.rejects(providing, /\(no network\).*no go command.*api\.github\.com.*install Go 1\.26/);
    assert.ok(!existsSync(join(cache, "lock")));
  });

  /** Answers of the publishers, by the end of the address. */
  function publish(answer: (url: URL) => Response | undefined): void {
    globalThis.fetch = async (input) => answer(new URL(String(input))) ?? new Response(PROGRAM);
  }
  const checksum = (url: URL) => (url.pathname.endsWith(".sha256") ? new Response(SHA256) : undefined);
  const online = async () => undefined;

  it("builds only the programs that GitHub does not describe, and says until when", async function () {
    if (process.platform !== "linux") this.skip();
    await fakeGo('echo program >"$target"; chmod +x "$target"');
    await putInCache(["etcd"]);
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000" };
    publish((url) =>
      url.host === "api.github.com" ? new Response("", { status: 403, headers }) : checksum(url),
    );
    const paths = await providePrograms({ report, cache, offline: online, go });
    const contents = await Promise.all(
      (["kwokctl", "kwok", "kubectl", "kube-apiserver"] as const).map((name) =>
        readFile(paths[name], "utf8"),
      ),
    );
    assert.deepEqual(contents, ["program\n", "program\n", PROGRAM, PROGRAM]);
    const why = lines.find((line) => line.startsWith("kwok cannot be downloaded")) ?? "";
    assert.match(why, /HTTP status 403, because GitHub allows no more requests from this address until \d/);
  });

  it("builds all that are left when the network is gone", async function () {
    if (process.platform !== "linux") this.skip();
    await fakeGo('echo program >"$target"; chmod +x "$target"');
    await putInCache(["kwokctl", "kwok", "etcd", "kube-controller-manager", "kube-scheduler"]);
    let asked = 0;
    globalThis.fetch = async () => {
      asked += 1;
      throw new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND dl.k8s.io") });
    };
    await providePrograms({ report, cache, offline: online, go });
    assert.equal(asked, 1);
    assert.match(
      lines.join("\n"),
      /^kube-apiserver, kubectl cannot be downloaded \(https:\S+: getaddrinfo ENOTFOUND dl\.k8s\.io\): building from source/m,
    );
  });

  it("builds nothing where the file is another one, or cannot be stored", async function () {
    if (process.platform !== "linux") this.skip();
    await putInCache(programNames.filter((name) => name !== "kubectl"));
    const never = (): never => assert.fail("built");
    publish((url) => (url.pathname.endsWith(".sha256") ? new Response("0".repeat(64)) : undefined));
    const providing = () => providePrograms({ report, cache, offline: online, go: never });
    await assert.rejects(providing, { name: "CommandError", message: /its SHA-256 is .* It was not run\./ });
    publish(checksum);
    const { kubectl } = programPaths(cache);
    await rm(dirname(kubectl), { recursive: true });
    await putInCache(programNames.filter((name) => dirname(programPaths(cache)[name]) !== dirname(kubectl)));
    await writeFile(dirname(kubectl), "");
    await assert.rejects(providing, {
      name: "CommandError",
      message: /cannot be provided: a .* is in its place\./,
    });
  });

  it("builds what is missing, each once, though two ask at the same time", async () => {
    await fakeGo('echo program >"$target"; chmod +x "$target"');
    await putInCache(["etcd", "kubectl"]);
    const options = { report, cache, offline, go };
    const [paths] = await Promise.all([providePrograms(options), providePrograms(options)]);
    assert.equal(await readFile(paths.kwokctl, "utf8"), "program\n");
    const builds = (await readFile(join(directory, "builds"), "utf8")).trimEnd().split("\n");
    assert.equal(builds.length, programs.length - 2);
    assert.match(lines.join("\n"), /^building kwok v0\.8\.0 from source \(2 of 5, [\d.]+ m?s\)$/m);
    assert.ok(!existsSync(join(cache, "work")));
  });

  it("shows the compiler's last words when a build fails, and leaves no half program", async () => {
    await fakeGo('echo half >"$target"; for i in $(seq 100); do echo "line $i" >&2; done; exit 2');
    const providing = providePrograms({ report, cache, offline, go });
    const error = await providing.then(
      () => assert.fail("built"),
      (reason: Error) => reason,
    );
    assert.match(error.message, /kwokctl v0\.8\.0 failed \(go ended with code 2\)/);
    assert.match(error.message, /line 81\n.*line 100$/s);
    assert.ok(!error.message.includes("line 80"));
    const log = /in (\S+\.log)\./.exec(error.message)?.[1];
    assert.match(await readFile(log ?? "", "utf8"), /line 1\n/);
    assert.ok(!existsSync(programPaths(cache).kwokctl));
  });

  it("kills the compiler and all it started on abort, and can build later", async () => {
    await fakeGo(
      `sleep 1000 & echo $! >${directory}/started.part; mv ${directory}/started.part ${directory}/started; wait`,
    );
    const abort = new AbortController();
    const providing = providePrograms({ report, cache, offline, go, signal: abort.signal });
    const outcome = assert.rejects(providing, /enough/);
    await eventually(() => assert.ok(existsSync(join(directory, "started"))));
    abort.abort(new Error("enough"));
    await outcome;
    const started = Number(await readFile(join(directory, "started"), "utf8"));
    await eventually(() => assert.ok(!isRunning(started)));
    assert.ok(!existsSync(programPaths(cache).kwokctl));

    await rm(join(directory, "bin"), { recursive: true });
    await fakeGo('echo program >"$target"; chmod +x "$target"');
    await providePrograms({ report, cache, offline, go });
    assertNone(readdirSync(cache), (name) => name === "lock" || name === "work");
  });
});
