import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(__dirname, "../..");

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}
type Versions = Readonly<Record<string, string>>;
interface Packages {
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly peerDependencies: Versions;
}

const { dependencies, devDependencies, peerDependencies } = read("package.json") as Packages;
const { packages } = read("package-lock.json") as Lock;

function read(file: string): unknown {
  return JSON.parse(readFileSync(path.join(ROOT, file), "utf8"));
}

describe("the packages", () => {
  // kubernetesx asks for the provider's third major version: a second copy would register resources as that one.
  for (const [name, range] of Object.entries(peerDependencies)) {
    it(`have one ${name}, of the version that is developed with`, () => {
      const version = devDependencies[name];
      const places = Object.keys(packages).filter((place) => place.endsWith(`node_modules/${name}`));
      assert.deepEqual(places, [`node_modules/${name}`]);
      assert.equal(packages[`node_modules/${name}`]?.version, version);
      const installed = read(`node_modules/${name}/package.json`) as { readonly version: string };
      assert.equal(installed.version, version);
      assert.ok(!existsSync(path.join(ROOT, "node_modules/@pulumi/kubernetesx/node_modules", name)));
    });

    it(`leave the version of ${name} to the program, from the oldest that docs/deploy.md supports and CI tests`, () => {
      const oldest = /^\^(\d+\.\d+)\.0$/.exec(range)?.[1];
      const page = readFileSync(path.join(ROOT, "docs/deploy.md"), "utf8");
      assert.equal(new RegExp(`^\\| \`${name}\` \\| (\\S+) or newer `, "m").exec(page)?.[1], oldest);
      const tested = readFileSync(path.join(ROOT, ".github/workflows/versions.yml"), "utf8");
      assert.ok(tested.includes(` ${name}@${oldest}.0 `), range);
      assert.equal(range.split(".")[0], `^${devDependencies[name]?.split(".")[0]}`);
      assert.equal(dependencies[name], undefined);
    });
  }

  it("are named in one version each", () => {
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      // "npm:typescript@7.0.2" is a package under another name.
      const [, number] = /^(?:npm:[\w./-]+@)?(\d+\.\d+\.\d+)$/.exec(version) ?? [];
      assert.ok(number, name);
      assert.equal(packages[`node_modules/${name}`]?.version, number, name);
    }
  });

  it("have a reason each in CONTRIBUTING.md", () => {
    const page = readFileSync(path.join(ROOT, "CONTRIBUTING.md"), "utf8");
    const reasons = [...page.matchAll(/^\| (`.*`) \|.*\S.*\|$/gm)].flatMap(([, names = ""]) =>
      names.split(", ").map((name) => name.replaceAll("`", "")),
    );
    const isNamed = (name: string) =>
      reasons.some(
        (reason) => reason === name || (reason.endsWith("/*") && name.startsWith(reason.slice(0, -1))),
      );
    const unnamed = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !isNamed(name));
    assert.deepEqual(unnamed, []);
  });
});
