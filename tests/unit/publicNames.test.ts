import { readFileSync } from "node:fs";
import path from "node:path";
import { EXIT_CODES } from "../../cli/common/commandError";
import { OUTPUT_SCHEMA } from "../../cli/common/options";
import * as names from "../../runtime/base/names";
import { markManagerOf } from "../../runtime/observe/marks";
import * as layout from "../../runtime/programs/layout";
import { FORWARDED_HEADER, HINT_PATH } from "../../runtime/programs/resident/hints";
import { memoryResourceOf } from "../../runtime/remember/memoryKind";
import { RUN_PARAMETERS, USED_PARAMETER } from "../../runtime/report/workflows";
import { filesIn } from "./support/filesIn";
import { assertOnlyGrows } from "./support/goldenFile";
import { PROJECT } from "./support/projectCopy";

const MEMCACHED = { installation: "argosy", name: "memcached" };

/** The folders of what is installed, in a cluster or as a package. */
const SOURCES = ["runtime", "components", "cli", "definition", "preflight", "plugin"];

// What an operator leaves in a cluster is found by these names after an upgrade, and people write them in manifests, alerts, scripts
// and handlers. So UPDATE_GOLDEN only adds names. The line of a name that must go is removed by hand.
describe("the golden file of names", () => {
  it("has all names by which users and other versions find something, and no release may take one away", () => {
    assertOnlyGrows("names.txt", [
      ...inCluster(),
      ...inPods(),
      ...reasons(),
      ...inCommands(),
      ...pages(),
      ...inPrograms(),
    ]);
  });
});

/** The labels or annotations of ours among a module's constants, which have this ending. */
function constants(module: object, ending: string): string[] {
  return Object.entries(module).flatMap(([key, value]) =>
    key.endsWith(ending) && String(value).startsWith(names.DOMAIN) ? [String(value)] : [],
  );
}

/** Every match of a pattern in the sources. @param pattern with one group */
function inSources(pattern: RegExp): string[] {
  const files = SOURCES.flatMap((folder) =>
    filesIn(path.join(PROJECT, folder)).map((file) => path.join(PROJECT, folder, file)),
  );
  return files
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(pattern)])
    .flatMap(([, found]) => found ?? []);
}

function inCluster(): string[] {
  const manager = names.fieldManagerOf(MEMCACHED);
  const named = (what: string, all: readonly string[]) => all.map((each) => `${what} ${each}`);
  const marks = inSources(/= `\$\{DOMAIN\}\/([-a-z]+)`/g);
  const known = [...constants(names, "_LABEL"), ...constants(names, "_ANNOTATION")];
  const others = marks.map((mark) => `${names.DOMAIN}/${mark}`).filter((mark) => !known.includes(mark));
  return [
    ...named("label", constants(names, "_LABEL")),
    ...named("annotation", constants(names, "_ANNOTATION")),
    ...named("label, annotation or prefix of one", others),
    ...named("finalizer", names.finalizersOf(MEMCACHED)),
    ...named("field manager", [
      manager,
      markManagerOf(manager),
      ...names.finalizersOf(MEMCACHED).map(names.finalizerManagerOf),
    ]),
    `Lease ${names.leaseNameOf(MEMCACHED)}`,
    `Memory ${names.memoryPrefixOf(MEMCACHED)}<uid>`,
    ...["argosy", "shop"].map((installation) => {
      const { apiVersion, kind, plural } = memoryResourceOf({ installation });
      return `kind of the installation ${installation}: ${kind} ${plural} ${apiVersion}`;
    }),
    ...named("status field", names.OWN_STATUS_FIELDS),
    ...named("condition", names.ENGINE_CONDITIONS),
    ...named("parameter of a run", Object.values({ ...RUN_PARAMETERS, ...USED_PARAMETER })),
    `path for hints ${HINT_PATH}`,
    `header of a hint that is passed on ${FORWARDED_HEADER}`,
  ];
}

function inPods(): string[] {
  return [
    ...Object.entries(layout.POD_LAYOUT).map(([part, folder]) => `folder in a pod: ${part} ${folder}`),
    ...Object.entries(layout.RUNNER_PORTS).map(([part, port]) => `port of a runner: ${part} ${port}`),
    ...[layout.ANSWER_FILE, layout.TIMINGS_FILE].map((file) => `file in a pod: ${file}`),
    ...inSources(/(?:["'`]|env(?:ironment)?\.)(ARGOSY_(?!TEST_)[A-Z_]+)\b/g).map(
      (variable) => `environment variable ${variable}`,
    ),
  ];
}

/** The reasons of conditions, other than those on the page of errors. */
function reasons(): string[] {
  return inSources(/\bstate\("\w+", "\w+", "(\w+)"/g).map((reason) => `reason ${reason}`);
}

function inCommands(): string[] {
  const { definitions } = JSON.parse(readFileSync(path.join(PROJECT, OUTPUT_SCHEMA), "utf8"));
  return [
    ...Object.entries(EXIT_CODES).map(([meaning, code]) => `exit code ${code}: ${meaning}`),
    ...Object.entries<Schema>(definitions).flatMap(([command, schema]) =>
      keysIn(schema).map((key) => `argosy ${command} --json: ${key}`),
    ),
  ];
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** The keys of what a schema admits, those further inside included: "place", "place.line". */
function keysIn({ properties = {}, items = {}, anyOf = [] }: Schema, above = ""): string[] {
  if (items.properties || anyOf.length > 0) return [items, ...anyOf].flatMap((each) => keysIn(each, above));
  return Object.entries(properties).flatMap(([key, inner]) => [
    above + key,
    ...keysIn(inner, `${above}${key}.`),
  ]);
}

/** What a program imports, in TypeScript by a name of the package, in another language by one of the plugin's schema. */
function inPrograms(): string[] {
  const read = (file: string) => readFileSync(path.join(PROJECT, file), "utf8");
  const named = [...read("components/index.ts").matchAll(/^export (?:type )?\{([^}]+)\}/gm)]
    .flatMap(([, list = ""]) => list.split(","))
    .map((each) => each.trim().replace(/^type /, ""));
  const declared = [
    ...read("components/arguments/arguments.ts").matchAll(/^export (?:interface|type) (\w+)/gm),
  ].map(([, name = ""]) => name);
  const { name, exports: places, bin } = JSON.parse(read("package.json"));
  const schema = JSON.parse(read("plugin/schema.json"));
  const { properties, inputProperties } = schema.resources["argosy:index:Operators"];
  return [
    ...[...named, ...declared].map((each) => `package, export: ${each}`),
    ...Object.keys(places).map((place) => `package, file: ${name}${place.slice(1)}`),
    ...Object.keys(bin).map((command) => `package, command: ${command}`),
    ...Object.keys({ ...schema.resources, ...schema.types }).map((token) => `plugin, type: ${token}`),
    ...Object.keys(properties).map((each) => `plugin, output of Operators: ${each}`),
    ...Object.keys(inputProperties).map((each) => `plugin, argument of Operators: ${each}`),
  ];
}

/** What the generated pages name: in the first cell of a row, below a heading. A metric's type and labels count as well. */
function pages(): string[] {
  const read = ["command-line", "components", "configuration", "errors", "fixtures", "metrics"];
  return [...read, "operator-yaml", "pods", "request-and-answer"].flatMap((page) => {
    let heading = "";
    const lines = readFileSync(path.join(PROJECT, "docs/reference", `${page}.md`), "utf8").split("\n");
    return lines.flatMap((line) => {
      heading = /^#+ (.*)/.exec(line)?.[1] ?? heading;
      const [, first, ...cells] = line.split(" | ").join("|").split("|");
      if (!/^ ?`/.test(first ?? "")) return [];
      const more = page === "metrics" ? cells.slice(0, 2).map((cell) => ` ${cell}`) : [];
      const name = `${first}${more.join("")}`.replaceAll("`", "").trim();
      return [`${page}, ${heading}: ${name}`];
    });
  });
}
