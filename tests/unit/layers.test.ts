import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_NAME } from "../../components/package";
import { importedFile, importsOf } from "../../tools/fileGraph";

const ROOT = path.resolve(__dirname, "../..");

/** The rooms of the repository, the lowest first, each with the rooms that its files may import. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  definition: ["runtime"],
  preflight: ["runtime"],
  components: ["definition", "preflight", "runtime"],
  examples: [],
  cli: ["components", "definition", "preflight", "runtime"],
  tools: ["cli", "components", "definition", "preflight", "runtime"],
  tests: ["tools", "cli", "components", "definition", "preflight", "runtime", "index"],
};
const FOLDERS = Object.keys(ROOMS);

/**
 * Rooms of a folder, the lowest first, each with the rooms that its files may import. A room is a folder or a file, and "/" has what
 * is in no other; the longest entry that a file is in is its own.
 */
type Rooms = Readonly<Record<string, readonly string[]>>;

const CORE: Rooms = {
  base: [],
  kubernetes: ["base"],
  operator: ["base"],
  leadership: ["base", "kubernetes"],
  handler: ["base", "operator"],
  observe: ["base", "kubernetes", "operator"],
  when: ["base"],
  write: ["base", "kubernetes", "operator", "observe"],
  remember: ["base", "kubernetes", "operator", "observe"],
  secrets: ["base"],
  reconcile: [
    "base",
    "kubernetes",
    "operator",
    "leadership",
    "handler",
    "observe",
    "write",
    "remember",
    "secrets",
  ],
  report: ["base", "kubernetes", "operator", "leadership", "when", "remember", "reconcile"],
  engine: [
    "base",
    "kubernetes",
    "operator",
    "leadership",
    "handler",
    "observe",
    "when",
    "write",
    "remember",
    "secrets",
    "reconcile",
    "report",
  ],
};
/** What each program of the engine may import: everything but other programs. */
const COMMON = [...Object.keys(CORE), "programs", "programs/workflows"];
const PROGRAMS = ["resident", "run", "keep", "intake"].map((name) => `programs/${name}`);
const ENGINE: Rooms = {
  ...CORE,
  programs: Object.keys(CORE),
  "programs/workflows": Object.keys(CORE),
  ...Object.fromEntries(PROGRAMS.map((program) => [program, COMMON])),
  "programs/main": ["programs", ...PROGRAMS],
  program: [...COMMON, ...PROGRAMS],
  cli: [...COMMON, ...PROGRAMS],
};

/** What commands share, and what each of the larger ones does. */
const PARTS: Rooms = {
  common: [],
  controlPlane: ["common"],
  cluster: ["common", "controlPlane"],
  handler: ["controlPlane"],
  containers: ["common", "handler"],
  errors: ["common"],
  inspect: ["common", "cluster", "errors"],
  local: ["common", "controlPlane", "cluster", "handler", "containers", "inspect"],
  fixtures: ["common", "handler", "cluster", "local"],
  fuzz: ["common", "handler", "fixtures"],
  diff: ["common", "handler", "errors", "inspect"],
  record: ["common", "inspect", "fixtures", "diff"],
  debug: ["common", "controlPlane", "handler", "inspect", "local"],
  dev: ["common", "controlPlane", "cluster", "containers", "inspect", "local", "fixtures", "diff", "debug"],
  scene: ["common", "cluster", "inspect", "local"],
  doctor: ["common", "controlPlane", "inspect"],
  ...Object.fromEntries(["new", "render", "rights", "types"].map((part) => [part, ["common"]])),
  add: ["common", "controlPlane", "inspect", "rights"],
};

/** The tools, and what they share. */
const WINGS: Rooms = {
  packageFolder: [],
  objects: [],
  findCluster: [],
  installProgram: [],
  site: [],
  build: ["packageFolder"],
  reference: ["packageFolder"],
  bench: ["packageFolder", "objects", "build"],
  pictures: ["packageFolder", "bench"],
  chaos: ["packageFolder", "objects", "findCluster", "installProgram"],
};

/** The builders of manifests, and what compares them. */
const BUILDERS: Rooms = {
  manifests: [],
  "manifests/platform": ["manifests"],
  "manifests/eventPath": ["manifests", "manifests/platform"],
  "manifests/outside": ["manifests", "manifests/eventPath"],
  "manifests/operator": ["manifests", "manifests/platform"],
  "manifests/monitoring": ["manifests", "manifests/platform"],
  crdVerdict: ["manifests"],
};

/** The folders that have rooms. */
const HOUSES: Readonly<Record<string, Rooms>> = {
  runtime: ENGINE,
  components: { ...BUILDERS, "/": Object.keys(BUILDERS) },
  cli: { ...PARTS, commands: Object.keys(PARTS), argosy: ["common", "commands"] },
  tools: { ...WINGS, "/": Object.keys(WINGS) },
};

/** Imports in the engine that no room should have. Each goes when its code is changed: none may be added. */
const EXCEPTIONS = [
  // What a question shows of used objects is a type of the contract.
  "observe/uses/used -> handler/contract",
  // Reports name children by the types of those who watch them, where the reconcile's report could have its own.
  "report/teller -> observe/news",
  "report/teller -> observe/ownership",
  // The scrubber takes whole outcomes and questions apart, where it could be given texts.
  "secrets/scrubber -> reconcile/report",
  // The rules know the news, of which `observe` emits most.
  "when/rules -> observe/news",
  "when/wakeups -> observe/news",
];

/** The files through which others use the engine, and what else of it they import. */
const DOORS = [
  { door: "runtime/program", users: ["components", "preflight"], also: [], exceptions: [] },
  {
    door: "runtime/cli",
    users: ["cli"],
    // The engine's vocabulary. The list of commands needs some of it, and must not load the whole engine.
    also: ["runtime/base"],
    // By the door, every command would load what only two run.
    exceptions: ["cli/local/runOperator.ts -> runtime/engine/engine"],
  },
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
const importsByFile = new Map(
  files.map((from) => [from, importsOf(from).map((of): Import => ({ from, of }))]),
);
const imports = [...importsByFile.values()].flat();

function within(file: string, ...folders: string[]): boolean {
  return folders.some((folder) => file === folder || file.startsWith(`${folder}/`));
}

/** "runtime/queue.ts -> components/manifests/platform/options", of what a rule forbids. */
function found(isForbidden: (each: Import) => boolean): string[] {
  return imports.filter(isForbidden).map(({ from, of }) => `${from} -> ${of}`);
}

function assertNone(isForbidden: (each: Import) => boolean): void {
  assert.deepEqual(found(isForbidden), []);
}

describe("arrows point one way:", () => {
  it("there are some", () => {
    assert.ok(imports.length > 500);
    assert.ok(found(({ from, of }) => within(from, "components") && within(of, "runtime")).length > 30);
    assert.ok(found(({ from, of }) => from === "index.ts" && of === PACKAGE_NAME).length === 1);
  });

  for (const [room, below] of Object.entries(ROOMS)) {
    it(`${room}/ imports no room but ${below.join(", ") || "itself"}`, () => {
      const others = [...FOLDERS, "handlers", "index"].filter(
        (other) => other !== room && !below.includes(other),
      );
      assertNone(({ from, of }) => within(from, room) && within(of, ...others));
    });
  }

  it("the rooms stand one above another", () => {
    const rank = (room: string) => FOLDERS.indexOf(room);
    const upward = Object.entries(ROOMS).filter(([room, below]) =>
      below.some((other) => rank(other) > rank(room)),
    );
    assert.deepEqual(upward, []);
  });

  for (const [house, rooms] of Object.entries(HOUSES)) {
    it(`each file of ${house}/ has a room, and each room has files`, () => {
      const used = files.filter((file) => within(file, house)).map((file) => roomIn(house, file));
      assert.deepEqual([...new Set(used)].sort(), Object.keys(rooms).sort());
    });

    it(`a room of ${house}/ imports no room but those that it may, which are below it`, () => {
      const forbidden = found(({ from, of }) => {
        const [room = "", other = ""] = [roomIn(house, from), roomIn(house, of)];
        return room !== "" && other !== "" && room !== other && !rooms[room]?.includes(other);
      });
      assert.deepEqual(
        forbidden.map((each) => each.replaceAll(`${house}/`, "").replace(".ts ->", " ->")).sort(),
        house === "runtime" ? [...EXCEPTIONS].sort() : [],
      );
      assert.ok(Math.max(...Object.keys(rooms).map((room) => heightOf(room, rooms))) <= 12);
    });
  }

  it("no command is made of another", () => {
    const commands = "cli/commands";
    assertNone(({ from, of }) => within(from, commands) && within(of, commands));
  });

  it("no file imports itself by way of others", () => {
    assert.deepEqual(cycles(), []);
  });

  it("the engine knows no Pulumi and no kubeconfig, and stays small", () => {
    const packages = ["@pulumi", "@kubernetes/client-node", "esbuild", "commander", "tsx", "yaml", "zod"];
    assertNone(({ from, of }) => within(from, "runtime") && within(of, ...packages));
  });

  it("what runs in a cluster reads no YAML and has no schemas of ours: those are an author's", () => {
    const reached = reachableFrom("runtime/programs/main.ts");
    assert.ok(reached.size > 30);
    assertNone(({ from, of }) => reached.has(from) && (of === "yaml" || of === "zod"));
  });

  it("an author's side knows of the engine what an operator is, and nothing above that", () => {
    assertNone(
      ({ from, of }) =>
        within(from, "definition") &&
        within(of, "runtime") &&
        !within(of, "runtime/base", "runtime/operator"),
    );
    assert.ok(found(({ from, of }) => within(from, "definition") && within(of, "runtime")).length > 10);
  });

  it("an author's side knows no Pulumi: its files are read in programs and in commands alike", () => {
    assertNone(({ from, of }) => within(from, "definition") && within(of, "@pulumi"));
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

  for (const { door, users, also, exceptions } of DOORS) {
    it(`${door}.ts has all of the engine that ${users.join("/ and ")}/ use, and nothing else`, () => {
      const isUser = ({ from }: Import) => within(from, ...users);
      assert.deepEqual(
        found((each) => isUser(each) && within(each.of, "runtime") && !within(each.of, door, ...also)),
        exceptions,
      );
      const exported = namesIn(`${door}.ts`);
      assert.ok(exported.length > 30);
      const used = new Set(
        imports.filter((each) => isUser(each) && each.of === door).flatMap(({ from }) => namesIn(from)),
      );
      assert.deepEqual(
        exported.filter((name) => !used.has(name)),
        [],
      );
    });
  }

  it("a chaos run knows the engine and definitions, and nothing above them", () => {
    const above = ["components", "program", "examples", "cli", "tools/bench", "tests", "index"];
    const waiting = "cli/common/until";
    assertNone(({ from, of }) => within(from, "tools/chaos") && within(of, ...above) && of !== waiting);
  });

  it("the package is built without this repository's program, its handlers and its tools", () => {
    const outside = ["index", "program", "handlers", "tools", "tests", "bench", "chaos"];
    const inside = ["components", "runtime", "cli/render", "cli/dev", "cli/scene"];
    assertNone(({ from, of }) => within(from, ...inside) && within(of, ...outside));
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
      .map((name) => name.trim().replace(/^type | as \w+$/g, ""))
      .filter((name) => name !== ""),
  );
}

/** The room of a file: "programs/run" of "runtime/programs/run/waiting.ts". Undefined for files of other folders. */
function roomIn(house: string, file: string): string | undefined {
  if (!within(file, house)) return undefined;
  const place = path.relative(house, file).replace(/\.ts$/, "");
  return Object.keys(HOUSES[house] ?? {})
    .filter((room) => room === "/" || within(place, room))
    .sort((one, other) => other.length - one.length)[0];
}

/** The number of layers from a room down to the lowest. It ends only if no room is above itself. */
function heightOf(room: string, rooms: Rooms): number {
  const names = Object.keys(rooms);
  return (
    1 +
    Math.max(
      0,
      ...(rooms[room] ?? []).map((below) => {
        assert.ok(names.indexOf(below) < names.indexOf(room), `${below} is not below ${room}`);
        return heightOf(below, rooms);
      }),
    )
  );
}

/** Files that import each other in a circle, as "a.ts -> b.ts -> a.ts". */
function cycles(): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(" -> "));
    if (done.has(file) || !importsByFile.has(file)) return;
    done.add(file);
    for (const { of } of importsByFile.get(file) ?? [])
      visit(importedFile(of, importsByFile) ?? of, [...way, file]);
  };
  for (const file of files) visit(file, []);
  return found;
}

/** A file and all files of the project that it needs. */
function reachableFrom(start: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const queue = [start];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    const itsImports = importsByFile.get(file);
    if (reached.has(file) || !itsImports) continue;
    reached.add(file);
    queue.push(...itsImports.map(({ of }) => importedFile(of, importsByFile) ?? of));
  }
  return reached;
}
