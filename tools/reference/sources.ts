import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { PACKAGE_FOLDER } from "../packageFolder";

/** The TSDoc of something exported. */
export interface Doc {
  /** Paragraphs are kept. */
  readonly text: string;
  /** The text of `@default`, if there is one. */
  readonly default?: string;
  /** The texts of `@example`. Each begins with its title, if it has one. */
  readonly examples: readonly string[];
}

/** A field of an interface, or an output of a component. */
export interface Member {
  readonly name: string;
  /** The type as in the source, without words that only the compiler needs. */
  readonly type: string;
  readonly isOptional: boolean;
  readonly doc: Doc;
}

/** An interface or a class. */
export interface Described {
  readonly name: string;
  readonly doc: Doc;
  /** The members of the interfaces that it extends come last. */
  readonly members: readonly Member[];
}

/** The interfaces and classes of some source files, by name. The files are only parsed, and no types are resolved. */
export class Sources {
  private readonly declarations = new Map<string, ts.InterfaceDeclaration | ts.ClassDeclaration>();
  /** Lists of texts that are constants: `"a" | "b"` by their names. */
  private readonly lists = new Map<string, string>();

  /** @param files relative to the repository */
  constructor(files: readonly string[]) {
    for (const file of files) {
      const text = readFileSync(path.join(PACKAGE_FOLDER, file), "utf8");
      const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
      for (const statement of source.statements) {
        const isOne = ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement);
        if (isOne && statement.name) this.declarations.set(statement.name.text, statement);
      }
      for (const [, name = "", list = ""] of text.matchAll(
        /^export const (\w+) = \[([^\]]*)\] as const;$/gm,
      )) {
        const values = list.match(/"[^"]*"/g) ?? [];
        if (values.length > 0) this.lists.set(name, values.join(" | "));
      }
    }
  }

  has(name: string): boolean {
    return this.declarations.has(name);
  }

  /** @throws Error if no file declares it */
  describe(name: string): Described {
    const declaration = this.declarations.get(name);
    if (!declaration) throw new Error(`No source file declares ${name}.`);
    return { name, doc: docOf(declaration), members: this.membersOf(declaration) };
  }

  private membersOf(declaration: ts.InterfaceDeclaration | ts.ClassDeclaration): Member[] {
    const own = [...declaration.members].flatMap((member) => {
      const isField = ts.isPropertySignature(member) || ts.isPropertyDeclaration(member);
      if (!isField || !member.type || isHidden(member)) return [];
      return [
        {
          name: member.name.getText(),
          type: plainType(member.type.getText()).replace(
            /\(typeof (\w+)\)\[number\]/g,
            (_, list: string) => this.lists.get(list) ?? "string",
          ),
          isOptional: member.questionToken !== undefined,
          doc: docOf(member),
        },
      ];
    });
    const names = new Set(own.map(({ name }) => name));
    return [...own, ...this.inherited(declaration).filter(({ name }) => !names.has(name))];
  }

  /** Of `extends A`, `extends Pick<A, "a" | "b">` and `extends Omit<A, "a">`. */
  private inherited(declaration: ts.InterfaceDeclaration | ts.ClassDeclaration): Member[] {
    const types = (declaration.heritageClauses ?? []).flatMap((clause) => [...clause.types]);
    return types.flatMap((type) => {
      const [, picks = "", base = "", list = ""] =
        /^(?:(Pick|Omit)<)?(\w+)(?:,\s*([^>]*)>)?$/.exec(type.getText().replace(/\s+/g, " ")) ?? [];
      const of = this.declarations.get(base);
      if (!of) return [];
      const named = [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name);
      return this.membersOf(of).filter(({ name }) =>
        picks === "" ? true : named.includes(name) === (picks === "Pick"),
      );
    });
  }
}

/** The TSDoc of something. */
function docOf(node: ts.Node): Doc {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const tags = comment?.tags ?? [];
  const textOf = (each: { comment?: string | ts.NodeArray<ts.JSDocComment> }) =>
    (ts.getTextOfJSDocComment(each.comment) ?? "").replace(/\{@link (\w+)\}/g, "`$1`").trim();
  const byDefault = tags.find(({ tagName }) => tagName.text === "default");
  return {
    text: comment ? textOf(comment) : "",
    ...(byDefault && { default: textOf(byDefault) }),
    examples: tags.filter(({ tagName }) => tagName.text === "example").map(textOf),
  };
}

function isHidden(member: ts.ClassElement | ts.TypeElement): boolean {
  const flags = ts.ModifierFlags.Private | ts.ModifierFlags.Protected | ts.ModifierFlags.Static;
  return ts.isClassElement(member) && (ts.getCombinedModifierFlags(member) & flags) !== 0;
}

/** `Readonly<X>` as X, at any depth. */
function withoutReadonly(type: string): string {
  const start = type.indexOf("Readonly<");
  if (start < 0) return type;
  const inner = start + "Readonly<".length;
  let depth = 1;
  let end = inner;
  for (; depth > 0 && end < type.length; end += 1) {
    // The arrow of a function is no bracket.
    if (type[end] === "<") depth += 1;
    else if (type[end] === ">" && type[end - 1] !== "=") depth -= 1;
  }
  return withoutReadonly(type.slice(0, start) + type.slice(inner, end - 1) + type.slice(end));
}

/** Without `readonly`, and without Pulumi's namespace. */
function plainType(type: string): string {
  return withoutReadonly(type)
    .replace(/\s+/g, " ")
    .replace(/\breadonly /g, "")
    .replace(/\bpulumi\./g, "");
}
