import { anchorOf } from "../../../tools/site/links";

/** A link in a page of Markdown. */
export interface Link {
  /** As it is written: "tasks/schedules.md". */
  readonly target: string;
  readonly line: number;
}

/** A page without what is shown as it is written: blocks of code become empty lines, code in a line becomes nothing. */
export function prose(page: string): string {
  return page
    .replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, (block) => block.replace(/[^\n]/g, ""))
    .replace(/^(?: {4,}(?![-*\d])[^\n]*\n)+/gm, (block) => block.replace(/[^\n]/g, ""))
    .replace(/`[^`\n]*`/g, "");
}

/** Every link and picture of a page, without those in code. */
export function linksOf(page: string): Link[] {
  return prose(page)
    .split("\n")
    .flatMap((text, index) =>
      [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ target, line: index + 1 })),
    );
}

/** The anchors of a page's headings. The second of two equal ones ends in "-1". */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Map<string, number>();
  const withoutBlocks = page.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, "");
  return new Set(
    [...withoutBlocks.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = ""]) => {
      const anchor = anchorOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
      const count = anchors.get(anchor) ?? 0;
      anchors.set(anchor, count + 1);
      return count === 0 ? anchor : `${anchor}-${count}`;
    }),
  );
}

/** What a Markdown text has in fenced blocks, in indented blocks and between backticks. */
export function codeIn(text: string): string {
  return (text.match(/^```.*?^```$|^ {4}[^\n]*$|`[^`\n]+`/gms) ?? []).join("\n");
}
