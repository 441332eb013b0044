import { execFile } from "node:child_process";
import { existsSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { definitionFile, signOfOperator } from "../../definition/definitionFile";
import { loadOperators } from "../../definition/loadOperators";
import { displayPath, OperatorError } from "../../definition/problems";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { CommandError } from "../commandError";
import { scratchFolder } from "../scratchFolder";

const run = promisify(execFile);

/**
 * The CustomResourceDefinitions of a program's operators at a git ref, as today's Argosy would install them. The files of the ref
 * are written to a temporary folder, with today's node_modules beside them, and its operators are loaded from there. The
 * repository and its working tree do not change.
 *
 * @param root - the program's folder: that of the repository, or one within it
 * @param ref - a branch, a tag, a commit, or anything else that git takes for one: "HEAD~1"
 * @param handlers - the folder of the operators, within the root
 * @returns the CRDs in the order of the operators' names. None if there were no operators yet
 * @throws CommandError if there is no git or no repository, if the ref is not known, or if its operators cannot be loaded
 */
export async function operatorsAt(root: string, ref: string, handlers = "handlers"): Promise<Manifest[]> {
  const commit = await resolve(root, ref);
  // Paths in git's answers are relative to the root, even if the root is a folder within a repository.
  const files = await git(root, ["ls-tree", "-r", "--name-only", commit, "--", `${handlers}/`]);
  if (files === "") return [];
  return folderAt(root, commit, (folder) => load(folder, handlers, ref));
}

/**
 * Runs a function on the program at a git ref. Its files are in a temporary folder, with today's node_modules beside them.
 *
 * @param root the program's folder
 * @throws CommandError if there is no git or no repository, or if the ref is not known
 */
export async function folderAt<T>(
  root: string,
  ref: string,
  action: (folder: string) => T | Promise<T>,
): Promise<T> {
  const commit = await resolve(root, ref);
  const { path: folder, remove } = scratchFolder("argosy-ref");
  try {
    await writeFiles(root, commit, folder);
    const modules = path.join(root, "node_modules");
    if (existsSync(modules)) symlinkSync(realpathSync(modules), path.join(folder, "node_modules"), "dir");
    return await action(folder);
  } finally {
    remove();
  }
}

async function resolve(root: string, ref: string): Promise<string> {
  if ((await attempt(root, ["rev-parse", "--git-dir"])) === undefined) {
    throw new CommandError(
      `${displayPath(root)} is not in a git repository, so there is no ref "${ref}" to compare with. Run it in a clone of the program's repository.`,
    );
  }
  const commit = await attempt(root, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${ref}^{commit}`,
  ]);
  if (commit !== undefined) return commit;
  throw new CommandError(
    `git knows no ref "${ref}" here. Give a branch, a tag or a commit of this clone. A shallow clone, as in CI, may have ` +
      `to fetch the ref first.`,
  );
}

/** This does not use `git worktree`, which would leave traces in the repository and run its hooks. */
async function writeFiles(root: string, commit: string, folder: string): Promise<void> {
  const archive = path.join(folder, ".argosy.tar");
  await git(root, ["archive", "--format=tar", `--output=${archive}`, commit]);
  await run("tar", ["-xf", archive, "-C", folder]);
  rmSync(archive);
}

function load(folder: string, handlers: string, ref: string): Manifest[] {
  const handlersFolder = path.join(folder, handlers);
  const folders = readdirSync(handlersFolder).map((name) => path.join(handlersFolder, name));
  // If there are operators from before operator.yaml existed, "no operators" would be wrong.
  if (!folders.some((each) => existsSync(definitionFile(each)) || signOfOperator(each))) return [];
  try {
    return loadOperators(handlersFolder)
      .filter(({ watch }) => !watch)
      .map(buildCustomResourceDefinition);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    // The names that git uses for files of a ref: "v1.0:handlers/memcached/operator.yaml".
    const here = `${displayPath(folder)}${path.sep}`;
    const problems = error.problems.map((problem) => problem.replaceAll(here, `${ref}:`));
    throw new CommandError(
      [`The operators at ${ref} cannot be loaded. Compare with a later ref.`, ...problems].join("\n"),
      1,
      { cause: error },
    );
  }
}

/** What git prints, or undefined if it refuses. */
async function attempt(root: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return await git(root, args);
  } catch (error) {
    if (typeof (error as { code?: unknown }).code === "number") return undefined;
    throw error;
  }
}

async function git(root: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run("git", ["-C", root, ...args], { maxBuffer: 64 * 2 ** 20 });
    return stdout.trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const message = "git is not installed. Install it, because a comparison with a ref needs it.";
    throw new CommandError(message, 1, { cause: error });
  }
}
