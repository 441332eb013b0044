import assert from "node:assert/strict";
import { isRecord } from "../../runtime/base/json";
import { samplePlatform } from "./support/platform";
import { run, runStack } from "./support/program";
import { operatorsProgram, sampleProgram, webhookFor } from "./support/sampleOperators";

/** How Pulumi marks what is not known yet (sdk/nodejs/runtime/rpc.ts, unknownValue), and what is secret. */
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const SECRET = "4dabf18193072939515e22adb298388d";

describe("a preview of the program", () => {
  for (const stack of ["dev", "prod"]) {
    it(`shows the whole of ${stack} before anything of it exists: nothing in it is unknown`, async () => {
      const preview = await runStack(stack, { preview: true });
      const made = await runStack(stack);
      const shown = (each: typeof preview) =>
        each.registrations.map(({ name, inputs }) => ({ name, inputs })).sort(byName);
      assert.ok(preview.registrations.length > 50);
      assert.deepEqual(shown(preview), shown(made));
      const text = JSON.stringify(preview.registrations);
      assert.ok(!text.includes(UNKNOWN) && !text.includes("__pulumiUnknown"));
    });

    it(`of ${stack} holds no secret`, async () => {
      const { registrations } = await runStack(stack);
      assert.deepEqual(
        registrations.filter(({ inputs }) => inputs.kind === "Secret"),
        [],
      );
      assert.ok(!JSON.stringify(registrations).includes(SECRET));
    });
  }

  it("of an operator with events from outside makes one Secret, whose content Pulumi encrypts", async () => {
    const sample = sampleProgram([{ name: "called", on: webhookFor("Called") }]);
    const { registrations } = await run(operatorsProgram(sample, { outsideEvents: { storage: "1Gi" } }));
    const secrets = registrations.filter(({ inputs }) => inputs.kind === "Secret");
    assert.deepEqual(
      secrets.map(({ inputs, secretOutputs }) => ({ data: inputs.data, secretOutputs })),
      [{ data: undefined, secretOutputs: ["data", "stringData"] }],
    );
    assert.ok(!JSON.stringify(registrations).includes(SECRET));
  });

  it("keeps nothing in the components' own inputs: Pulumi would store it a second time", async () => {
    const { registrations } = await runStack("dev");
    const components = registrations.filter(({ type }) => type.startsWith("argosy:"));
    assert.equal(components.length, 4);
    assert.deepEqual(
      components.flatMap(({ inputs }) => Object.keys(inputs)),
      [],
    );
  });

  it("tells what the stack gives to others", async () => {
    const { outputs } = await runStack("dev");
    assert.ok(isRecord(outputs));
    assert.deepEqual(outputs, {
      platform: samplePlatform(),
      crdNames: ["memcacheds.cache.example.com"],
    });
  });
});

describe("a program in two stacks", () => {
  it("has the platform in one, and in the other what stands on it", async () => {
    const whole = await runStack("dev");
    const platform = await runStack("dev", { settings: { parts: "platform" } });
    const operators = await runStack("dev", {
      settings: { parts: "operators", platformStack: "org/argosy/platform" },
      stackOutputs: () => platform.outputs as Record<string, unknown>,
    });
    const identities = (each: typeof whole) =>
      each.manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    assert.deepEqual([...identities(platform), ...identities(operators)].sort(), identities(whole).sort());
  });

  it("says so where the platform's stack has not been deployed", async () => {
    const settings = { parts: "operators", platformStack: "org/argosy/platform" };
    await assert.rejects(
      runStack("dev", { settings, stackOutputs: () => ({}) }),
      /org\/argosy\/platform has no output "platform".*Deploy that stack first/,
    );
  });
});

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}
