import { writeFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "./packageFolder";
import { commandLinePage } from "./reference/commandLine";
import { componentsPage } from "./reference/components";
import { contentsPage } from "./reference/contents";
import { errorsPage } from "./reference/errors";
import { metricsPage } from "./reference/metrics";
import { operatorYamlPage } from "./reference/operatorYaml";

/** The pages of docs/ that are generated from the sources, each with its generator. A test checks that they are current. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  "docs/README.md": contentsPage,
  "docs/errors.md": errorsPage,
  "docs/reference/command-line.md": commandLinePage,
  "docs/reference/components.md": componentsPage,
  "docs/reference/metrics.md": metricsPage,
  "docs/reference/operator-yaml.md": operatorYamlPage,
};

/** `npm run reference`: writes the generated pages. */
if (require.main === module) {
  for (const [page, text] of Object.entries(GENERATED))
    writeFileSync(path.join(PACKAGE_FOLDER, page), text());
}
