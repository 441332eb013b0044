import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Analyzer } from "@pulumi/pulumi/provider/experimental/analyzer";
import { generateSchema } from "@pulumi/pulumi/provider/experimental/schema";

const SCHEMA_FILE = path.join(__dirname, "schema.json");

/** The name of Pulumi's package, and so of every type in it. */
const NAME = "argosy";
const COMPONENTS = ["Operators"];
const REPOSITORY = "https://github.com/argosy-dev/argosy";

/** Reads src/operators.ts. Its compiler takes seconds to begin. A check of the types can use the same one. */
export function pluginAnalyzer(): Analyzer {
  const entry = { ...manifestOfPlugin(), main: "src/operators.js" };
  return new Analyzer(__dirname, NAME, entry, new Set(COMPONENTS));
}

/**
 * The text of schema.json: what src/operators.ts says, as Pulumi's schema for all languages. It needs TypeScript and the
 * sources, which a user has not: so it is made here and shipped.
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
    // Where Pulumi finds the plugin of this version: beside the release.
    pluginDownloadURL: "github://api.github.com/argosy-dev/argosy",
    language,
  };
  // TypeScript has one type of numbers. All of ours are whole ones.
  const whole = (_key: string, value: unknown) => (value === "number" ? "integer" : value);
  return `${JSON.stringify(complete, whole, 2)}\n`;
}

function manifestOfPlugin() {
  return JSON.parse(readFileSync(path.join(__dirname, "package.json"), "utf8"));
}

if (require.main === module) writeFileSync(SCHEMA_FILE, pluginSchema());
