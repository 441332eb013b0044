import { type FSWatcher, lstatSync, readdirSync, realpathSync, statSync, watch } from "node:fs";
import path from "node:path";
import { displayPath } from "../../definition/problems";

/** Files of editors, interpreters and file systems, and files that only tests read. */
const IGNORED = [
  /^\./,
  /~$/,
  /\.(swp|swx|tmp|pyc)$/,
  /^#.*#$/,
  /^4913$/,
  /^(__pycache__|node_modules|fixtures)$/,
];

/**
 * Whether a change of this file, relative to the watched folder, does not affect an operator.
 * @param but names that count nevertheless.
 * @default none
 */
export function isIgnored(file: string, but: readonly string[] = []): boolean {
  return file
    .split(path.sep)
    .some((part) => !but.includes(part) && IGNORED.some((pattern) => pattern.test(part)));
}

/** The options of a {@link FolderWatch}. */
export interface FolderWatchOptions {
  /** Called once, with a remedy, if the system does not watch any more folders, so that edits may not be noticed. */
  readonly onBlind: (notice: string) => void;
  /** Names of folders that count, although edits in them usually do not matter. @default none */
  readonly but?: readonly string[];
}

/** A save is several events within a few milliseconds; a copied folder is many files. */
const QUIET_MS = 150;

/**
 * Watches a folder and everything in it, also behind links. Reports changed files after a short quiet time. If the folder itself
 * is removed and made again, or what is behind a link, then the folder or the link is what has changed.
 *
 * It does not use chokidar. If a folder is replaced by another one at once, as `git checkout` may do, chokidar 5 follows the old
 * folder, and an author's edits no longer count. Node's own recursive watch polls on Linux.
 */
export class FolderWatch {
  /** One for each folder. */
  private readonly watchers = new Map<string, FSWatcher>();
  /** Those of the folders above, which see the watched folder itself, and what is behind links, come and go. */
  private readonly above = new Map<string, FSWatcher>();
  private readonly changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private isBlind = false;

  /** @param onChange receives the changed files' absolute paths */
  constructor(
    private readonly root: string,
    private readonly onChange: (files: readonly string[]) => void,
    private readonly options: FolderWatchOptions,
  ) {
    this.watchAbove(root, root);
    this.take(root);
  }

  /** Ends the watch. */
  close(): void {
    clearTimeout(this.timer);
    for (const watcher of [...this.above.values(), ...this.watchers.values()]) watcher.close();
  }

  /** @param place where the file or the folder is: its own path, or the one to which a link leads */
  private watchAbove(file: string, place: string): void {
    const key = `${file} is ${place}`;
    if (this.above.has(key)) return;
    const { dir, base } = path.parse(place);
    const come = (_event: string, name: string | null) => {
      if (name === base) this.note(file);
    };
    try {
      const watcher = watch(dir, come);
      watcher.on("error", () => {});
      this.above.set(key, watcher);
    } catch (error) {
      // A folder that cannot be watched may be unreadable.
      this.sayIfBlind(dir, error);
    }
  }

  /** Watches a folder, or what is behind a link. */
  private take(file: string): void {
    const place = placeOfLink(file);
    if (place !== undefined) this.watchAbove(file, place);
    if (isFolderBelow(this.root, file)) this.follow(file);
  }

  private follow(folder: string): void {
    if (this.watchers.has(folder)) return;
    try {
      const watcher = watch(folder, (_event, name) => this.note(path.join(folder, name ?? "")));
      watcher.on("error", () => this.leave(folder));
      this.watchers.set(folder, watcher);
      for (const name of readdirSync(folder)) {
        const inner = path.join(folder, name);
        if (!isIgnored(path.relative(this.root, inner), this.options.but)) this.take(inner);
      }
    } catch (error) {
      // Otherwise it is already gone again.
      this.sayIfBlind(folder, error);
      this.leave(folder);
    }
  }

  private sayIfBlind(folder: string, error: unknown): void {
    const lacking = lackingFor(error);
    if (lacking === undefined || this.isBlind) return;
    this.isBlind = true;
    this.options.onBlind(
      `Edits in ${displayPath(folder)}, and perhaps in other folders, are not noticed: ${lacking}`,
    );
  }

  /** Leaves a folder and all in it. */
  private leave(folder: string): void {
    for (const [each, watcher] of this.watchers) {
      if (each !== folder && !each.startsWith(folder + path.sep)) continue;
      watcher.close();
      this.watchers.delete(each);
    }
  }

  private note(file: string): void {
    if (isIgnored(path.relative(this.root, file), this.options.but)) return;
    this.changed.add(file);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(), QUIET_MS);
  }

  private tell(): void {
    const files = [...this.changed];
    this.changed.clear();
    // A watch stays with a folder that was moved away: a new one of the same name needs its own.
    for (const file of files) if (this.watchers.has(file)) this.leave(file);
    for (const file of files) this.take(file);
    this.onChange(files);
  }
}

/**
 * The limits that editors use up too. Linux has one of its own for each user (inotify(7)); elsewhere a watch is an open file.
 */
const LIMITS: Readonly<Record<string, { readonly name: string; readonly command: string }>> = {
  ENOSPC: { name: "inotify watches", command: "sudo sysctl fs.inotify.max_user_watches=1048576" },
  EMFILE:
    process.platform === "linux"
      ? { name: "inotify instances", command: "sudo sysctl fs.inotify.max_user_instances=1024" }
      : { name: "open files", command: "ulimit -n 10240" },
};

/** What a system lacks that does not watch another folder, with the remedy. Undefined for any other error. */
function lackingFor(error: unknown): string | undefined {
  const limit = LIMITS[(error as NodeJS.ErrnoException).code ?? ""];
  return (
    limit &&
    `the system has no ${limit.name} left. Raise the limit, and start the command again: ${limit.command}`
  );
}

/** Where a link leads. Undefined if this is no link, or leads nowhere. */
function placeOfLink(file: string): string | undefined {
  try {
    return lstatSync(file).isSymbolicLink() ? realpathSync(file) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this is a folder, or a link to a folder that does not lead back up: to one of the folders on the way from the root. */
function isFolderBelow(root: string, inner: string): boolean {
  try {
    if (!statSync(inner).isDirectory()) return false;
    const real = realpathSync(inner);
    const steps = inner === root ? [] : path.relative(root, inner).split(path.sep);
    return steps.every((_, depth) => {
      const above = path.join(root, ...steps.slice(0, depth));
      return path.relative(real, realpathSync(above)).startsWith("..");
    });
  } catch {
    // It is gone again, or it leads nowhere.
    return false;
  }
}
