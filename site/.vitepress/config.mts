import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig, type HeadConfig } from "vitepress";
import { addressOf, anchorOf } from "../links";
import { HERO } from "./home";

interface Page {
  readonly file: string;
  readonly title: string;
  readonly summary: string;
}

interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

const inSite = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));
const navigation = JSON.parse(readFileSync(inSite("navigation.json"), "utf8")) as readonly Section[];
const pages = navigation.flatMap((section) => section.pages);
const addressOfPage = (file: string) => `/${file.replace(/\.md$/, "")}`;
const base = process.env.ARGOSY_SITE_BASE ?? "/";
const icon: HeadConfig = ["link", { rel: "icon", type: "image/svg+xml", href: `${base}argosy.svg` }];

/** Pages become modules that import vue. It is installed here, and not where the pages are. */
const packagesOfSite: Plugin = {
  name: "packages-of-site",
  enforce: "pre",
  resolveId(id, importer) {
    if (!/^vue(\/|$)/.test(id) || importer === inSite("package.json")) return;
    return this.resolve(id, inSite("package.json"), { skipSelf: true });
  },
};

/** The site is made of the Markdown in docs/, which GitHub shows as well. */
export default defineConfig({
  title: "Argosy",
  description: "Kubernetes operators from two small files: a CRD and a handler in any language.",
  base,
  srcDir: "../docs",
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  // GitHub shows README.md for a folder, and the site index.html.
  rewrites: { "README.md": "index.md" },
  head: [icon],
  // The UI that a reader opens on their own machine.
  ignoreDeadLinks: [/^https:\/\/localhost/],
  vite: { publicDir: inSite("public"), plugins: [packagesOfSite] },
  markdown: {
    // What looks like a tag in a page is text.
    html: false,
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      markdown.core.ruler.push("addresses", ({ tokens, env }) => {
        for (const link of tokens.flatMap(({ children }) => children ?? [])) {
          const href = link.type === "link_open" ? link.attrGet("href") : null;
          if (href) link.attrSet("href", addressOf(env.relativePath, href));
        }
      });
    },
  },
  transformPageData(page) {
    if (page.relativePath === "index.md") return { title: "", frontmatter: { ...page.frontmatter, ...HERO } };
    const summary = pages.find(({ file }) => file === page.relativePath)?.summary;
    return { description: summary ?? "" };
  },
  themeConfig: {
    logo: "/argosy.svg",
    search: { provider: "local" },
    outline: [2, 3],
    nav: navigation.map(({ title, pages: [first] }) => ({
      text: title,
      link: first ? addressOfPage(first.file) : "/",
    })),
    sidebar: navigation.map(({ title, pages: own }) => ({
      text: title,
      items: own.map(({ file, title: text }) => ({ text, link: addressOfPage(file) })),
    })),
    socialLinks: [{ icon: "github", link: "https://github.com/argosy-dev/argosy" }],
    footer: { message: "Apache-2.0" },
  },
});
