import assert from "node:assert/strict";
import { handlerSamples } from "./support/handlerSamples";
import { blocksFor } from "./support/pages";
import { examplesOf } from "./support/tsdoc";
import { TypeCheck } from "./support/typeCheck";

describe("types", function () {
  this.timeout(300_000);
  const exported = ["operators", "argoPlatform", "platform"].map((name) => `components/${name}.ts`);
  const examples = exported.flatMap(examplesOf);
  const handlers = handlerSamples();
  const samples = [...blocksFor("ts"), ...examples].map(({ place, code }, index) => ({
    title: place,
    file: `documentation${index}.ts`,
    code,
  }));
  const imported = "Answer, Children, FinalizeAnswer, Request";
  let check: TypeCheck;

  before(() => {
    check = new TypeCheck(
      new Map([
        ...samples.map(({ file, code }) => [file, code] as const),
        ...handlers.flatMap(({ name, types, code }) => [
          [`${name}-types.d.ts`, types] as const,
          [
            `${name}.ts`,
            `import type { ${imported} } from "./${name}-types";\nexport type All = [${imported}];\n${code}`,
          ] as const,
        ]),
      ]),
    );
  });

  it("are right in every file", () => {
    const found = check.ofRepository();
    assert.equal(found, "", found);
  });

  describe("are right in TypeScript of the documentation:", () => {
    for (const { title, file } of samples) it(title, () => assert.deepEqual(check.ofFile(file), []));

    it("each component has an example", () => {
      assert.deepEqual([...new Set(examples.map(({ place }) => place.split(":")[0]))], exported);
    });
  });

  describe("that argosy types writes take", () => {
    for (const { title, name } of handlers) it(title, () => assert.deepEqual(check.ofFile(`${name}.ts`), []));
  });
});
