import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Analyzer } from "@pulumi/pulumi/provider/experimental/analyzer";
import { generateSchema } from "@pulumi/pulumi/provider/experimental/schema";

const SCHEMA_FILE = path.join(__dirname, "schema.json");

/** The name of Pulumi's package, and so of every type in it. */
const NAME = "argosy";
const COMPONENTS = ["Operators"];
const REPOSITORY = "https://github.com/argosy-dev/argosy";

/** Reads src/contract.ts. The analyzer's compiler takes seconds to start, so a check of the types can use the same analyzer. */
export function pluginAnalyzer(): Analyzer {
  const entry = { ...manifestOfPlugin(), main: "src/contract.js" };
  return new Analyzer(__dirname, NAME, entry, new Set(COMPONENTS));
}

/**
 * The text of schema.json: the content of src/contract.ts as Pulumi's schema for all languages. To make the schema needs
 * TypeScript and the sources, which a user does not have. So it is made here and shipped.
 */
export function pluginSchema(analyzer: Analyzer = pluginAnalyzer()): string {
  const manifest = manifestOfPlugin();
  const { components, typeDefinitions, dependencies } = analyzer.analyze();
  const { language, ...schema } = generateSchema(
    NAME,
    manifest.version,
    manifest.description,
    components,
    typeDefinitions,
    dependencies,
    "argosy-dev",
  );
  const types = Object.entries(schema.types).map(([token, type]) => {
    const description = typeDefinitions[token.replace(/^.*:/, "")]?.description;
    return [token, { ...(description && { description }), ...type }];
  });
  const complete = {
    ...schema,
    types: Object.fromEntries(types),
    displayName: "Argosy",
    license: manifest.license,
    keywords: manifest.keywords,
    homepage: REPOSITORY,
    repository: REPOSITORY,
    // Pulumi finds the plugin of this version among the files of the release.
    pluginDownloadURL: "github://api.github.com/argosy-dev/argosy",
    language,
  };
  // TypeScript has only one type of numbers. All of our numbers are integers.
  const whole = (_key: string, value: unknown) => (value === "number" ? "integer" : value);
  return `${JSON.stringify(complete, whole, 2)}\n`;
}

function manifestOfPlugin() {
  return JSON.parse(readFileSync(path.join(__dirname, "package.json"), "utf8"));
}

if (require.main === module) writeFileSync(SCHEMA_FILE, pluginSchema());
