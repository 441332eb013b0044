import assert from "node:assert/strict";
import { buildRunner } from "../../components/manifests/operator/runner";
import { lookInCluster } from "../../preflight/lookInCluster";
import type { Manifest } from "../../runtime/base/objects";
import { operatorOptions, withFiles } from "../unit/operatorManifests";
import { samplePlatform } from "../unit/support/platform";
import { askForCluster } from "./support/sharedCluster";
import { useNamespace } from "./support/useNamespace";

/** Where a handler's files come from, as a real API server takes it. */
describe("a handler's files, for the API server", function () {
  this.timeout(60_000);
  const bench = useNamespace("files");
  const options = () =>
    operatorOptions({
      platform: samplePlatform({
        namespace: bench.namespace,
        instanceId: "argosy",
        jetStreamVersion: "2.10.29",
      }),
    });

  it("are ConfigMaps of exactly a mebibyte, with names of many kinds, and one volume of all of them", async () => {
    const large = {
      "a.txt": "a".repeat(1024 * 1024),
      "vendor/pkg-1.0.dist-info/RECORD": "",
      "vendor/data.bin": "\u0000binary",
      "main.py": "",
    };
    const { operator, files } = withFiles({}, large, options());
    assert.equal(files.handler.length, 2);
    for (const { manifest } of files.handler) await bench.api.create(manifest as unknown as Manifest);
    const { binaryData } = (await bench.api.get(files.handler[1]?.manifest as Manifest)) as {
      binaryData?: Record<string, string>;
    };
    assert.deepEqual(binaryData, { "vendor..data.bin": Buffer.from("\u0000binary").toString("base64") });
    const made = await bench.api.create(buildRunner(operator, options(), files) as unknown as Manifest);
    const { volumes } = (made as unknown as { spec: { template: { spec: { volumes: { name: string }[] } } } })
      .spec.template.spec;
    assert.ok(volumes.some((volume) => volume.name === "handler" && "projected" in volume));
  });

  it("are an image only if the API server keeps such volumes, which the preflight finds out", async () => {
    const fromImage = { name: "other", files: { image: "example.com/files:1" } };
    const { operator, files } = withFiles(fromImage, {}, options());
    const made = await bench.api.create(buildRunner(operator, options(), files) as unknown as Manifest);
    const isKept = JSON.stringify(made).includes("example.com/files:1");
    const kubeconfig = await askForCluster();
    assert.equal(await lookInCluster({ kubeconfig }, (look) => look.keepsImageVolumes()), isKept);
    const template = {
      apiVersion: "v1",
      kind: "PodTemplate",
      metadata: { name: "argosy-image-volumes", namespace: "default" },
    };
    assert.equal(await bench.api.find(template), undefined);
  });
});
