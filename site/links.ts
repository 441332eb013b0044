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
 * The address of a link on the site. A link out of docs/ leads to the file on GitHub; every other link stays as it is.
 *
 * @param page the file with the link, relative to docs/
 */
export function addressOf(page: string, link: string): string {
  if (/^([a-z]+:|#|\/)/.test(link)) return link;
  const target = path.join("docs", path.dirname(page), link);
  return target.startsWith("docs/") ? link : `${REPOSITORY}/${target}`;
}
