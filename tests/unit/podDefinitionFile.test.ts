import assert from "node:assert/strict";
import {
  DEFINITION_FILE,
  definitionFileContent,
  readDefinitionFile,
} from "../../runtime/programs/definitionFile";
import { addFiles, loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";

describe("the definition in a pod", () => {
  let folder: string;
  beforeEach(() => {
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
  });

  const operator = (more: object = {}) =>
    loadDefinition(folder, { ...widgetDefinition, name: "shop", ...more });

  function write(content: string): void {
    addFiles(folder, { [DEFINITION_FILE]: content });
  }

  it("is the operator, but for what only its author's machine has", () => {
    const given = operator({ finalize: true, namespaces: ["a", "b"], env: { REGION: "north" } });
    write(definitionFileContent(given));
    assert.deepEqual(readDefinitionFile(folder), {
      ...given,
      folder: "/argosy/handler",
      crd: {},
      overridden: [],
    });
  });

  it("says nothing to the pods of runs that only the resync needs: they are no other program if it changes", () => {
    const given = operator({ execution: "pod", concurrency: 3, resyncSeconds: 120 });
    const content = definitionFileContent(given);
    const other = operator({ execution: "pod", concurrency: 4, resyncSeconds: 180 });
    assert.equal(definitionFileContent(other), content);
    write(content);
    const read = readDefinitionFile(folder);
    assert.deepEqual(
      { ...read, concurrency: 3, resyncSeconds: 120 },
      { ...given, folder: "/argosy/handler", crd: {}, overridden: [] },
    );
    assert.deepEqual([read.concurrency, read.resyncSeconds], [1, Number.POSITIVE_INFINITY]);
  });

  it("does not depend on the folder, or on what the CRD says to people", () => {
    const here = definitionFileContent(operator());
    const described = {
      ...operator(),
      folder: "/elsewhere",
      crd: { description: "better words" },
      overridden: ["env.A"],
      replicas: 3,
    };
    assert.equal(definitionFileContent(described), here);
    assert.ok(!here.includes(folder));
  });

  for (const [what, content] of [
    ["no JSON", "{"],
    ["a list", "[]"],
    ["nothing", "null"],
  ] as const) {
    it(`is refused by its file where it is ${what}`, () => {
      write(content);
      assert.throws(() => readDefinitionFile(folder), {
        message: /operator\.json: /,
      });
    });
  }

  it("is refused by its file's name where the file does not exist", () => {
    assert.throws(() => readDefinitionFile(folder), {
      message: /operator\.json: ENOENT/,
    });
  });
});
