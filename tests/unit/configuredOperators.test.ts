import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { configuredOperators } from "../../components/configuredOperators";
import { run } from "./support/program";
import { sampleProgram } from "./support/sampleOperators";

const ROOT = path.resolve(__dirname, "../..");

describe("configuredOperators", () => {
  it("is the program of this repository, and the one that argosy init makes", () => {
    const [own, template] = ["index.ts", "templates/typescript/index.ts"].map((file) =>
      readFileSync(path.join(ROOT, file), "utf8"),
    );
    assert.equal(own, template);
    assert.match(own ?? "", /await configuredOperators\("argosy", \{ handlers: "\.\/handlers" \}\)/);
  });

  it("creates the platform alone, with what the program gives for everything", async () => {
    const { definitions } = sampleProgram([{ name: "gear" }]);
    const args = { handlers: definitions, images: { argoServer: ":v9" } };
    const program = async () => {
      const { platform, crdNames, operators, argoPlatform } = await configuredOperators("shop", args);
      return { crdNames, namespace: platform.namespace, has: [operators, argoPlatform].map(Boolean) };
    };
    const made = await run(program, { values: { "argosy:parts": "platform" } });
    assert.deepEqual(made.outputs, { namespace: "argosy", crdNames: [], has: [false, true] });
    assert.ok(!made.registrations.some(({ type }) => type === "argosy:index:Operators"));
    assert.match(JSON.stringify(made.manifests), /argocli:v9/);
  });
});
