import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_NAME } from "../components/package";
import { importedFile, importsOf } from "./fileGraph";
import { PACKAGE_FOLDER } from "./packageFolder";

/** Every process of tests loads the files that it names. */
const MOCHA_CONFIG = ".mocharc.json";
/** What else every process depends on. */
const LOADED_BY_ALL = ["package.json", "package-lock.json", "tsconfig.json"];
/** What the package's name means in this repository. */
const PACKAGE_ENTRY = "components/index.ts";
/** What runs here. Templates are only copied. */
const CODE = /^(?!templates\/).*\.(ts|mjs|cjs|js)$/;
/** A string that is nothing but a path, and is not imported. An option's name, or in a template a folder, may come before it. */
const PATH = /(?<!from |import\(|require\()"(?:--[\w-]+=)?([\w@./-]+)"|`(?:\$\{\w+\}\/)?([\w@./-]+)`/g;
const COMMENT_LINES = /^\s*(?:\/\/|\/?\*).*$/gm;
/** A test asks git or the folder itself which files there are, compiles types, or lints. */
const READS_ALL = /"ls-files"|readdirSync\((?:ROOT|PROJECT)\)|\bcreate(?:Incremental)?Program\(|@biomejs/;
/** Packs the package. It has nothing of the folders. */
const PACKING = "tests/package/packedPackage.ts";
const NOT_PACKED = /^(tests|docs)\//;
/** Types are gone when code runs. The type check reads all. */
const TYPE_IMPORTS = /^(?:import|export) type [^;]*? from "[^"]+";/gm;

/** The files that differ from the last commit or that git does not track. Undefined if git cannot say. */
export function changedFiles(folder: string = PACKAGE_FOLDER): string[] | undefined {
  // Without the detection of renames, a former name is among them. A file may still import it.
  const lines = gitPaths(folder, "status", "--porcelain", "--untracked-files=all", "--no-renames");
  return lines?.map((line) => line.slice("XY ".length));
}

/** Which files use which. */
export interface FileUsers {
  /** The users of each file that has some. */
  readonly of: ReadonlyMap<string, readonly string[]>;
  /** The files of tests that read the whole repository. */
  readonly ofAll: readonly string[];
}

/**
 * Reads who uses a file: a file that imports it, or that has its path or the path of a folder above it as a string.
 *
 * @param changed further files, if git does not know them or if they are gone
 */
export function readFileUsers(changed: readonly string[]): FileUsers {
  const known = gitPaths(PACKAGE_FOLDER, "ls-files", "--cached", "--others", "--exclude-standard") ?? [];
  const files = new Set([...known, ...changed]);
  const filesBelow = filesByFolder(files);
  const of = new Map<string, string[]>();
  const ofAll: string[] = [];
  for (const file of files) {
    if (!CODE.test(file) || !existsSync(path.join(PACKAGE_FOLDER, file))) continue;
    const text = readFileSync(path.join(PACKAGE_FOLDER, file), "utf8");
    if (file.startsWith("tests/") && READS_ALL.test(text)) ofAll.push(file);
    const imported = importsOf(file, text.replace(TYPE_IMPORTS, "")).flatMap((each) => {
      // The name in the folder is known only when it is imported.
      if (each.endsWith("/")) return filesBelow.get(each.slice(0, -1)) ?? [];
      return each === PACKAGE_NAME ? PACKAGE_ENTRY : (importedFile(each, files) ?? each);
    });
    const named = pathsIn(text, file).flatMap((each) => filesBelow.get(each) ?? []);
    for (const used of new Set([...imported, ...named])) {
      const users = of.get(used);
      if (users) users.push(file);
      else of.set(used, [file]);
    }
  }
  return { of, ofAll };
}

/** The test files that a change can reach. */
export interface AffectedTests {
  /** First those that use a changed file directly: they say soonest what is wrong with it. */
  readonly tests: readonly string[];
  /** The changed file because of which these are all. */
  readonly reachesAll?: string;
}

/**
 * The test files that a change can reach: those that use a changed file, directly or not, and those that read the whole
 * repository. A change reaches all if every process of tests loads the file, or if no test is known to use it.
 *
 * @param changed files, by their paths from the package's folder
 * @param tests all test files
 */
export function affectedTests(
  changed: readonly string[],
  tests: readonly string[],
  users = readFileUsers(changed),
): AffectedTests {
  const config = readFileSync(path.join(PACKAGE_FOLDER, MOCHA_CONFIG), "utf8");
  const loadedByAll = new Set([...LOADED_BY_ALL, MOCHA_CONFIG, ...pathsIn(config, MOCHA_CONFIG)]);
  const affected = reachedFrom(users.ofAll, users);
  if (changed.every((file) => NOT_PACKED.test(file)))
    for (const user of reachedFrom([PACKING], users)) affected.delete(user);
  for (const file of changed) {
    const reached = reachedFrom([file], users);
    if (loadedByAll.has(file) || !tests.some((test) => reached.has(test))) return { tests, reachesAll: file };
    for (const each of reached) affected.add(each);
  }
  const direct = new Set(changed.flatMap((file) => [file, ...(users.of.get(file) ?? [])]));
  const reached = tests.filter((test) => affected.has(test));
  return { tests: reached.sort((a, b) => Number(direct.has(b)) - Number(direct.has(a))) };
}

/**
 * The paths in a file's strings, as seen from the package's folder and from the file's own. A single word is one only in tests and
 * tools, because elsewhere it may mean anything. Only tests read tests.
 */
function pathsIn(text: string, file: string): string[] {
  const isProduct = !/^(tests|tools)\//.test(file);
  return [...text.replace(COMMENT_LINES, "").matchAll(PATH)]
    .map(([, literal, template]) => (literal ?? template ?? "").replace(/\/$/, ""))
    .filter((found) => /\w/.test(found) && (!isProduct || /[./]/.test(found)))
    .flatMap((found) => [path.normalize(found), path.join(path.dirname(file), found)])
    .filter((found) => !found.startsWith("tests") || file.startsWith("tests/") || file === MOCHA_CONFIG);
}

/** Each file, also without its ending, and each folder, with the files that it stands for. */
function filesByFolder(files: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const add = (name: string, file: string) => {
    const below = found.get(name);
    if (below) below.push(file);
    else found.set(name, [file]);
  };
  for (const file of files) {
    add(file, file);
    if (file.endsWith(".ts")) add(file.slice(0, -".ts".length), file);
    // Their names are made of the stacks'.
    if (/^Pulumi\.\w+\.yaml$/.test(file)) add("Pulumi.yaml", file);
    for (let folder = path.dirname(file); folder !== "."; folder = path.dirname(folder)) add(folder, file);
  }
  return found;
}

/** Files, and everything that these reach by their users. */
function reachedFrom(start: readonly string[], { of }: FileUsers): Set<string> {
  const reached = new Set(start);
  // The iteration over a set includes elements that are added during it.
  for (const file of reached) for (const user of of.get(file) ?? []) reached.add(user);
  return reached;
}

/** What git prints of the repository in a folder, path by path. Undefined if there is no git, or no repository. */
function gitPaths(folder: string, ...args: readonly string[]): string[] | undefined {
  try {
    return execFileSync("git", [...args, "-z"], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      maxBuffer: 2 ** 26,
    })
      .split("\0")
      .slice(0, -1);
  } catch {
    return undefined;
  }
}
