import assert from "node:assert/strict";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { type Args, createOperators } from "../../plugin/src/operators";
import { samplePlatform } from "./support/platform";
import { run } from "./support/program";

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
