import { lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { foldersAbove } from "../../definition/foldersAbove";

/** @see writeNewFiles */
export interface NewFilesOptions {
  /** The mode of the files. @default what the user's umask leaves */
  readonly mode?: number;
}

/**
 * Writes files that do not exist, with their folders: all of them, or none if one cannot be written, as on a disk that is full.
 *
 * @param folder the folder that the files' names are relative to. It is created if it does not exist
 * @throws the system's error, with the file as its `path`
 */
export function writeNewFiles(
  folder: string,
  files: Iterable<readonly [file: string, content: string | Uint8Array]>,
  { mode }: NewFilesOptions = {},
): void {
  const made: string[] = [];
  for (const [file, content] of files) {
    const target = path.join(folder, file);
    try {
      const parent = path.dirname(target);
      // Before the folders are made: if that fails half-way, the error does not say which were made.
      const firstFolder = foldersAbove(parent).findLast(
        (each) => !lstatSync(each, { throwIfNoEntry: false }),
      );
      if (firstFolder !== undefined) made.push(firstFolder);
      mkdirSync(parent, { recursive: true });
      writeFileSync(target, content, { flag: "wx", ...(mode !== undefined && { mode }) });
      made.push(target);
    } catch (error) {
      const { code, path: place = target } = error as NodeJS.ErrnoException;
      // An existing file is not ours to remove.
      if (code !== "EEXIST") made.push(target);
      for (const each of made) rmSync(each, { recursive: true, force: true });
      // The error of a write names no file.
      throw Object.assign(error as Error, { path: place });
    }
  }
}
