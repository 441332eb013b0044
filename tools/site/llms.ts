// For programs that read the site: llms.txt (https://llmstxt.org), and each page as Markdown.
import path from "node:path/posix";
import { addressOf, plainFileOf } from "./links.js";

/** A part of the navigation, as navigation.json has it. */
interface Section {
  readonly title: string;
  readonly pages: readonly { readonly file: string; readonly title: string; readonly summary: string }[];
}

const BEGINNING = `# Argosy

> Kubernetes operators from a CRD, a definition and a handler in any language, deployed by a Pulumi program in TypeScript.

A handler is a function: it gets a custom resource and its children, and returns the children that should exist. \`npx argosy test\`
tests it without a cluster, and \`npx argosy errors CODE\` explains an error. A new program has an AGENTS.md.`;

/**
 * llms.txt: one line for each page of the site, with its summary, in the order of the navigation.
 *
 * @param examples the pages of examples, relative to the repository, with their titles
 * @param base where the site is on its server: "/", or "/argosy/"
 */
export function llmsText(
  navigation: readonly Section[],
  examples: readonly { readonly file: string; readonly title: string }[],
  base: string,
): string {
  const entry = (file: string, title: string) => `- [${title}](${base}${plainFileOf(file)})`;
  const parts = [
    {
      title: "Overview",
      lines: [`${entry("README.md", "README")}: what it is, what it costs, and its limits`],
    },
    ...navigation.map(({ title, pages }) => ({
      title,
      lines: pages.map((page) => `${entry(`docs/${page.file}`, page.title)}: ${page.summary}`),
    })),
    { title: "Examples", lines: examples.map(({ file, title }) => entry(file, title)) },
  ];
  return `${[BEGINNING, ...parts.map(({ title, lines }) => `## ${title}\n\n${lines.join("\n")}`)].join("\n\n")}\n`;
}

/**
 * A page as Markdown, with links that lead to the other pages as Markdown. Code stays as it is.
 *
 * @param file relative to the repository
 */
export function plainPage(file: string, text: string, base: string): string {
  const plain = (link: string) => {
    const [target = "", anchor] = link.split("#");
    const place = path.join(path.dirname(file), target).replace(/\/$/, "");
    const page = /^([a-z]+:|$)/.test(target) ? undefined : plainFileOf(place);
    if (page === undefined) return addressOf(file, link);
    return base + page + (anchor === undefined ? "" : `#${anchor}`);
  };
  return text
    .split(/(^```.*?^```$)/ms)
    .map((part, at) =>
      at % 2 === 1 ? part : part.replace(/\]\(([^)\s]+)\)/g, (_, link) => `](${plain(link)})`),
    )
    .join("");
}
