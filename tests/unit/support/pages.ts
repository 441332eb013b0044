import { execFileSync } from "node:child_process";
import { type CodeBlock, codeBlocksOf } from "./codeBlocks";
import { PROJECT } from "./projectCopy";

/** Every page of this repository, by its path from the project's folder. */
export const PAGES: readonly string[] = execFileSync(
  "git",
  ["ls-files", "-co", "--exclude-standard", "*.md"],
  { cwd: PROJECT, encoding: "utf8" },
)
  .trim()
  .split("\n")
  // The operators of the one who uses this repository have pages of their own.
  .filter((file) => !file.startsWith("handlers/"));

/** The code blocks of all pages. */
export const BLOCKS: readonly CodeBlock[] = PAGES.flatMap(codeBlocksOf);

/** The code blocks in any of these languages. */
export function blocksFor(...languages: string[]): CodeBlock[] {
  return BLOCKS.filter(({ language }) => languages.includes(language));
}
