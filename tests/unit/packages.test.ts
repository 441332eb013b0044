import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(__dirname, "../..");

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}
interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const { dependencies, devDependencies } = read("package.json") as Packages;
const { packages } = read("package-lock.json") as Lock;

function read(file: string): unknown {
  return JSON.parse(readFileSync(path.join(ROOT, file), "utf8"));
}

describe("the packages", () => {
  // kubernetesx asks for the provider's third major version: a second copy would register resources as that one.
  for (const name of ["@pulumi/pulumi", "@pulumi/kubernetes"]) {
    it(`have one ${name}, ours`, () => {
      const places = Object.keys(packages).filter((place) => place.endsWith(`node_modules/${name}`));
      assert.deepEqual(places, [`node_modules/${name}`]);
      assert.equal(packages[`node_modules/${name}`]?.version, dependencies[name]);
      const installed = read(`node_modules/${name}/package.json`) as { readonly version: string };
      assert.equal(installed.version, dependencies[name]);
      assert.ok(!existsSync(path.join(ROOT, "node_modules/@pulumi/kubernetesx/node_modules", name)));
    });
  }

  it("are named in one version each", () => {
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      assert.match(version, /^\d+\.\d+\.\d+$/, name);
      assert.equal(packages[`node_modules/${name}`]?.version, version, name);
    }
  });
});
