import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { fileNameOf, formatStream, writeFolder } from "../../cli/render/output";
import type { Manifest } from "../../runtime/base/objects";
import { addFiles, writeFolder as writeFiles } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { runStack } from "./support/program";

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

  it("writes only what has changed, and removes what is no longer there", () => {
    const named = (name: string) => ({ ...settings, metadata: { name } });
    writeFolder(out, [settings, named("same"), named("old")]);
    const changed = { ...settings, data: { a: "1" } };
    assert.deepEqual(writeFolder(out, [changed, named("same"), named("new")]), {
      written: [FILE, "configmap_new.yaml"],
      removed: ["configmap_old.yaml"],
    });
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
