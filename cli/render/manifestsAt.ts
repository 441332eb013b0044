import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { foldersAbove } from "../../definition/foldersAbove";
import { displayPath } from "../../definition/problems";
import { isRecord } from "../../runtime/base/json";
import type { Manifest } from "../../runtime/base/objects";
import { asCommandError, CommandError } from "../common/commandError";
import { isProject } from "../common/project";
import { scratchFolder } from "../common/scratchFolder";
import { indent, lastLines, progress } from "../common/terminal";

const run = promisify(execFile);

/**
 * The manifests of the program at a git ref. The files of the whole repository at this ref are in a temporary folder. There, the
 * program and each folder above it have today's node_modules: those of an npm workspace belong to a folder above. A package of the
 * workspace itself is that of the ref if git has the files by which it is loaded. Otherwise it is today's, and this is said on
 * standard error. The repository and its working tree do not change.
 *
 * @param root the program's folder: that of the repository, or one within it
 * @param ref a branch, a tag, a commit, or anything else that git takes for one: "HEAD~1"
 * @param render returns the manifests of the program in a folder
 * @returns what `render` returns. None if there was no program in this folder yet. This is said on standard error, because a
 * program that was elsewhere is not compared
 * @throws CommandError if there is no git or no repository, if git refuses, if the ref is not known, or if `render` throws what its
 * user can correct. Then the message names files as git does: "v1.0:handlers/memcached/operator.yaml"
 */
export async function manifestsAt(
  root: string,
  ref: string,
  render: (folder: string) => Promise<Manifest[]>,
): Promise<Manifest[]> {
  const commit = await resolve(root, ref);
  const repository = await git(root, ["rev-parse", "--show-toplevel"]);
  const program = realpathSync(root);
  const { path: temporary, remove } = scratchFolder("argosy-ref");
  const copy: Copy = {
    repository,
    of: (place) => path.join(temporary, path.relative(path.parse(place).root, place)),
  };
  try {
    await writeFiles(repository, commit, copy.of(repository), path.join(temporary, ".argosy-index"));
    if (!isProject(copy.of(program))) {
      progress(`${ref} has no program in ${displayPath(program)}, so everything is new.`);
      return [];
    }
    const unlike = new Set(foldersAbove(program).flatMap((folder) => linkModules(folder, copy)));
    if (unlike.size > 0)
      progress(
        `${ref} lacks files of ${[...unlike].join(", ")}, which git ignores or keeps in a submodule. Today's files are used ` +
          "instead, so their changes are not compared.",
      );
    return await render(copy.of(program)).catch((error: unknown) => {
      throw asErrorAt(error, ref, copy.of(repository));
    });
  } finally {
    remove();
  }
}

/** The files of a ref, in a temporary folder. */
interface Copy {
  /** The repository's folder, without symbolic links. */
  readonly repository: string;
  /** Where the file or folder of this path has its copy. */
  of(place: string): string;
}

/**
 * Gives the copy of a folder today's node_modules, as links. A package that is a folder of the repository, as in an npm workspace,
 * is a part of the program: its link leads to the copy, which has node_modules of its own, if the copy can be loaded.
 *
 * @returns the packages of the repository whose copy cannot be loaded
 */
function linkModules(folder: string, copy: Copy): string[] {
  const modules = path.join(folder, "node_modules");
  // A repository may contain its packages.
  if (!existsSync(modules) || existsSync(copy.of(modules))) return [];
  return packagesIn(modules).flatMap((name) => {
    const [place, link] = [realpathSync(path.join(modules, name)), path.join(copy.of(modules), name)];
    const isInRef = isSource(place, copy.repository) && existsSync(copy.of(place));
    const isOfRef = isInRef && isLoadable(copy.of(place), place);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(isOfRef ? copy.of(place) : place, link);
    if (isOfRef) return linkModules(place, copy);
    return isInRef ? [name] : [];
  });
}

/** Whether the copy of a package has all files and folders by which it is loaded, as far as the package has them today. */
function isLoadable(copy: string, today: string): boolean {
  const files = ["package.json", ...entriesOf(path.join(copy, "package.json"))];
  return files
    .flatMap((file) => [file, path.dirname(file)])
    .every((place) => existsSync(path.join(copy, place)) || !existsSync(path.join(today, place)));
}

/** The files that `main` and `exports` of a package.json name, for whatever condition. */
function entriesOf(file: string): string[] {
  if (!existsSync(file)) return [];
  const content = parsed(readFileSync(file, "utf8"));
  return isRecord(content) ? textsIn([content.main, content.exports]) : [];
}

/** The value of a JSON text. Undefined if it is not JSON, which is reported when the package is loaded. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The packages in a folder of node_modules, also those of scopes: "@acme/operators". */
function packagesIn(modules: string): string[] {
  return readdirSync(modules)
    .flatMap((name) =>
      name.startsWith("@")
        ? readdirSync(path.join(modules, name)).map((each) => path.join(name, each))
        : name,
    )
    .filter((name) => existsSync(path.join(modules, name)));
}

/** Whether a folder belongs to a repository, and not to the packages that are installed in it. */
function isSource(folder: string, repository: string): boolean {
  const steps = path.relative(repository, folder).split(path.sep);
  return steps[0] !== ".." && !steps.includes("node_modules");
}

/** The copy of the repository no longer exists when the user reads the message. */
function asErrorAt(error: unknown, ref: string, repository: string): unknown {
  const foreseen = asCommandError(error);
  if (!(foreseen instanceof CommandError)) return foreseen;
  const problems = [displayPath(repository), repository].reduce(
    (text, place) => text.replaceAll(`${place}${path.sep}`, `${ref}:`).replaceAll(place, ref),
    foreseen.message,
  );
  const advice = "Compare with a later ref, or install the packages that it needs.";
  return new CommandError(`The program at ${ref} fails. ${advice}\n${problems}`, { cause: error });
}

async function resolve(root: string, ref: string): Promise<string> {
  await git(root, ["rev-parse", "--git-dir"]).catch((error: unknown) => {
    if (!(error instanceof GitRefusal && error.words.includes("not a git repository"))) throw error;
    throw new CommandError(
      `${displayPath(root)} is not in a git repository, so there is no ref "${ref}" to compare with. Run it in a clone of the program's repository.`,
    );
  });
  const options = ["--verify", "--quiet", "--end-of-options", `${ref}^{commit}`];
  return await git(root, ["rev-parse", ...options]).catch((error: unknown) => {
    // It is quiet only about a ref that it does not know.
    if (!(error instanceof GitRefusal && error.words === "")) throw error;
    throw new CommandError(
      `git knows no ref "${ref}" here. Give a branch, a tag or a commit of this clone. A shallow clone, as in CI, may have ` +
        `to fetch the ref first.`,
    );
  });
}

/**
 * Writes all files of a commit. This does not use `git worktree`, which would leave traces in the repository and run its hooks, and
 * not `git archive`, which leaves out files that .gitattributes excludes from a release.
 * @param index where git may note the files while it writes them
 */
async function writeFiles(repository: string, commit: string, folder: string, index: string): Promise<void> {
  const variables = { GIT_INDEX_FILE: index };
  await git(repository, ["read-tree", "--no-sparse-checkout", commit], variables);
  await git(repository, ["checkout-index", "--all", `--prefix=${folder}${path.sep}`], variables);
}

/** The lines of git's last words that are shown: it may add a remedy. */
const WORDS_SHOWN = 6;

/** git did not do what was asked. */
class GitRefusal extends CommandError {
  constructor(
    command: string,
    /** Its own words. */
    readonly words: string,
    options: ErrorOptions,
  ) {
    super(`git ${command} failed:\n${indent(lastLines(words, WORDS_SHOWN), "  ")}`, options);
  }
}

/** What git prints. @throws GitRefusal, CommandError if there is no git */
async function git(
  root: string,
  args: readonly [command: string, ...options: string[]],
  variables: NodeJS.ProcessEnv = {},
): Promise<string> {
  // Its words are understood in one language only.
  const env = { ...process.env, LC_ALL: "C", ...variables };
  try {
    const { stdout } = await run("git", ["-C", root, ...args], { env });
    return stdout.trim();
  } catch (error) {
    const { code, stderr = "" } = error as NodeJS.ErrnoException & { readonly stderr?: string };
    const options = { cause: error };
    if (typeof code === "number") throw new GitRefusal(args[0], stderr.trim(), options);
    if (code !== "ENOENT") throw error;
    const message = "git is not installed. Install it, because a comparison with a ref needs it.";
    throw new CommandError(message, options);
  }
}
