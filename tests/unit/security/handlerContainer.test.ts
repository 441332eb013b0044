import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { temporaryFolder } from "../../support/temporaryFolder";

/** A runner over this folder, in a process of its own, which a pipe without an end would hold up. */
function runner(folder: string): string {
  const source = path.join(__dirname, "../../../runtime/handler/container/pipeTransport");
  const script = `
    const { PipeTransport } = require(${JSON.stringify(source)});
    const transport = new PipeTransport({ folder: ${JSON.stringify(folder)} });
    console.log(transport.whyNotReady);
    process.exit();`;
  const options = { encoding: "utf8", timeout: 60_000, killSignal: "SIGKILL" } as const;
  return spawnSync(process.execPath, ["--require", "tsx/cjs", "--eval", script], options).stdout;
}

describe("a handler's container that writes what it likes into the shared folder", function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });

  it("cannot block the runner by replacing a file with a pipe", () => {
    assert.equal(spawnSync("mkfifo", [path.join(folder, "session")]).status, 0);
    assert.match(runner(folder), /is not there/);
  });

  it("cannot lead the runner out of the folder with a link", () => {
    writeFileSync(path.join(folder, "secret"), "session.abc");
    symlinkSync(path.join(folder, "secret"), path.join(folder, "session"));
    assert.match(runner(folder), /is not there/);
  });
});
