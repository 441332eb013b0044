import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { realPath } from "./realPath";

/**
 * Writes a user's file as a whole or not at all: a disk that is full, or an end of this process, leaves the old file as it was.
 * The file keeps its mode and its owner. If it is a symbolic link, the file behind it is written. If it does not exist, or if it is
 * a link that leads nowhere, it is created. Its folder must be writable too.
 * @throws the system's error, with the file as its `path`, or with its folder if that takes no new file
 */
export function rewriteFile(file: string, text: string): void {
  const target = realPath(file);
  const { dir, base } = path.parse(target);
  // A watch of the folder ignores such a name.
  const next = path.join(dir, `.${base}.${process.pid}.tmp`);
  try {
    const former = statSync(target, { throwIfNoEntry: false });
    // A rename would replace even a read-only file.
    if (former) accessSync(target, constants.W_OK);
    // No other user may read the text before the new file has the mode of the old one.
    writeFileSync(next, text, former && { mode: 0o600 });
    if (former) adopt(next, former);
    renameSync(next, target);
  } catch (error) {
    rmSync(next, { force: true });
    const { code, syscall } = error as NodeJS.ErrnoException;
    // We may not create the new file in the folder. The error of a write names no file.
    const isOfFolder = code === "EACCES" && syscall === "open";
    throw Object.assign(error as Error, { path: isOfFolder ? dir : file });
  }
}

/** Gives a new file the mode and the owner of the one that it replaces. */
function adopt(next: string, former: Stats): void {
  const { uid, gid } = statSync(next);
  if (uid !== former.uid || gid !== former.gid) {
    try {
      chownSync(next, former.uid, former.gid);
    } catch {
      // Only root may give a file to another user.
    }
  }
  // Only now, because a change of the owner takes bits away.
  chmodSync(next, former.mode & 0o7777);
}
