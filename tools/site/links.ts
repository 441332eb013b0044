import path from "node:path/posix";

/** Where files of the repository are shown that are no pages of the site. */
const REPOSITORY = "https://github.com/argosy-dev/argosy/blob/main";

/**
 * The anchor of a heading, as GitHub makes it. The site makes the same, so that a link with an anchor leads to its place
 * in both.
 *
 * @param heading its text, without marks of Markdown
 */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}

/**
 * Which files of the repository are pages of the site, and their addresses. An example may also be named by its folder, but
 * memcached, which the package contains, has no README.
 */
const PAGES: readonly (readonly [file: RegExp, address: string])[] = [
  [/^README\.md$/, "/"],
  [/^docs\/README\.md$/, "/contents"],
  [/^docs\/(.*)\.md$/, "/$1"],
  [/^examples(?:\/README\.md)?$/, "/examples/"],
  [/^examples\/(?!memcached)([\w-]+)(?:\/README\.md)?$/, "/examples/$1"],
];

/**
 * The address on the site of a file or folder of the repository: "/deploy" for docs/deploy.md. Undefined if it is no page.
 *
 * @param file relative to the repository
 */
export function pageOf(file: string): string | undefined {
  const page = PAGES.find(([pattern]) => pattern.test(file));
  return page && file.replace(...page);
}

/** The file of a page as Markdown, from the top of the site: "deploy.md" for docs/deploy.md. Undefined if it is no page. */
export function plainFileOf(file: string): string | undefined {
  const page = pageOf(file);
  return page && `${page}.md`.replace("/.md", "/index.md").slice(1);
}

/**
 * The address of a link on the site: of a page, or of the file on GitHub.
 *
 * @param file the file with the link, relative to the repository
 */
export function addressOf(file: string, link: string): string {
  if (/^([a-z]+:|#|\/)/.test(link)) return link;
  const [target = "", anchor] = link.split("#");
  const place = path.join(path.dirname(file), target).replace(/\/$/, "");
  return (pageOf(place) ?? `${REPOSITORY}/${place}`) + (anchor === undefined ? "" : `#${anchor}`);
}
