import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const ROOT = path.join(__dirname, "../../..");

/** The TSDoc of a field of an interface. */
export interface FieldDoc {
  /** On one line. */
  readonly text: string;
  /** What `@default` says. Undefined if there is none. */
  readonly default: string | undefined;
}

/** One `@example` of TSDoc. */
export interface Example {
  /** "components/operators.ts:24" */
  readonly place: string;
  readonly code: string;
}

/** The TSDoc of each field of the interfaces of a file: "EventBusArgs.replicas". */
export function fieldDocsOf(file: string): ReadonlyMap<string, FieldDoc> {
  const docs = new Map<string, FieldDoc>();
  for (const statement of parse(file).statements) {
    if (!ts.isInterfaceDeclaration(statement)) continue;
    for (const member of statement.members) {
      const tags = ts.getJSDocTags(member);
      const [doc] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
      if (!member.name) continue;
      const byDefault = tags.find(({ tagName }) => tagName.text === "default");
      docs.set(`${statement.name.text}.${member.name.getText()}`, {
        text: onOneLine(doc?.comment),
        default: byDefault && onOneLine(byDefault.comment),
      });
    }
  }
  return docs;
}

/** Every `@example` in a file, without its fence and without the stars of the comment. */
export function examplesOf(file: string): Example[] {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return [...text.matchAll(/^ *\* ```ts\n(.*?)^ *\* ```$/gms)].map((match) => ({
    place: `${file}:${text.slice(0, match.index).split("\n").length}`,
    code: (match[1] ?? "").replace(/^ *\* ?/gm, ""),
  }));
}

function parse(file: string): ts.SourceFile {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
}

function onOneLine(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  return (ts.getTextOfJSDocComment(comment) ?? "").replace(/\s+/g, " ").trim();
}
