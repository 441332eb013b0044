import assert from "node:assert/strict";
import path from "node:path";
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

  it("of a resident operator is refused without what that one cannot do without", () => {
    const { concurrency: _, ...rest } = JSON.parse(definitionFileContent(operator())) as Record<
      string,
      unknown
    >;
    write(JSON.stringify(rest));
    assert.throws(() => readDefinitionFile(folder), /concurrency is not a number/);
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

  it("is refused, by its file and field, where it is not one", () => {
    const { name: _, ...nameless } = JSON.parse(definitionFileContent(operator())) as Record<string, unknown>;
    write(JSON.stringify({ ...nameless, children: {} }));
    const message = `${path.join(folder, DEFINITION_FILE)}: name is not a string, and children is not a list. Deploy the operator again: the file is generated from its definition.`;
    assert.throws(() => readDefinitionFile(folder), { name: "DefinitionFileError", message });
  });

  for (const [what, content] of [
    ["no JSON", "{"],
    ["a list", "[]"],
    ["nothing", "null"],
  ] as const) {
    it(`is refused by its file where it is ${what}`, () => {
      write(content);
      assert.throws(() => readDefinitionFile(folder), {
        name: "DefinitionFileError",
        message: /operator\.json: /,
      });
    });
  }

  it("is refused by its file's name where the file does not exist", () => {
    assert.throws(() => readDefinitionFile(folder), {
      name: "DefinitionFileError",
      message: /operator\.json: ENOENT/,
    });
  });
});
