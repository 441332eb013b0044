import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { launchConfiguration, withConfiguration, writeLaunchJson } from "../../cli/debug/launchJson";
import { temporaryFolder } from "../support/temporaryFolder";

const entry = launchConfiguration("cache", "node", 9229);

describe("launch.json", () => {
  it("is written where there is none", () => {
    const text = withConfiguration(undefined, entry);
    assert.deepEqual(JSON.parse(text), { version: "0.2.0", configurations: [entry] });
    assert.equal(withConfiguration(text, entry), text);
    assert.equal(withConfiguration("", entry), text);
  });

  it("keeps comments, layout and all entries of others", () => {
    const before = `{
    // Use IntelliSense to learn about possible attributes.
    "version": "0.2.0",
    "configurations": [
        { "name": "mine", "type": "go", "request": "launch" }, // the first
    ],
    "compounds": []
}
`;
    const after = withConfiguration(before, entry);
    for (const kept of [
      "// Use IntelliSense",
      "// the first",
      '{ "name": "mine", "type": "go", "request": "launch" }',
    ])
      assert.ok(after.includes(kept), after);
    assert.match(after, /\n {8}\{\n {12}"name": "argosy: cache",/);
    assert.match(after, /"launch" \}, \/\/ the first\n/);
    assert.match(after, /"compounds": \[\]/);
  });

  it("gives our entry the port of now, and leaves what its author has added", () => {
    const there = { ...entry, port: 1, presentation: { hidden: true } };
    const before = `{"configurations":[{"name":"other"},${JSON.stringify(there)}]}`;
    const { configurations } = JSON.parse(withConfiguration(before, entry)) as { configurations: unknown[] };
    assert.deepEqual(configurations, [{ name: "other" }, { ...there, port: 9229 }]);
  });

  it("gets its list of configurations where it has none", () => {
    assert.deepEqual(JSON.parse(withConfiguration('{"version":"0.2.0"}', entry)).configurations, [entry]);
  });

  it("attaches debugpy to this machine alone", () => {
    const { connect, type } = launchConfiguration("cache", "debugpy", 5678);
    assert.deepEqual([type, connect], ["debugpy", { host: "127.0.0.1", port: 5678 }]);
  });

  describe("as a file", () => {
    let folder: string;
    const file = () => path.join(folder, ".vscode", "launch.json");
    beforeEach(() => {
      folder = temporaryFolder();
    });

    it("is made with its folder, and not written again", () => {
      assert.deepEqual(writeLaunchJson(folder, entry), { kind: "written", file: file() });
      assert.deepEqual(writeLaunchJson(folder, entry), { kind: "unchanged", file: file() });
    });

    it("is left alone if it is not understood, or cannot be written", () => {
      for (const text of ["{ not json", "[]", '{"configurations": {}}']) {
        mkdirSync(path.dirname(file()), { recursive: true });
        writeFileSync(file(), text);
        assert.equal(writeLaunchJson(folder, entry).kind, "left");
        assert.equal(readFileSync(file(), "utf8"), text);
      }
      rmSync(path.dirname(file()), { recursive: true });
      writeFileSync(path.join(folder, ".vscode"), "a file");
      assert.equal(writeLaunchJson(folder, entry).kind, "left");
      assert.ok(!existsSync(file()));
    });
  });
});
