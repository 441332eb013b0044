import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canDownload, downloadProgram } from "../../cli/controlPlane/download";

const program = "#!/bin/sh\necho version 1\n";

describe("downloading the control plane's programs", () => {
  let directory: string;
  let workDirectory: string;
  let target: string;
  let server: Server;
  let url: string;
  let answer: RequestListener;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "download-"));
    workDirectory = join(directory, "work");
    await mkdir(workDirectory);
    target = join(directory, "kwok-v1", "kwok");
    server = createServer((incoming, outgoing) => answer(incoming, outgoing)).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/kwok`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true });
  });

  async function assertNothingLeft(): Promise<void> {
    assert.ok(!existsSync(target));
    assert.deepEqual(await readdir(workDirectory), []);
  }

  it("puts an executable program in its place", async () => {
    answer = (_incoming, outgoing) => outgoing.end(program);
    await downloadProgram({ url }, { target, workDirectory });
    assert.equal(execFileSync(target).toString(), "version 1\n");
    assert.deepEqual(await readdir(workDirectory), []);
  });

  it("unpacks a program that comes in an archive", async () => {
    await mkdir(join(directory, "etcd-v1"));
    await writeFile(join(directory, "etcd-v1", "etcd"), program);
    execFileSync("tar", ["-czf", join(directory, "archive"), "-C", directory, "etcd-v1"]);
    const archive = await readFile(join(directory, "archive"));
    answer = (_incoming, outgoing) => outgoing.end(archive);
    await downloadProgram({ url, member: "etcd-v1/etcd" }, { target, workDirectory });
    assert.equal(execFileSync(target).toString(), "version 1\n");
  });

  it("leaves nothing when the connection breaks off", async () => {
    answer = (_incoming, outgoing) => {
      outgoing.writeHead(200, { "Content-Length": 1000 });
      outgoing.write(program, () => outgoing.destroy());
    };
    await assert.rejects(downloadProgram({ url }, { target, workDirectory }));
    await assertNothingLeft();
  });

  it("leaves nothing when what comes is not a program", async () => {
    answer = (_incoming, outgoing) => outgoing.end("<html>Please log in to this hotel's network</html>");
    await assert.rejects(downloadProgram({ url }, { target, workDirectory }));
    await assertNothingLeft();
  });

  it("leaves nothing when the server refuses, and says so", async () => {
    answer = (_incoming, outgoing) => outgoing.writeHead(404).end();
    await assert.rejects(downloadProgram({ url }, { target, workDirectory }), /HTTP status 404/);
    await assertNothingLeft();
  });

  it("leaves nothing when it is aborted", async () => {
    const abort = new AbortController();
    answer = (_incoming, outgoing) => {
      outgoing.writeHead(200, { "Content-Length": 1000 });
      outgoing.write(program, () => abort.abort(new Error("enough")));
    };
    await assert.rejects(downloadProgram({ url }, { target, workDirectory, signal: abort.signal }), /enough/);
    await assertNothingLeft();
  });

  it("is possible where the file is there, and not where it is not", async () => {
    answer = (incoming, outgoing) => outgoing.writeHead(incoming.method === "HEAD" ? 200 : 500).end();
    assert.equal(await canDownload(url), true);
    answer = (_incoming, outgoing) => outgoing.writeHead(403).end();
    assert.equal(await canDownload(url), false);
  });

  it("is not possible where the network swallows the question", async () => {
    answer = () => undefined;
    assert.equal(await canDownload(url, { milliseconds: 50 }), false);
  });
});
