import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";
import { schemaComment } from "../../definition/jsonSchema";
import { type Args, createOperators } from "../../plugin/src/operators";
import { samplePlatform } from "./support/platform";
import { run } from "./support/program";

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

describe("the component for other languages", () => {
  const handlers = path.resolve(__dirname, "../../templates/yaml/handlers");

  const created = (args: Partial<Args>, values: Record<string, string> = {}) =>
    run(
      async () => {
        const { platform, crdNames } = await createOperators("shop", { handlers, ...args }, {});
        return { namespace: platform.namespace, crdNames };
      },
      {
        values: Object.fromEntries(Object.entries(values).map(([key, value]) => [`argosy:${key}`, value])),
        stackOutputs: () => ({ platform: samplePlatform({ namespace: "theirs" }) }),
      },
    ).then(({ outputs }) => outputs);

  it("reads the stack's configuration if the program asks for it", async () => {
    const values = { namespace: "shops", token: "t" };
    assert.deepEqual(await created({}, values), {
      namespace: "argosy",
      crdNames: ["greetings.example.com"],
    });
    assert.deepEqual(await created({ configured: true, ownKeys: ["token"] }, values), {
      namespace: "shops",
      crdNames: ["greetings.example.com"],
    });
    await assert.rejects(created({ configured: true }, values), /argosy:token is set, and nothing reads it/);
  });

  it("uses the platform of another stack, by the argument or by the keys", async () => {
    const platformStack = "acme/platform/prod";
    const theirs = { namespace: "theirs", crdNames: ["greetings.example.com"] };
    assert.deepEqual(await created({ platformStack }), theirs);
    assert.deepEqual(await created({ configured: true }, { parts: "operators", platformStack }), theirs);
    await assert.rejects(created({ configured: true, platformStack }), /Set the key platformStack instead/);
    await assert.rejects(
      created({ platform: {}, platformStack }),
      /platform and platformStack are both given/,
    );
  });

  it("refuses what only a program in TypeScript can have, and what is not known yet", async () => {
    await assert.rejects(
      created({ configured: true }, { parts: "platform" }),
      /^Error: argosy:parts is "platform"/,
    );
    const unknown = pulumi.output("./handlers") as unknown as string;
    await assert.rejects(created({ handlers: unknown }), /handlers is not known yet/);
  });
});
