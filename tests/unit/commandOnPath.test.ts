import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import path from "node:path";
import { checkCommand, commandOnPath } from "../../definition/commandOnPath";
import { addFiles, loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";

describe("commandOnPath", () => {
  let root: string;
  let folder: string;

  beforeEach(() => {
    root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
    folder = path.join(root, "widget");
    addFiles(root, { "bin/tool": "#!/bin/sh\n", "bin/plain": "", "late/tool": "#!/bin/sh\n" });
    chmodSync(path.join(root, "bin/tool"), 0o755);
    chmodSync(path.join(root, "late/tool"), 0o755);
  });

  const find = (command: string, ...directories: string[]) =>
    commandOnPath(
      command,
      { PATH: directories.map((name) => name && path.join(root, name)).join(":") },
      root,
    );

  it("uses the first directory that has it", () => {
    assert.equal(find("tool", "none", "bin", "late"), path.join(root, "bin/tool"));
  });
  it("passes over what cannot be executed", () => {
    assert.equal(find("plain", "bin"), undefined);
    assert.equal(find("bin", "", "late"), undefined);
  });
  it("reads an empty entry as the current directory", () => {
    assert.equal(find("bin/tool"), path.join(root, "bin/tool"));
    assert.equal(
      commandOnPath("tool", { PATH: ":/none" }, path.join(root, "bin")),
      path.join(root, "bin/tool"),
    );
  });
  it("does not look on the PATH for a path", () => {
    assert.equal(find("./tool", "bin"), undefined);
    assert.equal(find("./bin/tool", ""), path.join(root, "bin/tool"));
  });
  it("finds the shell without a PATH", () => {
    assert.equal(commandOnPath("sh", {}), "/bin/sh");
  });
  it("has an error that names the remedy", () => {
    const operator = loadDefinition(folder, {
      ...widgetDefinition,
      handler: { image: "python:3.13-slim", command: ["notThere", "main.py"] },
    });
    assert.throws(() => checkCommand(operator), {
      name: "OperatorError",
      message:
        /operator.yaml:5:7: handler.command\[0\] "notThere" is not on the PATH of this machine\. Install notThere here; .* python:3.13-slim\.$/,
    });
  });
  it("looks for a path in the operator's folder", () => {
    const operator = loadDefinition(folder, {
      ...widgetDefinition,
      handler: { image: "python:3.13-slim", command: ["./main.py"] },
    });
    assert.throws(() => checkCommand(operator), {
      message: /is not an executable file of .*widget\. Make it/,
    });
    chmodSync(path.join(folder, "main.py"), 0o755);
    checkCommand(operator);
  });
});
