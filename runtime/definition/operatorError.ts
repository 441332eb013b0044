import { existsSync } from "node:fs";
import path from "node:path";

/** Something in an operator's files that its author has to put right. One line per problem. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";

  /** @param problems - one sentence each: the file, the field, the remedy. */
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/** Notes one problem: `report("children[1].kind", "is missing", "Name the kind as the manifest does.")`. */
export type Report = (field: string, complaint: string, remedy: string) => void;

/** Collects what is wrong, over all files of an operator, so that its author sees everything at once. */
export class Problems {
  private readonly lines: string[] = [];

  /** A {@link Report} for problems of one file. */
  in(file: string): Report {
    const shown = displayPath(file);
    return (field, complaint, remedy) => this.lines.push(`${shown}: ${field} ${complaint}. ${remedy}`);
  }

  /** Whether anything has been reported. */
  get found(): boolean {
    return this.lines.length > 0;
  }

  /** Everything that has been reported so far, as the error to throw. */
  toError(): OperatorError {
    return new OperatorError(this.lines);
  }
}

/** The path as the user would type it: relative to the current directory. */
export function displayPath(file: string): string {
  return path.relative(process.cwd(), file) || ".";
}

/** The file that defines the operator of a folder: operator.ts, or operator.js where only that is there. */
export function definitionFile(folder: string): string {
  const script = path.join(folder, "operator.js");
  const typed = path.join(folder, "operator.ts");
  return existsSync(script) && !existsSync(typed) ? script : typed;
}
