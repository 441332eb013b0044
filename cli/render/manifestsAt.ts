import { execFile } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { displayPath } from "../../definition/problems";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { asCommandError, CommandError } from "../commandError";
import { isProject } from "../project";
import { scratchFolder } from "../scratchFolder";
import { progress } from "../terminal";

const run = promisify(execFile);

/**
 * The manifests of the program at a git ref. The files of the whole repository at this ref are in a temporary folder. There, the
 * program and each folder above it have today's node_modules: those of an npm workspace belong to a folder above. The repository
 * and its working tree do not change.
 *
 * @param root the program's folder: that of the repository, or one within it
 * @param ref a branch, a tag, a commit, or anything else that git takes for one: "HEAD~1"
 * @param render returns the manifests of the program in a folder
 * @returns what `render` returns. None if there was no program in this folder yet. This is said on standard error, because a
 * program that was elsewhere is not compared
 * @throws CommandError if there is no git or no repository, if the ref is not known, or if `render` throws what its user can
 * correct. Then the message names files as git does: "v1.0:handlers/memcached/operator.yaml"
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
  const copyOf = (folder: string) => path.join(temporary, path.relative(path.parse(folder).root, folder));
  try {
    await writeFiles(repository, commit, copyOf(repository));
    if (!isProject(copyOf(program))) {
      progress(`${ref} has no program in ${displayPath(program)}, so everything is new.`);
      return [];
    }
    for (const folder of andAbove(program)) linkModules(folder, copyOf(folder));
    return await render(copyOf(program));
  } catch (error) {
    throw asErrorAt(error, ref, copyOf(repository));
  } finally {
    remove();
  }
}

/** A folder and all folders above it. */
function andAbove(folder: string): string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [folder, ...andAbove(above)];
}

function linkModules(folder: string, copy: string): void {
  const [modules, link] = [folder, copy].map((each) => path.join(each, "node_modules")) as [string, string];
  // A repository may contain its packages.
  if (existsSync(modules) && !existsSync(link)) symlinkSync(realpathSync(modules), link, "dir");
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
  return new CommandError(`The program at ${ref} fails. ${advice}\n${problems}`, 1, { cause: error });
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
async function writeFiles(repository: string, commit: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const archive = path.join(folder, ".argosy.tar");
  await git(repository, ["archive", "--format=tar", `--output=${archive}`, commit]);
  await run("tar", ["-xf", archive, "-C", folder]);
  rmSync(archive);
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
