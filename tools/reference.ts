import { writeFileSync } from "node:fs";
import path from "node:path";
import { contentsPage } from "./reference/contents";

const ROOT = path.join(__dirname, "..");

/** The pages of docs/ that are made from the sources, each with what makes it. A test holds that they are current. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  "docs/README.md": contentsPage,
};

/** `npm run reference`: writes the generated pages. */
if (require.main === module) {
  for (const [page, text] of Object.entries(GENERATED)) writeFileSync(path.join(ROOT, page), text());
}
