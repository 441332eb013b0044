import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import promises, { mkdir, mkdtemp, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { mock } from "node:test";
import { clusterDirectory } from "../../cli/controlPlane/configuration";
import { readConnection } from "../../cli/controlPlane/connection";
import { takeLock, withLock } from "../../cli/controlPlane/lock";
import { lackOfRoom } from "../../cli/controlPlane/room";
import { eventually } from "../support/eventually";
import { writeFolder } from "./operatorFolder";

/** The id of a process that has ended. */
function deadProcessId(): number {
  return spawnSync("true").pid;
}

describe("the lock around building programs", () => {
  let directory: string;
  let path: string;
  let lines: string[];
  const report = (line: string): void => void lines.push(line);

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "lock-"));
    path = join(directory, "below", "lock");
    lines = [];
  });

  it("leaves no lock behind on a full disk, and names the file", async () => {
    const opened = promises.open;
    const refused = mock.method(promises, "open", async (file: string, flags: string) => {
      const handle = await opened(file, flags);
      handle.writeFile = () => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
      return handle;
    });
    await assert.rejects(takeLock(path), { code: "ENOSPC", path }).finally(() => refused.mock.restore());
    assert.ok(!existsSync(path));
  });

  it("lets one in at a time and tells the others whom they wait for", async () => {
    const events: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let entered = (): void => undefined;
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const first = withLock(path, report, async () => {
      entered();
      await held;
      events.push("first leaves");
    });
    await inside;
    const second = withLock(
      path,
      (line) => {
        lines.push(line);
        release();
      },
      async () => void events.push("second enters"),
    );
    await Promise.all([first, second]);
    assert.deepEqual(events, ["first leaves", "second enters"]);
    assert.match(lines[0] ?? "", new RegExp(`waiting for process ${process.pid}`));
    assert.ok(!existsSync(path));
  });

  it("is taken from a process that was killed, before its parent notices that", async function () {
    if (process.platform !== "linux") this.skip();
    const parent = spawn("sh", ["-c", "sleep 100 & echo $!; exec sleep 100"]);
    const [output] = (await once(parent.stdout, "data")) as [Buffer];
    const processId = Number(output);
    const owner = { processId, host: hostname(), token: "killed" };
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(owner));
    assert.deepEqual(await takeLock(path), { owner: processId });
    process.kill(processId, "SIGKILL");
    await eventually(
      async () => {
        const lock = await takeLock(path);
        assert.ok("release" in lock);
        await lock.release();
      },
      { timeoutMs: 5_000 },
    );
    parent.kill();
  });

  it("is given back when the step fails", async () => {
    const failing = withLock(path, report, async () => {
      throw new Error("no");
    });
    await assert.rejects(failing, /no/);
    assert.equal(await withLock(path, report, async () => "in"), "in");
    assert.deepEqual(lines, []);
  });

  it("is taken over from a process that is gone", async () => {
    await withLock(path, report, async () => undefined);
    await writeFile(path, JSON.stringify({ processId: deadProcessId(), host: hostname(), token: "old" }));
    assert.equal(await withLock(path, report, async () => "in"), "in");
  });

  it("is taken over when its heartbeat has stopped, though its process id is in use", async () => {
    await withLock(path, report, async () => undefined);
    await writeFile(path, JSON.stringify({ processId: process.pid, host: hostname(), token: "old" }));
    const minuteAgo = new Date(Date.now() - 60_000);
    await utimes(path, minuteAgo, minuteAgo);
    assert.equal(await withLock(path, report, async () => "in"), "in");
  });

  it("stays that of a process that is suspended, whose heartbeat has stopped", async () => {
    const lock = await takeLock(path);
    assert.ok("release" in lock);
    const minuteAgo = new Date(Date.now() - 60_000);
    await utimes(path, minuteAgo, minuteAgo);
    assert.deepEqual(await takeLock(path), { owner: process.pid });
    assert.equal(await lock.isHeld(), true);
    await lock.release();
    assert.ok(!existsSync(path));
  });

  it("is not released by a process that no longer holds it", async () => {
    const lock = await takeLock(path);
    assert.ok("release" in lock);
    await writeFile(path, JSON.stringify({ processId: 1, host: "elsewhere", token: "other" }));
    assert.equal(await lock.isHeld(), false);
    await lock.release();
    assert.ok(existsSync(path));
  });

  it("is respected on another host, whose process ids mean nothing here", async () => {
    await withLock(path, report, async () => undefined);
    await writeFile(path, JSON.stringify({ processId: deadProcessId(), host: "elsewhere", token: "other" }));
    const abort = new AbortController();
    const waiting = withLock(
      path,
      () => abort.abort(new Error("enough")),
      async () => "in",
      abort.signal,
    );
    await assert.rejects(waiting, /enough/);
    assert.ok(existsSync(path));
  });
});

describe("the room for a control plane", () => {
  const withMebibytes = (left: number) =>
    lackOfRoom("/small", async () => ({ bavail: left * 256, bsize: 4096 }));

  it("is asked for where there is too little, and nothing is said where there is enough", async () => {
    assert.match(
      (await withMebibytes(15)) ?? "",
      /^\/small has room for only 15 MiB: .* set TMPDIR to a folder/,
    );
    assert.equal(await withMebibytes(100), undefined);
  });
});

const SERVER = "https://127.0.0.1:6443";

/** Only its form matters here. */
function pem(what: string): string {
  return `-----BEGIN ${what}-----\nMIIB\n-----END ${what}-----\n`;
}

describe("the connection to an embedded control plane", () => {
  const whole = {
    "ca.crt": pem("CERTIFICATE"),
    "admin.crt": pem("CERTIFICATE"),
    "admin.key": pem("RSA PRIVATE KEY"),
  };

  async function read(files: Readonly<Record<string, string>>) {
    const pki = clusterDirectory("").replace(/^\/+/, "");
    const folder = writeFolder(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`${pki}/pki/${name}`, text])),
    );
    return await readConnection(SERVER, folder);
  }

  it("is that of the certificates that kwokctl has made", async () => {
    const { certificateAuthority, privateKey } = await read(whole);
    assert.deepEqual([certificateAuthority, privateKey].map(String), [whole["ca.crt"], whole["admin.key"]]);
  });

  for (const name of Object.keys(whole) as (keyof typeof whole)[]) {
    it(`does not exist while kwokctl writes ${name}: half of a certificate would be refused for ever`, async () => {
      for (const part of ["", whole[name].slice(0, 40)]) {
        await assert.rejects(read({ ...whole, [name]: part }), new RegExp(`${name} is not complete yet`));
      }
    });
  }
});
