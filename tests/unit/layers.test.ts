import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { PACKAGE_NAME } from "../../components/package";

const ROOT = path.resolve(__dirname, "../..");

/** The rooms of the repository, the lowest first, each with the rooms that its files may import. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  definition: ["runtime"],
  preflight: ["runtime"],
  components: ["definition", "preflight", "runtime"],
  program: ["components", "definition"],
  examples: [],
  site: [],
  cli: ["components", "definition", "preflight", "runtime"],
  tools: ["cli", "components", "definition", "preflight", "runtime"],
  tests: [
    "tools",
    "cli",
    "site",
    "program",
    "components",
    "definition",
    "preflight",
    "plugin",
    "runtime",
    "index",
  ],
};
const FOLDERS = Object.keys(ROOMS);

/**
 * Layers of a folder, the highest first: a file imports files of its own layer and of those below it. An entry is a
 * folder, which ends in "/", or a file; the longest entry that a file is at is its own.
 */
type Layers = readonly (readonly [name: string, ...places: string[]])[];

const ENGINE: Layers = [
  ["program", "program"],
  ["in a pod", "pod/"],
  ["runs in pods", "pod/run/", "pod/resync/"],
  ["Workflows of runs", "pod/workflows/"],
  ["without watches", "pod/withoutWatches/"],
  ["beside Argo", "argo/", "eventPath/", "events/intake", "events/intakeServer", "events/eventWarnings"],
  ["engine", "engine/"],
  ["reports", "outbox/"],
  ["reconcile", "reconcile/", "traces/"],
  ["memory", "memory/"],
  ["children and status", "children/", "status/"],
  ["used objects", "uses/"],
  ["watch and work", "watch/", "work/"],
  ["handler", "handler/"],
  ["definition", "definition/", "events/"],
  ["leadership", "leadership/"],
  ["schedules", "schedules/"],
  ["Kubernetes", "kubernetes/", "http/"],
  ["plain", "json/", "text/", "limits/", "failure"],
  ["constants", "names", "pod/layout"],
];

const COMPONENTS: Layers = [
  ["components", "/"],
  ["CRD verdict", "crdVerdict/"],
  ["monitoring", "manifests/monitoring/"],
  ["operator", "manifests/operator/"],
  ["events from outside", "manifests/outside/"],
  ["event path", "manifests/eventPath/"],
  ["platform", "manifests/platform/"],
  ["common to all manifests", "manifests/"],
];

const LAYERED: readonly (readonly [folder: string, layers: Layers])[] = [
  ["runtime", ENGINE],
  ["components", COMPONENTS],
];

/** A file's import of something: of a file by its path from the project's root, of a package by its name. */
interface Import {
  readonly from: string;
  readonly of: string;
}

const files = [
  "index.ts",
  ...FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
      .map((file) => path.join(folder, file)),
  ),
];
const importsByFile = new Map(files.map((file) => [file, importsOf(file)]));
const imports = [...importsByFile.values()].flat();

/** Imports of every form: of values and of types, by `require` and later on. */
function importsOf(from: string): Import[] {
  const text = readFileSync(path.join(ROOT, from), "utf8");
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => ({
    from,
    of: fileName.startsWith(".") ? path.join(path.dirname(from), fileName) : fileName,
  }));
}

function within(file: string, ...folders: string[]): boolean {
  return folders.some((folder) => file === folder || file.startsWith(`${folder}/`));
}

/** "runtime/queue.ts -> components/manifests/platform/options", of what a rule forbids. */
function found(isForbidden: (each: Import) => boolean): string[] {
  return imports.filter(isForbidden).map(({ from, of }) => `${from} -> ${of}`);
}

describe("arrows point one way:", () => {
  it("there are some", () => {
    assert.ok(imports.length > 500);
    assert.ok(found(({ from, of }) => within(from, "components") && within(of, "runtime")).length > 30);
    assert.ok(found(({ from, of }) => from === "index.ts" && of === PACKAGE_NAME).length === 1);
  });

  for (const [room, below] of Object.entries(ROOMS)) {
    it(`${room}/ imports no room but ${below.join(", ") || "itself"}`, () => {
      const others = [...FOLDERS, "plugin", "handlers", "index"].filter(
        (other) => other !== room && !below.includes(other),
      );
      assert.deepEqual(
        found(({ from, of }) => within(from, room) && within(of, ...others)),
        [],
      );
    });
  }

  it("the rooms stand one above another", () => {
    const rank = (room: string) => FOLDERS.indexOf(room);
    const upward = Object.entries(ROOMS).filter(([room, below]) =>
      below.some((other) => rank(other) > rank(room)),
    );
    assert.deepEqual(upward, []);
  });

  for (const [folder, layers] of LAYERED) {
    it(`each file of ${folder} has a layer, and each entry of its layers has files`, () => {
      const own = files.filter((file) => within(file, folder));
      assert.deepEqual(
        own.filter((file) => layerOf(file, folder, layers) === undefined),
        [],
      );
      const used = new Set(own.map((file) => entryOf(file, folder, layers)));
      assert.deepEqual(
        layers.flatMap(([, ...places]) => places).filter((place) => !used.has(place)),
        [],
      );
    });

    it(`a file of ${folder} imports none of a layer above its own`, () => {
      const upward = found(({ from, of }) => {
        if (!within(from, folder) || !within(of, folder)) return false;
        return (layerOf(of, folder, layers) ?? 0) < (layerOf(from, folder, layers) ?? 0);
      });
      assert.deepEqual(upward, []);
    });
  }

  it("no file imports itself by way of others", () => {
    assert.deepEqual(cycles(), []);
  });

  it("the engine knows no Pulumi and no kubeconfig, and stays small", () => {
    const packages = ["@pulumi", "@kubernetes/client-node", "esbuild", "commander", "tsx", "yaml", "zod"];
    assert.deepEqual(
      found(({ from, of }) => within(from, "runtime") && within(of, ...packages)),
      [],
    );
  });

  it("what runs in a cluster reads no YAML and has no schemas of ours: those are an author's", () => {
    const reached = reachableFrom("runtime/pod/main.ts");
    assert.ok(reached.size > 30);
    const authors = found(({ from, of }) => reached.has(from) && (of === "yaml" || of === "zod"));
    assert.deepEqual(authors, []);
  });

  it("an author's side knows of the engine what an operator is, and nothing above that", () => {
    const lowest = ENGINE.findIndex(([layer]) => layer === "definition");
    const ofEngine = found(({ from, of }) => {
      if (!within(from, "definition") || !within(of, "runtime")) return false;
      return (layerOf(of, "runtime", ENGINE) ?? 0) < lowest;
    });
    assert.deepEqual(ofEngine, []);
    assert.ok(found(({ from, of }) => within(from, "definition") && within(of, "runtime")).length > 10);
  });

  it("an author's side knows no Pulumi: its files are read in programs and in commands alike", () => {
    assert.deepEqual(
      found(({ from, of }) => within(from, "definition") && within(of, "@pulumi")),
      [],
    );
    // Each is loaded where a definition is, and reads what an author wrote.
    assert.deepEqual(
      found(({ from, of }) => within(from, "definition") && of === "yaml"),
      ["definition/readYaml.ts -> yaml"],
    );
  });

  it("the builders of manifests are plain functions, and know of Pulumi the types of Kubernetes' kinds alone", () => {
    const builders = ["components/manifests", "components/crdVerdict"];
    const kinds = "components/manifests/kinds.ts";
    assert.deepEqual(
      found(({ from, of }) => within(from, ...builders) && within(of, "@pulumi")),
      [`${kinds} -> @pulumi/kubernetes`],
    );
    assert.match(
      readFileSync(path.join(ROOT, kinds), "utf8"),
      /^import type .* from "@pulumi\/kubernetes";$/m,
    );
  });

  it("a program knows of the engine what is in one file, and all of that is of use to it", () => {
    assert.deepEqual(
      found(
        ({ from, of }) =>
          within(from, "components", "preflight") && within(of, "runtime") && of !== "runtime/program",
      ),
      [],
    );
    const exported = namesIn("runtime/program.ts");
    assert.ok(exported.length > 30);
    const users = imports.filter(
      ({ from, of }) => within(from, "components", "preflight") && of === "runtime/program",
    );
    const used = new Set(users.flatMap(({ from }) => namesIn(from)));
    assert.deepEqual(
      exported.filter((name) => !used.has(name)),
      [],
    );
  });

  it("a chaos run knows the engine and definitions, and nothing above them", () => {
    const above = ["components", "program", "examples", "cli", "tools/bench", "tests", "index"];
    const waiting = "cli/until";
    assert.deepEqual(
      found(({ from, of }) => within(from, "tools/chaos") && within(of, ...above) && of !== waiting),
      [],
    );
  });

  it("the package is built without this repository's program, its handlers and its tools", () => {
    const outside = ["index", "program", "handlers", "tools", "tests", "bench", "chaos"];
    const inside = ["components", "runtime", "cli/render", "cli/dev", "cli/scene"];
    assert.deepEqual(
      found(({ from, of }) => within(from, ...inside) && within(of, ...outside)),
      [],
    );
  });

  it("one file uses kubernetesx, whose project is archived", () => {
    assert.deepEqual(
      found(({ from, of }) => within(of, "@pulumi/kubernetesx") && !within(from, "tests")),
      ["components/runnerDeployment.ts -> @pulumi/kubernetesx"],
    );
  });
});

describe("the map in CONTRIBUTING.md", () => {
  const places = placesOnTheMap(readFileSync(path.join(ROOT, "CONTRIBUTING.md"), "utf8"));

  it("names files and folders that there are", () => {
    assert.ok(places.length > 60);
    assert.deepEqual(
      // What is in handlers/ is its user's, and may be nothing.
      places.filter((place) => place !== "handlers/" && !existsSync(path.join(ROOT, place))),
      [],
    );
  });

  it("names every room, and every folder of components/, definition/ and runtime/", () => {
    const folders = ["components", "definition", "runtime"].flatMap((room) =>
      readdirSync(path.join(ROOT, room), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${room}/${name}`),
    );
    const named = places.map((place) => place.replace(/\/$/, ""));
    const rooms = FOLDERS.filter((room) => room !== "tests");
    assert.deepEqual(
      [...rooms, ...folders].filter((folder) => !named.includes(folder)),
      [],
    );
  });
});

/** The paths on the map: a place is indented by two spaces more than the folder that it is in. */
function placesOnTheMap(page: string): string[] {
  const above: string[] = [];
  return [...page.matchAll(/^ {4}((?: {2}){0,4})([\w.][\w./-]*) /gm)].map(([, indent = "", name = ""]) => {
    const depth = indent.length / 2;
    const place = path.join(...above.slice(0, depth), name);
    above.splice(depth, Number.POSITIVE_INFINITY, name);
    return place;
  });
}

/** The names that a file imports or exports in braces. */
function namesIn(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return [...text.matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from/gm)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter((name) => name !== ""),
  );
}

/** The longest entry that a file of the folder is at: "manifests/" of "components/manifests/pods.ts". */
function entryOf(file: string, folder: string, layers: Layers): string | undefined {
  const place = path.relative(folder, file).replace(/\.ts$/, "");
  return layers
    .flatMap(([, ...entries]) => entries)
    .filter((entry) => entry === "/" || entry === place || (entry.endsWith("/") && place.startsWith(entry)))
    .sort((one, other) => other.length - one.length)[0];
}

/** The number of a file's layer, counted from the highest; undefined where it has none. */
function layerOf(file: string, folder: string, layers: Layers): number | undefined {
  const entry = entryOf(file, folder, layers);
  const index = layers.findIndex(([, ...entries]) => entry !== undefined && entries.includes(entry));
  return index < 0 ? undefined : index;
}

/** Files that import each other in a circle, as "a.ts -> b.ts -> a.ts". */
function cycles(): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(" -> "));
    if (done.has(file) || !importsByFile.has(file)) return;
    done.add(file);
    for (const { of } of importsByFile.get(file) ?? []) visit(fileOf(of), [...way, file]);
  };
  for (const file of files) visit(file, []);
  return found;
}

/** The file that an import by a path means. */
function fileOf(imported: string): string {
  return (
    [`${imported}.ts`, path.join(imported, "index.ts")].find((file) => importsByFile.has(file)) ?? imported
  );
}

/** A file and all files of the project that it needs. */
function reachableFrom(start: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const queue = [start];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    const itsImports = importsByFile.get(file);
    if (reached.has(file) || !itsImports) continue;
    reached.add(file);
    queue.push(...itsImports.map(({ of }) => fileOf(of)));
  }
  return reached;
}
