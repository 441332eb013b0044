// What pages say as long as no version is released, and what they say from then on. The changelog decides: its first date.
import { readFileSync } from "node:fs";
import path from "node:path";
import { version } from "../../package.json";
import { PACKAGE_FOLDER } from "../packageFolder";

/** How a program is made with a clone. Its package is in no registry, so it lies next to the program as a tarball. */
export const WITH_A_CLONE = `git clone https://github.com/argosy-dev/argosy
cd argosy
npm ci
npm run argosy -- init ../shop
npm pack --pack-destination ../shop
cd ../shop
npm install ./argosy-dev-argosy-${version}.tgz
`;

const FROM_THE_REGISTRY = `npx @argosy-dev/argosy init shop
cd shop
npm install
`;

/** The two forms of a part of a page. */
interface Part {
  readonly unreleased: string;
  readonly released: string;
}

/** The parts of pages that differ. */
export const PARTS: Readonly<Record<string, readonly Part[]>> = {
  "README.md": [
    { unreleased: WITH_A_CLONE, released: FROM_THE_REGISTRY },
    {
      unreleased: `The clone is needed until version ${version} is published. An existing program in TypeScript needs two lines:`,
      released: "An existing program in TypeScript needs `npm install @argosy-dev/argosy` and two lines:",
    },
    {
      unreleased: `| Version | ${version}, not released yet. No installation`,
      released: `| Version | ${version}. No installation`,
    },
  ],
  "docs/first-operator.md": [
    { unreleased: WITH_A_CLONE, released: FROM_THE_REGISTRY },
    {
      unreleased: `and a workflow for GitHub. The clone is needed only because
version ${version} is not published yet: until then the program has the package as a tarball, so commit it, as CI installs it from there.
Once it is published, \`npx @argosy-dev/argosy init shop\` and \`npm install\` do all of this.
`,
      released: "and a workflow for GitHub.\n",
    },
  ],
  "plugin/README.md": [
    {
      unreleased: `Version ${version} is not published yet. Until it is, each of these machines gets the plugin from a clone:

\`\`\`sh
git clone https://github.com/argosy-dev/argosy
cd argosy
npm ci
plugin/install
\`\`\`

All commands below then work, but write the templates' place in the clone instead of their address, for example
\`pulumi new ../argosy/templates/python\`.
`,
      released: "Pulumi downloads the plugin from the release on GitHub.\n",
    },
  ],
};

/** Whether a version is released: whether a section of the changelog has a date. */
export function isReleased(
  changelog: string = readFileSync(path.join(PACKAGE_FOLDER, "CHANGELOG.md"), "utf8"),
): boolean {
  return /^## \S+ \(\d{4}-\d{2}-\d{2}\)$/m.test(changelog);
}

/**
 * A page with each part in the form of today.
 *
 * @param page - one of {@link PARTS}
 * @throws Error that names a part that the page has in neither form, or more than once
 */
export function releasedPage(page: string, released = isReleased()): string {
  const text = readFileSync(path.join(PACKAGE_FOLDER, page), "utf8");
  return (PARTS[page] ?? []).reduce((whole, part) => {
    const [form, ...others] = [part.unreleased, part.released].filter((each) => whole.includes(each));
    if (form === undefined || others.length > 0 || whole.split(form).length !== 2)
      throw new Error(`${page} has this part not exactly once, in one of its two forms:\n${part.unreleased}`);
    return whole.replace(form, () => (released ? part.released : part.unreleased));
  }, text);
}
