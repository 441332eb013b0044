import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PROJECT } from "./projectCopy";

const run = promisify(execFile);

/** Names the revision that is upgraded from, where it shall not be the newest tag. */
const FROM = "ARGOSY_E2E_FROM";

/** The folders that the package is built from. */
const SOURCES = ["components", "definition", "preflight", "runtime"];

/**
 * The revision to upgrade from: what {@link FROM} says, else the newest tag before this commit, else the commit before
 * the one that last changed the package. Undefined where git's history lacks it: a shallow clone, or no clone at all.
 */
export async function olderRevision(): Promise<string | undefined> {
  const given = process.env[FROM];
  if (given) return commitOf(given);
  const tag = await git("describe", "--tags", "--abbrev=0", "HEAD^");
  if (tag) return commitOf(tag);
  const last = await git("log", "-1", "--format=%H", "--", ...SOURCES);
  return last === undefined ? undefined : commitOf(`${last}^`);
}

function commitOf(revision: string): Promise<string | undefined> {
  return git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`);
}

async function git(...args: string[]): Promise<string | undefined> {
  try {
    return (await run("git", args, { cwd: PROJECT })).stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
