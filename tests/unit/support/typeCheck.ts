import path from "node:path";
import ts from "typescript";
import { PROJECT } from "./projectCopy";

/** Compiles this repository, with further files. */
export class TypeCheck {
  private readonly found: readonly ts.Diagnostic[];

  /**
   * Compiles it as tsconfig.json says. What has not changed since the last time is not checked again.
   *
   * @param files the texts of files that are not on the disk, by their paths
   */
  constructor(private readonly files: ReadonlyMap<string, string>) {
    const config = ts.readConfigFile(path.join(PROJECT, "tsconfig.json"), ts.sys.readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent(config.config, ts.sys, PROJECT);
    const host = ts.createIncrementalCompilerHost(options);
    // As tsc does: of comments it reads only what types depend on, and the SDKs have many.
    host.jsDocParsingMode = ts.JSDocParsingMode.ParseForTypeErrors;
    const { readFile, fileExists } = host;
    host.readFile = (name) => files.get(name) ?? readFile(name);
    host.fileExists = (name) => files.has(name) || fileExists(name);
    const rootNames = [...fileNames, ...files.keys()];
    const program = ts.createIncrementalProgram({ rootNames, options, host });
    this.found = [
      ...program.getOptionsDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...program.getSyntacticDiagnostics(),
      ...program.getSemanticDiagnostics(),
    ];
    // Writes down what has been checked.
    program.emit();
  }

  /** What is wrong in the files on the disk, with its places. */
  ofRepository(): string {
    const found = this.found.filter(({ file }) => !this.files.has(file?.fileName ?? ""));
    return ts.formatDiagnostics(found, { ...ts.createCompilerHost({}), getCurrentDirectory: () => PROJECT });
  }

  /** What is wrong in one of the further files. */
  ofFile(name: string): string[] {
    const found = this.found.filter(({ file }) => file?.fileName === name);
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  }
}
