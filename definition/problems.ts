import path from "node:path";
import { escaped } from "../runtime/base/json";

/** A mistake in an operator's files, or in a program's options for operators, which its author has to correct. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";

  /** @param problems one line for each: the place, the field, the complaint, the remedy */
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/**
 * Notes one problem: `report("children[1].kind", "is missing", "Name the kind as the manifest does.")`.
 * @param because further fields that the complaint depends on
 */
export type Report = (field: string, complaint: string, remedy: string, because?: readonly string[]) => void;

/** A place in a file. Both are counted from 1, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The place of a field in a file, or the place where it would be. Undefined if the place is not known. */
export type Locate = (field: string) => Position | undefined;

/** Collects the problems in all files of an operator, so that its author sees everything at once. */
export class Problems {
  private readonly lines: string[] = [];

  /** A {@link Report} for problems of one file: "handlers/memcached/operator.yaml:7:3: children is missing. ..." */
  in(file: string, locate: Locate = () => undefined): Report {
    return (field, complaint, remedy) => {
      const position = locate(field);
      const place = position ? `:${position.line}:${position.column}` : "";
      this.at(`${displayPath(file)}${place}`)(field, complaint, remedy);
    };
  }

  /** A {@link Report} for problems outside of files. */
  at(place: string): Report {
    return (field, complaint, remedy) => {
      const line = `${place}: ${nameOf(field)} ${complaint}. ${remedy}`;
      // Keys and names of files may be any text, and a problem has one line.
      this.lines.push(line.replace(/\p{Cc}/gu, escaped));
    };
  }

  /** Adds the problems of another error, unless they were reported already. */
  add(error: OperatorError): void {
    this.lines.push(...error.problems.filter((problem) => !this.lines.includes(problem)));
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

/** The longest name of a field in a problem. */
const LONGEST_FIELD = 200;

function nameOf(field: string): string {
  return field.length > LONGEST_FIELD ? `${field.slice(0, LONGEST_FIELD)}…` : field || "it";
}

/** The path as the user would type it: relative to the current directory. */
export function displayPath(file: string): string {
  return path.relative(process.cwd(), file) || ".";
}
