import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { fileNameOf, formatStream, writeFolder } from "../../cli/render/output";
import type { Manifest } from "../../runtime/base/objects";
import { addFiles, loadDefinition, widgetDefinition, writeFolder as writeFiles } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { run, runStack } from "./support/program";
import { operatorsProgram, sampleProgram } from "./support/sampleOperators";

const settings: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "shop" },
};
const FILE = "configmap_shop_a.yaml";

describe("render --out", () => {
  let out: string;
  beforeEach(() => {
    out = writeFiles({});
  });

  const contents = () => new Map(readdirSync(out).map((name) => [name, read(name)]));
  const read = (name: string) => readFileSync(path.join(out, name), "utf8");

  it("writes a file for each object, with its type, namespace and name", async () => {
    const { manifests } = await runStack("dev");
    const { written, removed } = writeFolder(out, manifests);
    assert.equal(written.length, manifests.length);
    assert.deepEqual(removed, []);
    assert.deepEqual(readdirSync(out), [...written].sort());
    assert.ok(written.includes("deployment.apps_argosy_memcached-runner.yaml"));
    assert.ok(written.includes("namespace_argosy.yaml"));
    for (const name of written) assert.match(read(name), /^# Rendered by Argosy/);
  });

  it("writes the same as is printed", async () => {
    const { manifests } = await runStack("dev");
    writeFolder(out, manifests);
    const printed = parseAllDocuments(formatStream(manifests)).map((each) => each.toJS() as unknown);
    const written = manifests.map((each) => parseAllDocuments(read(fileNameOf(each)))[0]?.toJS() as unknown);
    assert.deepEqual(written, printed);
  });

  it("writes nothing where nothing has changed", async () => {
    const { manifests } = await runStack("dev");
    writeFolder(out, manifests);
    const times = readdirSync(out).map((name) => statSync(path.join(out, name)).mtimeMs);
    assert.deepEqual(writeFolder(out, manifests), { written: [], removed: [] });
    assertEach(readdirSync(out), (name) => statSync(path.join(out, name)).mtimeMs, times);
  });

  it("knows its files after a checkout that has changed the ends of their lines", () => {
    const other = { ...settings, metadata: { name: "old" } };
    writeFolder(out, [settings, other]);
    for (const [name, text] of contents()) addFiles(out, { [name]: text.replaceAll("\n", "\r\n") });
    assert.deepEqual(writeFolder(out, [settings]), { written: [], removed: ["configmap_old.yaml"] });
  });

  it("shows an edited handler as its ConfigMap and the one object that refers to it", async () => {
    const sample = sampleProgram([{ name: "gear" }, { name: "press", execution: "pod" }]);
    writeFolder(out, (await run(operatorsProgram(sample))).manifests);
    const before = contents();
    addFiles(path.join(sample.root, "gear"), { "main.py": "print('otherwise')\n" });
    const definitions = sample.definitions.map((each) =>
      each.name === "gear" ? loadDefinition(each.folder, widgetDefinition) : each,
    );
    const edited = await run(operatorsProgram({ ...sample, definitions }));
    const { written, removed } = writeFolder(out, edited.manifests);

    const [runner = "", map = ""] = [...written].sort().reverse();
    assert.equal(written.length, 2);
    assert.equal(runner, "deployment.apps_argosy_gear-runner.yaml");
    assert.match(map, /^configmap_argosy_gear-handler-\w+\.yaml$/);
    const [old = ""] = removed;
    assert.equal(removed.length, 1);
    assert.match(old, /^configmap_argosy_gear-handler-\w+\.yaml$/);

    // What refers to it refers to nothing else than before.
    const names = (file: string) => file.replace(/^configmap_argosy_|\.yaml$/g, "");
    assert.equal(read(runner), before.get(runner)?.replaceAll(names(old), names(map)));
    assert.deepEqual(
      [...contents().keys()].sort(),
      [...before.keys()].map((name) => (name === old ? map : name)).sort(),
    );
  });

  it("names no two objects alike", () => {
    const apiVersions = ["v1", "apps/v1", "example.com/v1", "shop.example.com/v1"];
    const names = ["a", "b", "a.b", "a-b", "b.a"];
    const manifests = apiVersions.flatMap((apiVersion) =>
      ["Service", "ServiceShop", "Shop"].flatMap((kind) =>
        ["a", "b", "a-b"].flatMap((namespace) =>
          names.map((name) => ({ apiVersion, kind, metadata: { namespace, name } })),
        ),
      ),
    );
    const files = new Set(manifests.map(fileNameOf));
    assert.equal(files.size, manifests.length);
    for (const file of files) assert.match(file, /^[-._a-z]+\.yaml$/);
  });

  describe("leaves alone what it has not written:", () => {
    it("files of others", () => {
      addFiles(out, { "kustomization.yaml": "resources: []\n", "README.md": "mine" });
      mkdirSync(path.join(out, "overlays.yaml"));
      writeFolder(out, [settings]);
      assert.deepEqual(writeFolder(out, []), { written: [], removed: [FILE] });
      assert.deepEqual(readdirSync(out), ["README.md", "kustomization.yaml", "overlays.yaml"]);
      assert.equal(read("kustomization.yaml"), "resources: []\n");
    });

    it("a file where one of ours belongs, and then nothing at all is written or removed", () => {
      writeFolder(out, [{ ...settings, metadata: { name: "old" } }]);
      addFiles(out, { [FILE]: "kind: ConfigMap\n" });
      const before = contents();
      const file = path.join(out, FILE);
      const other = { ...settings, metadata: { name: "0" } };
      assert.throws(() => writeFolder(out, [other, settings]), {
        name: "CommandError",
        message: `Argosy did not write ${file}, so it does not replace ${file}. Move ${file}, or name another folder with --out.`,
      });
      assert.deepEqual(contents(), before);
    });

    it("a folder where a file of ours belongs, and a file where the folder belongs", () => {
      mkdirSync(path.join(out, FILE));
      assert.throws(() => writeFolder(out, [settings]), /did not write .*configmap_shop_a\.yaml, so/);
      const file = path.join(out, "file");
      addFiles(out, { file: "mine" });
      assert.throws(() => writeFolder(file, [settings]), { message: /did not write .*file, so/ });
      assert.equal(read("file"), "mine");
    });
  });

  it("makes the folder", () => {
    const deep = path.join(out, "a", "b");
    writeFolder(deep, [settings]);
    assert.ok(existsSync(path.join(deep, FILE)));
  });
});
