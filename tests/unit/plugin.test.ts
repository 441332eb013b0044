import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { schemaComment } from "../../definition/jsonSchema";

const ROOT = path.resolve(__dirname, "../..");
const LANGUAGES = ["python", "typescript", "yaml"];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}

function manifest(file: string): Manifest {
  return JSON.parse(read(file));
}

describe("the plugin for other languages", () => {
  it("describes every argument, every output and every type to those who see nothing else", () => {
    const { resources, types } = JSON.parse(read("plugin/schema.json"));
    const { inputProperties, properties, description } = resources["argosy:index:Operators"];
    assert.ok(description);
    for (const [name, property] of Object.entries({ ...inputProperties, ...properties }))
      assert.ok((property as { description?: string }).description, name);
    for (const [name, type] of Object.entries(types))
      assert.ok((type as { description?: string }).description, name);
  });

  it("has one version with the package, and the SDKs that the package was tested with", () => {
    const { name, version, devDependencies } = manifest("package.json");
    const plugin = manifest("plugin/package.json");
    assert.equal(plugin.version, version);
    assert.deepEqual(plugin.dependencies, {
      [name]: version,
      "@pulumi/kubernetes": devDependencies["@pulumi/kubernetes"],
      "@pulumi/pulumi": devDependencies["@pulumi/pulumi"],
    });
    const { namespace, pluginDownloadURL } = JSON.parse(read("plugin/schema.json"));
    for (const language of ["python", "yaml"]) {
      const { packages } = parse(read(`templates/${language}/Pulumi.yaml`));
      assert.deepEqual(packages, { argosy: { source: "argosy", version, pluginDownloadURL } }, language);
    }
    const { dependencies, devDependencies: tools } = manifest("templates/typescript/package.json");
    for (const [dependency, asked] of Object.entries({ ...dependencies, ...tools }))
      assert.equal(asked, { ...devDependencies, [name]: version }[dependency], dependency);
    assert.ok(read("plugin/README.md").includes(`argosy@${version} --server ${pluginDownloadURL}`));
    // What Pulumi calls the package in Python: the namespace and the name.
    const module = `${namespace}_argosy`.replaceAll("-", "_");
    for (const file of ["templates/python/__main__.py", "plugin/README.md"])
      assert.ok(read(file).includes(`import ${module} as argosy`), file);
  });

  it("has templates with the same operator for each language", () => {
    assert.deepEqual(readdirSync(path.join(ROOT, "templates")).sort(), LANGUAGES);
    const [first, ...others] = LANGUAGES.map((language) => filesBelow(`templates/${language}/handlers`));
    assert.ok(Object.keys(first ?? {}).length >= 4);
    for (const files of others) assert.deepEqual(files, first);
    const { $id } = JSON.parse(read("operator.schema.json"));
    const [comment] = first?.["greeting/operator.yaml"]?.split("\n") ?? [];
    assert.equal(comment, schemaComment($id));
  });
});

function filesBelow(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(path.join(ROOT, folder, name)).isFile() && !name.includes("__pycache__"))
      .sort()
      .map((name) => [name, read(path.join(folder, name))]),
  );
}
