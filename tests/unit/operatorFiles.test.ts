import assert from "node:assert/strict";
import { buildEngineFiles, buildFiles } from "../../components/manifests/operator/configMaps";
import { buildHandlerContainer } from "../../components/manifests/operator/containers";
import { buildOperator } from "../../components/manifests/operator/operator";
import { buildVolumes } from "../../components/manifests/operator/volumes";
import { operatorOptions, PLACEMENT, withFiles } from "./operatorManifests";
import { assertEach } from "./support/lists";
import { sampleProgram } from "./support/sampleOperators";

describe("a handler's files", () => {
  const large = { "a.txt": "a".repeat(700_000), "b/c.txt": "c".repeat(700_000), "main.py": "" };

  for (const execution of ["resident", "pod"] as const) {
    it(`of more than a mebibyte are one volume of several ConfigMaps, in the form ${execution}`, () => {
      const { operator, files } = withFiles({ execution }, large);
      assertEach(files.handler, ({ items }) => items.map((item) => item.path), [
        ["a.txt"],
        ["b/c.txt", "main.py"],
      ]);
      const { parts: set } = buildOperator(operator, operatorOptions(), files);
      const names = files.handler.map(({ manifest }) => manifest.metadata.name);
      assert.deepStrictEqual(
        [set["handler-files"]?.metadata.name, set["handler-files-2"]?.metadata.name],
        names,
      );
      const volumes = buildVolumes(operator, operatorOptions(), files, execution, true);
      assert.deepStrictEqual(
        volumes.find(({ name }) => name === "handler"),
        {
          name: "handler",
          projected: {
            defaultMode: 0o555,
            sources: [
              { configMap: { name: names[0], items: [{ key: "a.txt", path: "a.txt" }] } },
              {
                configMap: {
                  name: names[1],
                  items: [
                    { key: "b..c.txt", path: "b/c.txt" },
                    { key: "main.py", path: "main.py" },
                  ],
                },
              },
            ],
          },
        },
      );
    });

    it(`are an empty folder if the program is in its image, in the form ${execution}`, () => {
      const { operator, files } = withFiles({ execution }, {});
      assert.equal(buildOperator(operator, operatorOptions(), files).parts["handler-files"], undefined);
      const volumes = buildVolumes(operator, operatorOptions(), files, execution, true);
      assert.deepStrictEqual(
        volumes.find(({ name }) => name === "handler"),
        { name: "handler", projected: { defaultMode: 0o555, sources: [] } },
      );
    });

    it(`may come from an image, by the registry of all pods, in the form ${execution}`, () => {
      const image = "ghcr.io/acme/shop-files:1.0.0";
      const options = operatorOptions({ placement: PLACEMENT });
      const { operator, files } = withFiles({ execution, files: { image } }, large, options);
      assert.deepStrictEqual(files.handler, []);
      assert.equal(buildOperator(operator, options, files).parts["handler-files"], undefined);
      const volumes = buildVolumes(operator, options, files, execution, true);
      const reference = "mirror.example.com/hub/acme/shop-files:1.0.0";
      assert.deepStrictEqual(
        volumes.find(({ name }) => name === "handler"),
        { name: "handler", image: { reference, pullPolicy: "IfNotPresent" } },
      );
    });
  }

  it("work in the operator's folder, next to the folders that it includes", () => {
    const program = sampleProgram([
      {
        name: "gear",
        include: ["../shared"],
        files: { "../shared/lib/util.py": "x = 1\n", "../shared/crd.tmpl": "" },
      },
    ]);
    const [gear] = program.definitions;
    assert.ok(gear);
    const files = buildFiles(gear, operatorOptions(), buildEngineFiles("argosy", "argosy", {}));
    assertEach(files.handler[0]?.items, (item) => item.path, [
      "gear/main.py",
      "shared/crd.tmpl",
      "shared/lib/util.py",
    ]);
    const { workingDir } = buildHandlerContainer(gear, operatorOptions(), "resident");
    assert.equal(workingDir, "/argosy/handler/gear");
    assert.doesNotMatch(JSON.stringify(files.definition.data), /shared/);
  });
});

describe("a new version of Argosy", () => {
  for (const execution of ["resident", "pod"] as const) {
    it(`is told by a label of the definition alone, and rolls nothing out by itself, in the form ${execution}`, () => {
      const builtBy = (argosyVersion: string) => {
        const options = operatorOptions({ argosyVersion });
        const { operator, files } = withFiles({ execution }, { "main.py": "" }, options);
        const { parts, ...others } = buildOperator(operator, options, files);
        const { definition, ...rest } = parts;
        assert.equal(definition?.metadata.labels?.["app.kubernetes.io/version"], argosyVersion);
        return { ...others, ...rest, content: { ...definition, metadata: definition?.metadata.name } };
      };
      assert.deepEqual(builtBy("1.2.3"), builtBy("2.0.0"));
    });
  }
});
