/** The upper part of the home page. Below it comes README.md of the repository, without its title and first sentence. */
export const HERO = {
  layout: "home",
  hero: {
    name: "Argosy",
    text: "Kubernetes operators from three small files",
    tagline: "A CRD, a definition, and a handler in any language. No SDK to learn, no image to build.",
    actions: [
      { theme: "brand", text: "First operator", link: "/first-operator" },
      { theme: "alt", text: "Comparison", link: "/comparison" },
      { theme: "alt", text: "GitHub", link: "https://github.com/argosy-dev/argosy" },
    ],
  },
};

/**
 * A page as the site shows it: its pictures in the notation of Markdown, since the site takes what looks like a tag for text.
 *
 * @param isHome whether it stands below the hero, which has the title already
 */
export function sourceOf(page: string, isHome: boolean): string {
  const text = page.replace(
    /<picture>\s*<source [^>]*srcset="([^"]*)">\s*<img alt="([^"]*)" src="([^"]*)">\s*<\/picture>/g,
    "![$2]($3#gh-light-mode-only)\n![$2]($1#gh-dark-mode-only)",
  );
  return isHome ? text.replace(/^# .*\n\n.*\n/, "") : text;
}
