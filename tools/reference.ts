import { writeFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "./packageFolder";
import { argumentTypes } from "./reference/argumentTypes";
import { commandLinePage } from "./reference/commandLine";
import { componentsPage } from "./reference/components";
import { configurationPage, pulumiYaml } from "./reference/configuration";
import { contentsPage } from "./reference/contents";
import { errorsPage } from "./reference/errors";
import { contractKeysPage, fixturesPage } from "./reference/handlers";
import { limitsPage } from "./reference/limits";
import { contributingPage } from "./reference/map";
import { metricsPage } from "./reference/metrics";
import { operatorYamlPage } from "./reference/operatorYaml";
import { outputSchema } from "./reference/outputSchema";
import { pluginSchema } from "./reference/pluginSchema";
import { podsPage } from "./reference/pods";
import { PARTS, releasedPage } from "./reference/released";
import { securityTestsPage } from "./reference/securityTests";

/** The files that are generated from the sources, each with its generator. A test checks that they are current. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  "CONTRIBUTING.md": contributingPage,
  "Pulumi.yaml": pulumiYaml,
  // Before the page that is made from it.
  "components/arguments/arguments.ts": argumentTypes,
  "docs/README.md": contentsPage,
  "docs/reference/command-line.md": commandLinePage,
  "docs/reference/components.md": componentsPage,
  "docs/reference/configuration.md": configurationPage,
  "docs/reference/errors.md": errorsPage,
  "docs/reference/fixtures.md": fixturesPage,
  "docs/reference/limits.md": limitsPage,
  "docs/reference/metrics.md": metricsPage,
  "docs/reference/operator-yaml.md": operatorYamlPage,
  "docs/reference/pods.md": podsPage,
  "docs/reference/request-and-answer.md": contractKeysPage,
  "docs/reference/security-tests.md": securityTestsPage,
  "output.schema.json": outputSchema,
  "plugin/schema.json": pluginSchema,
  ...Object.fromEntries(Object.keys(PARTS).map((page) => [page, () => releasedPage(page)])),
};

/** `npm run reference`: writes the generated files. */
if (require.main === module) {
  for (const [page, text] of Object.entries(GENERATED))
    writeFileSync(path.join(PACKAGE_FOLDER, page), text());
}
