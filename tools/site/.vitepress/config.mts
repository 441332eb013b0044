import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig, type HeadConfig } from "vitepress";
import { addressOf, anchorOf, pageOf, plainFileOf } from "../links";
import { llmsText, plainPage } from "../llms";
import { HERO, sourceOf } from "./home";

interface Page {
  readonly file: string;
  readonly title: string;
  readonly summary: string;
}

interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** The sections with pages of tasks. On a narrow screen there is no room for a heading of each. */
const TASKS = ["Begin", "Write", "Deploy", "Operate", "Move here"];

const inSite = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));
const navigation = JSON.parse(readFileSync(inSite("navigation.json"), "utf8")) as readonly Section[];
const pages = navigation.flatMap((section) => section.pages);
const repository = inSite("../..");
const inRepository = (file: string) => path.join(repository, file);
const examples = readdirSync(inRepository("examples"))
  .map((folder) => `examples/${folder}/README.md`)
  .filter((file) => existsSync(inRepository(file)));
const files = [
  "README.md",
  "docs/README.md",
  ...pages.map(({ file }) => `docs/${file}`),
  "examples/README.md",
  ...examples,
];
const titleOf = (file: string) => /^# (.*)$/m.exec(readFileSync(inRepository(file), "utf8"))?.[1] ?? file;
/** The file that a page is made of. VitePress gives it by different names to the pages and to the search. */
const fileOf = (env: { readonly path: string; readonly realPath?: string }) =>
  path.relative(repository, env.realPath ?? env.path);
const entryOf = (file: string, text = titleOf(file)) => ({ text, link: pageOf(file) ?? "/" });
const menu = [
  ...navigation.map(({ title, pages: own }) => ({
    text: title,
    items: own.map((page) => entryOf(`docs/${page.file}`, page.title)),
  })),
  {
    text: "Examples",
    items: [entryOf("examples/README.md", "All examples"), ...examples.map((file) => entryOf(file))],
  },
];
const headings = menu.map(({ text, items }) => ({ text, link: items[0]?.link ?? "/" }));
const isTask = ({ text }: { readonly text: string }) => TASKS.includes(text);
const base = process.env.ARGOSY_SITE_BASE ?? "/";
const icon: HeadConfig = ["link", { rel: "icon", type: "image/svg+xml", href: `${base}argosy.svg` }];

const GITHUB =
  '<svg viewBox="0 0 16 16"><path d="M8 0a8 8 0 0 0-2.53 15.59c.4.07.55-.17.55-.38v-1.33c-2.22.48-2.69-1.07-2.69-1.07-.36-.92-.89-1.17-.89-1.17-.73-.5.05-.49.05-.49.8.06 1.23.83 1.23.83.71 1.22 1.87.87 2.33.66.07-.52.28-.87.5-1.07-1.77-.2-3.64-.89-3.64-3.95 0-.87.31-1.59.82-2.15-.08-.2-.36-1.02.08-2.12 0 0 .67-.21 2.2.82a7.6 7.6 0 0 1 4 0c1.53-1.04 2.2-.82 2.2-.82.44 1.1.16 1.92.08 2.12.51.56.82 1.27.82 2.15 0 3.07-1.87 3.75-3.65 3.95.29.25.54.73.54 1.48v2.19c0 .21.15.46.55.38A8 8 0 0 0 8 0Z"/></svg>';

/** Pages become modules that import vue. It is installed here, and not where the pages are. */
const packagesOfSite: Plugin = {
  name: "packages-of-site",
  enforce: "pre",
  resolveId(id, importer) {
    if (!/^vue(\/|$)/.test(id) || importer === inSite("package.json")) return;
    return this.resolve(id, inSite("package.json"), { skipSelf: true });
  },
};

/** The site is made of Markdown that GitHub shows as well: README.md, docs/ and the examples. */
export default defineConfig({
  title: "Argosy",
  description:
    "Kubernetes operators from three small files: a CRD, a definition and a handler in any language.",
  base,
  srcDir: "../..",
  srcExclude: ["!(docs|examples)/**/*", "!(README).md"],
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  rewrites: Object.fromEntries(files.map((file) => [file, plainFileOf(file) ?? file])),
  head: [icon],
  // The UI that a reader opens on their own machine.
  ignoreDeadLinks: [/^https:\/\/localhost/],
  vite: { publicDir: inSite("public"), plugins: [packagesOfSite] },
  markdown: {
    // What looks like a tag in a page is text.
    html: false,
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      // Pages become templates of Vue, where these braces have a meaning. In a page of ours they have none.
      for (const rule of ["text", "code_inline"] as const) {
        const render = markdown.renderer.rules[rule];
        markdown.renderer.rules[rule] = (...args) =>
          (render?.(...args) ?? "").replaceAll("{{", "&#123;&#123;");
      }
      markdown.core.ruler.before("normalize", "source", (state) => {
        state.src = sourceOf(state.src, fileOf(state.env) === "README.md");
      });
      markdown.core.ruler.push("addresses", ({ tokens, env }) => {
        for (const link of tokens.flatMap(({ children }) => children ?? [])) {
          const href = link.type === "link_open" ? link.attrGet("href") : null;
          if (href) link.attrSet("href", addressOf(fileOf(env), href));
        }
      });
    },
  },
  buildEnd({ pages: built, outDir }) {
    const missing = files.filter((file) => !built.includes(file));
    if (missing.length > 0) throw new Error(`The site lacks ${missing.join(", ")}.`);
    for (const file of files) {
      const page = path.join(outDir, plainFileOf(file) ?? file);
      mkdirSync(path.dirname(page), { recursive: true });
      writeFileSync(page, plainPage(file, readFileSync(inRepository(file), "utf8"), base));
    }
    const shown = examples.map((file) => ({ file, title: titleOf(file) }));
    writeFileSync(path.join(outDir, "llms.txt"), llmsText(navigation, shown, base));
  },
  transformPageData(page) {
    if (page.relativePath === "index.md") return { title: "", frontmatter: { ...page.frontmatter, ...HERO } };
    const summary = pages.find(({ file }) => `docs/${file}` === page.filePath)?.summary;
    return { description: summary ?? "" };
  },
  themeConfig: {
    logo: "/argosy.svg",
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Tasks", items: headings.filter(isTask) },
      ...headings.filter((heading) => !isTask(heading)),
    ],
    sidebar: [...menu],
    // A picture of our own: for a name, the theme might ask an address elsewhere.
    socialLinks: [
      { icon: { svg: GITHUB }, ariaLabel: "GitHub", link: "https://github.com/argosy-dev/argosy" },
    ],
    footer: { message: "Apache-2.0" },
  },
});
