import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { installProgram, installProgramAt } from "../../../tools/installProgram";
import { PROJECT } from "./projectCopy";

const run = promisify(execFile);

/** Names the revision that is upgraded from, where it shall not be the newest tag. Or a tarball of the package, as a release has it. */
const FROM = "ARGOSY_E2E_FROM";

/** The folders that the package is built from. */
const SOURCES = ["components", "definition", "preflight", "runtime"];

/** A program of an older version. */
export interface OlderProgram {
  /** The revision, or the tarball. */
  readonly name: string;
  /** Installs it in a folder, which is created. */
  install(folder: string): void;
}

/**
 * The program to upgrade from: that of {@link olderRevision}, or this program with an older package, if {@link FROM} names a tarball:
 * a user's program that stays as it is. Undefined where there is none.
 */
export async function olderProgram(): Promise<OlderProgram | undefined> {
  const given = process.env[FROM];
  if (given?.endsWith(".tgz")) {
    const tarball = path.resolve(given);
    return { name: tarball, install: (folder) => installProgram(PROJECT, folder, tarball) };
  }
  const name = await olderRevision();
  return name === undefined
    ? undefined
    : { name, install: (folder) => installProgramAt(name, PROJECT, folder) };
}

/**
 * The revision to upgrade from: what {@link FROM} says, else the newest tag before this commit, else the commit before
 * the one that last changed the package. Undefined where git's history lacks it: a shallow clone, or no clone at all.
 */
async function olderRevision(): Promise<string | undefined> {
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
