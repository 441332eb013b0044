import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { ConfiguredOperatorsArgs } from "../../components/arguments/configuration";
import { configuredOperators } from "../../components/configuredOperators";
import { run } from "./support/program";
import { sampleProgram } from "./support/sampleOperators";

const ROOT = path.resolve(__dirname, "../..");

describe("configuredOperators", () => {
  const sample = sampleProgram([{ name: "gear" }]);

  /** A program with these values of its project's configuration. */
  const configured = (values: Record<string, string>, args: Partial<ConfiguredOperatorsArgs> = {}) =>
    run(() => configuredOperators("shop", { handlers: sample.definitions, ...args }).then(outputsOf), {
      values: Object.fromEntries(Object.entries(values).map(([key, value]) => [`argosy:${key}`, value])),
    });
  const outputsOf = ({
    platform,
    crdNames,
    operators,
    argoPlatform,
  }: Awaited<ReturnType<typeof configuredOperators>>) => ({
    namespace: platform.namespace,
    crdNames,
    has: [operators !== undefined, argoPlatform !== undefined],
  });

  it("is the program of this repository, and the one that argosy init makes", () => {
    const [own, template] = ["index.ts", "templates/typescript/index.ts"].map((file) =>
      readFileSync(path.join(ROOT, file), "utf8"),
    );
    assert.equal(own, template);
    assert.match(own ?? "", /await configuredOperators\("argosy", \{ handlers: "\.\/handlers" \}\)/);
  });

  it("creates operators and platform as the configuration says", async () => {
    const { manifests, outputs } = await configured({ namespace: "shops", runnerReplicas: "2" });
    assert.deepEqual(outputs, {
      namespace: "shops",
      crdNames: ["gears.shop.example.com"],
      has: [true, true],
    });
    const runner = manifests.find(({ metadata }) => metadata.name === "gear-runner" && metadata.namespace);
    assert.equal(runner?.metadata.namespace, "shops");
    const deployment = manifests.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "gear-runner",
    );
    assert.equal((deployment?.spec as { replicas?: number } | undefined)?.replicas, 2);
  });

  it("creates the platform alone, with what the program gives for everything", async () => {
    const args = { images: { argoServer: ":v9" } };
    const { registrations, manifests, outputs } = await configured({ parts: "platform" }, args);
    assert.deepEqual(outputs, { namespace: "argosy", crdNames: [], has: [false, true] });
    assert.ok(!registrations.some(({ type }) => type === "argosy:index:Operators"));
    assert.match(JSON.stringify(manifests), /argocli:v9/);
  });
});
