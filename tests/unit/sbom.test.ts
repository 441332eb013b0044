import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { dependencies, name, version } from "../../package.json";
import { compiled } from "../../tools/build";
import { licencesOf } from "../../tools/build/licences";
import { type Sbom, sboms } from "../../tools/build/sbom";
import { assertEach } from "./support/lists";
import { PROJECT } from "./support/projectCopy";

describe("the bills of materials", function () {
  this.timeout(60_000);
  const bundles = compiled();
  let made: Readonly<Record<string, Sbom>>;
  before(() => {
    made = sboms(bundles);
  });

  const of = (file: string) => {
    const sbom = made[file];
    assert.ok(sbom);
    return sbom;
  };
  const names = (file: string) => of(file).components.map((each) => each.name);
  const lock = JSON.parse(readFileSync(path.join(PROJECT, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly peer?: boolean }>>;
  };

  it("are of the package and of the engine, of this version", () => {
    assert.deepEqual(Object.keys(made), ["package.cdx.json", "engine.cdx.json"]);
    const subjects = Object.values(made).map(({ metadata }) => metadata.component);
    assertEach(subjects, (each) => [each.name, each.version], [
      [name, version],
      [`${name}/engine`, version],
    ]);
  });

  it("say of the engine what is compiled into it, and nothing that only its packages' manifests name", () => {
    const licences = licencesOf(bundles["engine.js"].inputs, PROJECT).match(/^\S+ [\d.]+ \(.+\)$/gm) ?? [];
    assert.ok(licences.length > 3);
    const listed = of("engine.cdx.json").components.map((each) => `${each.name} ${each.version}`);
    assert.deepEqual(listed.sort(), licences.map((line) => line.replace(/ \(.*/, "")).sort());
    const sha256 = createHash("sha256").update(bundles["engine.js"].code).digest("hex");
    assert.deepEqual(of("engine.cdx.json").metadata.component.hashes, [{ alg: "SHA-256", content: sha256 }]);
    // prom-client asks for it. The engine is bundled without it.
    assert.ok(names("package.cdx.json").includes("tdigest"));
    assert.ok(!listed.some((each) => each.startsWith("tdigest")));
  });

  it("say of the package what npm installs with it, and what is compiled into its files", () => {
    const installed = Object.entries(lock.packages).filter(
      ([place, { dev, peer }]) => place !== "" && !dev && !peer,
    );
    const needed = installed.map(([place]) => place.replace(/^.*node_modules\//, ""));
    for (const each of Object.keys(dependencies)) assert.ok(needed.includes(each), each);
    const compiledIn = of("package.cdx.json").components.filter(({ properties }) => properties.length > 0);
    const into = Object.fromEntries(compiledIn.map((each) => [each.name, each.properties]));
    assert.deepEqual(into["@pulumi/kubernetesx"], [{ name: "argosy:compiled-into", value: "dist/index.js" }]);
    assert.deepEqual(into["prom-client"], [{ name: "argosy:compiled-into", value: "dist/engine.js" }]);
    const all = new Set([...needed, ...Object.keys(into)]);
    assert.deepEqual([...new Set(names("package.cdx.json"))].sort(), [...all].sort());
  });

  it("give each part its address, hash and licence, and lead from the subject to every part", () => {
    for (const { metadata, components, dependencies: edges } of Object.values(made)) {
      for (const each of components) {
        assert.match(each.purl, /^pkg:npm\/.+@[\d.]+/, each.name);
        assert.equal(each.hashes?.[0]?.alg, "SHA-512", each.name);
        assert.ok(each.licenses?.length, each.name);
      }
      const reached = new Set([metadata.component["bom-ref"]]);
      for (const ref of reached)
        for (const next of edges.find((edge) => edge.ref === ref)?.dependsOn ?? []) reached.add(next);
      const refs = [metadata.component["bom-ref"], ...components.map((each) => each["bom-ref"])];
      assert.deepEqual([...reached].sort(), refs.sort());
    }
  });

  it("fail for a package that no lockfile has, since it would be missing", () => {
    const inputs = ["node_modules/esbuild/node_modules/left-pad/index.js"];
    assert.throws(
      () => sboms({ "cli.js": { code: "", inputs } }),
      /has no node_modules\/esbuild\/node_modules\/left-pad,/,
    );
  });
});
