import assert from "node:assert/strict";
import path from "node:path";
import ts from "typescript";
import { blocksFor } from "./support/pages";
import { examplesOf } from "./support/tsdoc";

const root = path.join(__dirname, "..", "..");

/** TypeScript that somebody reads, and where. */
interface Sample {
  readonly place: string;
  readonly code: string;
}

describe("the documentation", () => {
  const exported = ["operators", "argoPlatform", "platform"].map((name) => `components/${name}.ts`);
  const blocks: readonly Sample[] = blocksFor("ts");
  const examples: readonly Sample[] = exported.flatMap(examplesOf);
  // Beside index.ts, so that their imports are the ones that their reader writes.
  const fileOf = new Map(
    [...blocks, ...examples].map((sample, index) => [sample, path.join(root, `documentation${index}.ts`)]),
  );
  let program: ts.Program;

  // One compiler for all: it takes long to begin.
  before(function () {
    this.timeout(300_000);
    program = programOf(new Map([...fileOf].map(([{ code }, file]) => [file, code])));
    for (const file of fileOf.values()) diagnose(program, file);
  });

  /** A test for each sample. */
  function checkTypes(samples: readonly Sample[]): void {
    for (const sample of samples) {
      it(sample.place, () => assert.deepEqual(diagnose(program, fileOf.get(sample) ?? ""), []));
    }
  }

  describe("in TypeScript type-checks", () => {
    checkTypes(blocks);
  });

  describe("has TSDoc examples that type-check", () => {
    it("at each component", () => {
      const files = new Set(examples.map(({ place }) => place.split(":")[0]));
      assert.deepEqual([...files], exported);
    });

    checkTypes(examples);
  });
});

/** A program of files that are not on the disk. */
function programOf(files: ReadonlyMap<string, string>): ts.Program {
  const config = ts.readConfigFile(path.join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  // A block without an import is a file of its own too.
  const host = ts.createCompilerHost({ ...options, moduleDetection: ts.ModuleDetectionKind.Force });
  // As tsc does: of comments it reads only what types depend on, and the SDKs have many.
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseForTypeErrors;
  const { readFile, fileExists } = host;
  host.readFile = (name) => files.get(name) ?? readFile(name);
  host.fileExists = (name) => files.has(name) || fileExists(name);
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => {
    const code = files.get(name);
    return code === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, code, ts.ScriptTarget.ES2022);
  };
  return ts.createProgram(
    [...files.keys()],
    { ...options, moduleDetection: ts.ModuleDetectionKind.Force },
    host,
  );
}

function diagnose(program: ts.Program, file: string): string[] {
  const source = program.getSourceFile(file);
  assert.ok(source, file);
  const found = ts.getPreEmitDiagnostics(program, source);
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}
