import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(__dirname, "../../..");

/** A fenced code block of a Markdown file. */
export interface CodeBlock {
  /** "docs/handlers.md:12" */
  readonly place: string;
  readonly language: string;
  /** The word after the language, which says what the block is an example of. "" for none. */
  readonly role: string;
  readonly code: string;
}

/** The code blocks of a Markdown file, in their order. Its path is relative to the project. */
export function codeBlocksOf(document: string): CodeBlock[] {
  const text = readFileSync(path.join(ROOT, document), "utf8");
  return [...text.matchAll(/^```(\w+)[ ]?(\w*)\n(.*?)^```$/gms)].map((match) => ({
    place: `${document}:${text.slice(0, match.index).split("\n").length}`,
    language: match[1] ?? "",
    role: match[2] ?? "",
    code: match[3] ?? "",
  }));
}
