import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import path from "node:path";
import { type KeptData, openKeptData } from "../../cli/dev/keptData";
import { temporaryFolder } from "../support/temporaryFolder";

const versions = { kubernetes: "v1.34.1", etcd: "v3.6.6" };

describe("what argosy dev --keep keeps", () => {
  let cache: string;
  let opened: KeptData[];
  beforeEach(() => {
    cache = temporaryFolder();
    opened = [];
  });
  afterEach(async () => {
    for (const kept of opened) await kept.release();
  });

  async function open(fresh = false, of = versions, operators = "/shop/handlers"): Promise<KeptData> {
    const kept = await openKeptData(operators, cache, fresh, of);
    opened.push(kept);
    return kept;
  }
  /** As etcd leaves its data. */
  const fill = ({ etcd }: KeptData) => mkdirSync(path.join(etcd, "member"));

  it("is at the same place each time, and elsewhere for other operators", async () => {
    const first = await open();
    assert.equal(first.isThere, false);
    fill(first);
    await first.release();
    const second = await open();
    assert.deepEqual([second.etcd, second.isThere], [first.etcd, true]);
    assert.notEqual((await open(false, versions, "/blog/handlers")).etcd, first.etcd);
  });

  it("is thrown away on demand", async () => {
    const first = await open();
    fill(first);
    await first.release();
    const second = await open(true);
    assert.deepEqual([second.isThere, existsSync(second.etcd)], [false, true]);
    assert.deepEqual(readdirSync(second.etcd), []);
  });

  it("is one process's at a time, which is named, and that of the next when it has ended", async () => {
    await open();
    await assert.rejects(
      open(true),
      new RegExp(`is already running for these operators, in process ${process.pid}\\. Stop it first`),
    );
  });

  it("is free after a process that was killed", async () => {
    const first = await open();
    const lock = path.join(path.dirname(first.etcd), "lock");
    fill(first);
    await first.release();
    const { pid } = spawnSync("true");
    writeFileSync(lock, JSON.stringify({ processId: pid, host: hostname(), token: "gone" }));
    assert.equal((await open()).isThere, true);
  });

  it("is refused to older programs, with the remedy, and given to newer ones", async () => {
    const first = await open();
    fill(first);
    await first.release();
    const older = { ...versions, kubernetes: "v1.33.5" };
    await assert.rejects(
      open(false, older),
      /are of kubernetes v1\.34\.1, and this is kubernetes v1\.33\.5.*argosy dev --keep --fresh/,
    );
    const newer = await open(false, { kubernetes: "v1.35.0", etcd: "v3.6.6" });
    assert.equal(newer.isThere, true);
    await newer.release();
    await assert.rejects(open(), /of kubernetes v1\.35\.0/);
    assert.equal((await open(true, older)).isThere, false);
  });

  it("is refused if it is not known which programs wrote it", async () => {
    const first = await open();
    fill(first);
    await first.release();
    writeFileSync(path.join(path.dirname(first.etcd), "versions.json"), "{");
    await assert.rejects(open(), /are of an unknown version/);
  });
});
