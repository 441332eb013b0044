import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { main } from "../../cli/argosy";
import type { Finding } from "../../cli/doctor/checkup";
import { checkNode } from "../../cli/doctor/machine";
import { rememberVariables } from "../environment";
import { removeFolder, widgetCrd, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("argosy doctor", () => {
  let folder: string;
  const putBack = rememberVariables("ARGOSY_CACHE", "KUBECONFIG", "PATH", "HOME");

  beforeEach(() => {
    folder = writeFolder({
      "Pulumi.yaml": "name: shop\nruntime: nodejs\n",
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.js": "exports.reconcile = () => ({ children: [] });\n",
      "handlers/widget/operator.yaml": "crd: crd.yaml\nhandler: main.js\nchildren: [v1/Service]\n",
      file: "",
    });
    process.env.ARGOSY_CACHE = path.join(folder, "cache");
    // No kubeconfig anywhere.
    process.env.HOME = folder;
    delete process.env.KUBECONFIG;
  });
  afterEach(() => {
    putBack();
    removeFolder(folder);
  });

  async function findings(
    ...args: string[]
  ): Promise<{ code: number; of: (what: string) => Finding | undefined }> {
    const { result, stdout } = await captured(() => main(["doctor", "--json", "--project", folder, ...args]));
    const all = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Finding);
    for (const { state, remedy } of all) assert.equal(state === "ok", remedy === undefined);
    return { code: result, of: (what) => all.find((each) => each.what === what) };
  }

  it("finds a machine, a program and no cluster, and that is no failure", async () => {
    const { code, of } = await findings();
    assert.equal(code, 0);
    assert.deepEqual(of("node"), { what: "node", state: "ok", seen: process.versions.node });
    assert.deepEqual(of("operators"), { what: "operators", state: "ok", seen: "widget" });
    assert.equal(of("control plane")?.state, "warning");
    assert.equal(of("cluster")?.state, "warning");
  });

  it("says that Python is too old, and not that of a later version", async () => {
    process.env.PATH = path.join(folder, "bin");
    mkdirSync(process.env.PATH);
    const python = path.join(process.env.PATH, "python3");
    const found = async (version: string) => {
      writeFileSync(python, `#!/bin/sh\necho Python ${version}\n`, { mode: 0o755 });
      return (await findings()).of("python3");
    };
    assert.deepEqual(await found("3.9.18"), {
      what: "python3",
      state: "warning",
      seen: "Python 3.9.18 is too old for handlers in Python, and npm start",
      remedy: "Install Python 3.10 or newer.",
    });
    assert.deepEqual(await found("3.10.0"), { what: "python3", state: "ok", seen: "Python 3.10.0" });
  });

  it("says which programs are missing, and for what each is", async () => {
    process.env.PATH = path.join(folder, "nowhere");
    mkdirSync(process.env.PATH);
    const { code, of } = await findings();
    assert.match(of("git")?.seen ?? "", /not on the PATH; it is needed for argosy verdict/);
    assert.match(of("docker")?.remedy ?? "", /Docker or Podman/);
    assert.equal(of("operators")?.state, "ok");
    assert.equal(code, 0);
  });

  it("finds a cache that cannot be written", async () => {
    process.env.ARGOSY_CACHE = path.join(folder, "file");
    const { code, of } = await findings();
    assert.deepEqual([code, of("cache")?.state], [3, "missing"]);
    assert.match(of("cache")?.remedy ?? "", /ARGOSY_CACHE/);
  });

  it("finds an operator that is not in order, and names the place", async () => {
    writeFileSync(path.join(folder, "handlers/widget/operator.yaml"), "crd: 3\n");
    const { code, of } = await findings();
    assert.equal(code, 3);
    assert.match(of("operators")?.seen ?? "", /widget\/operator\.yaml:1:\d+: crd/);
  });

  it("finds that a cluster is named and cannot be reached", async () => {
    const { code, of } = await findings("--kubeconfig", path.join(folder, "file"));
    assert.deepEqual([code, of("cluster")?.state], [3, "missing"]);
  });

  it("knows a Node that is too old", () => {
    assert.equal(checkNode("18.0.0").state, "missing");
    assert.equal(checkNode("22.1.0").state, "ok");
  });
});
