import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Asset } from "../../cli/controlPlane/assets";
import { downloadProgram, UnavailableError, whyNoDownload } from "../../cli/controlPlane/download";
import { temporaryFolder } from "../support/temporaryFolder";

const program = "#!/bin/sh\necho version 1\n";
const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

describe("downloading the control plane's programs", () => {
  let directory: string;
  let workDirectory: string;
  let target: string;
  let server: Server;
  let url: string;
  let answer: RequestListener;
  /** What the publisher says of the file, whatever is answered for it. */
  let published: string | undefined;

  beforeEach(async () => {
    directory = temporaryFolder();
    workDirectory = join(directory, "work");
    await mkdir(workDirectory);
    target = join(directory, "kwok-v1", "kwok");
    published = `${sha256(program)}\n`;
    server = createServer((incoming, outgoing) => {
      if (incoming.url !== "/checksum") return answer(incoming, outgoing);
      return published === undefined ? outgoing.writeHead(404).end() : outgoing.end(published);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/kwok`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
  });

  const asset = (further: Partial<Asset> = {}): Asset => ({
    url,
    checksum: new URL("/checksum", url).href,
    ...further,
  });

  const download = (further: Partial<Asset> = {}, signal?: AbortSignal) =>
    downloadProgram(asset(further), { target, workDirectory, ...(signal && { signal }) });

  /** Nothing of it is left. */
  async function refused(downloading: Promise<void>, expected: RegExp | ((error: unknown) => boolean)) {
    await assert.rejects(downloading, expected);
    assert.ok(!existsSync(target));
    assert.deepEqual(await readdir(workDirectory), []);
  }

  it("puts an executable program in its place", async () => {
    answer = (_incoming, outgoing) => outgoing.end(program);
    await download();
    assert.equal(execFileSync(target).toString(), "version 1\n");
    assert.deepEqual(await readdir(workDirectory), []);
  });

  it("unpacks a program that comes in an archive", async () => {
    await mkdir(join(directory, "etcd-v1"));
    await writeFile(join(directory, "etcd-v1", "etcd"), program);
    execFileSync("tar", ["-czf", join(directory, "archive"), "-C", directory, "etcd-v1"]);
    const archive = await readFile(join(directory, "archive"));
    published = `${sha256("other")}  other\n${sha256(archive)}  kwok\n`;
    answer = (_incoming, outgoing) => outgoing.end(archive);
    await download({ member: "etcd-v1/etcd" });
    assert.equal(execFileSync(target).toString(), "version 1\n");
  });

  it("leaves nothing when the connection breaks off", async () => {
    answer = (_incoming, outgoing) => {
      outgoing.writeHead(200, { "Content-Length": 1000 });
      outgoing.write(program, () => outgoing.destroy());
    };
    const offline = (error: unknown) => error instanceof UnavailableError && error.isOffline;
    await refused(download(), offline);
  });

  it("leaves nothing when what comes is not a program", async () => {
    const page = "<html>Please log in to this hotel's network</html>";
    published = sha256(page);
    answer = (_incoming, outgoing) => outgoing.end(page);
    await refused(download(), () => true);
  });

  it("does not run what has another checksum than the publisher says, and names both", async () => {
    const ran = join(directory, "ran");
    const evil = `#!/bin/sh\ntouch ${ran}\n`;
    answer = (_incoming, outgoing) => outgoing.end(evil);
    const expected = new RegExp(`${sha256(evil)}.* not ${sha256(program)}`);
    await refused(download(), expected);
    assert.ok(!existsSync(ran));
  });

  it("does not unpack an archive of another checksum", async () => {
    answer = (_incoming, outgoing) => outgoing.end("no archive");
    await refused(download({ member: "etcd" }), /its SHA-256 is/);
  });

  for (const [what, text, expected] of [
    ["no checksum is published", undefined, /checksum: HTTP status 404/],
    ["the published list does not name the file", `${"0".repeat(64)}  other\n`, /has no SHA-256 of kwok/],
    ["something else than checksums is published", "<html></html>", /has no SHA-256 of kwok/],
  ] as const) {
    it(`does not download where ${what}`, async () => {
      published = text;
      answer = () => assert.fail("downloaded");
      await refused(download(), expected);
    });
  }

  it("takes the digests that GitHub has of a release's files", async () => {
    const assets = [
      { name: "other", digest: `sha256:${sha256("other")}` },
      { name: "kwok", digest: `sha256:${sha256(program)}` },
    ];
    published = JSON.stringify({ assets });
    answer = (_incoming, outgoing) => outgoing.end(program);
    await download();
    assert.ok(existsSync(target));
  });

  it("leaves nothing when the server refuses, and says so", async () => {
    answer = (_incoming, outgoing) => outgoing.writeHead(404).end();
    await refused(download(), /HTTP status 404/);
  });

  it("leaves nothing when it is aborted", async () => {
    const abort = new AbortController();
    answer = (_incoming, outgoing) => {
      outgoing.writeHead(200, { "Content-Length": 1000 });
      outgoing.write(program, () => abort.abort(new Error("enough")));
    };
    await refused(download({}, abort.signal), /enough/);
  });

  it("is possible if the file exists, and not otherwise", async () => {
    answer = (incoming, outgoing) => outgoing.writeHead(incoming.method === "HEAD" ? 200 : 500).end();
    assert.equal(await whyNoDownload(url), undefined);
    answer = (_incoming, outgoing) => outgoing.writeHead(403).end();
    assert.equal(await whyNoDownload(url), `${url}: HTTP status 403`);
  });

  it("is not possible where the network swallows the question, or refuses it", async () => {
    answer = () => undefined;
    assert.equal(await whyNoDownload(url, { milliseconds: 50 }), `${url}: no answer within 0.05 s`);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    assert.match((await whyNoDownload(url)) ?? "", /: connect ECONNREFUSED /);
  });
});
