import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "../packageFolder";

/** A page of docs/, as tools/site/navigation.json has it. */
export interface Page {
  /** Relative to docs/. */
  readonly file: string;
  readonly title: string;
  /** A description of the page, in half a sentence. */
  readonly summary: string;
}

/** A part of the navigation. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** The navigation of the site, in its order. */
export function navigation(): readonly Section[] {
  return JSON.parse(readFileSync(path.join(PACKAGE_FOLDER, "tools/site/navigation.json"), "utf8"));
}

/** docs/README.md: the navigation, as GitHub shows it. */
export function contentsPage(): string {
  const sections = navigation().map(({ title, pages }) => {
    const lines = pages.map((page) => `- [${page.title}](${page.file}): ${page.summary}.\n`);
    return `## ${title}\n\n${lines.join("")}`;
  });
  const why = "[designs/](../designs/README.md) says why Argosy is as it is.\n";
  return `# Documentation\n\n${[...sections, why].join("\n")}`;
}
