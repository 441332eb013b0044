import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A folder for temporary files. */
export interface ScratchFolder {
  /** Its path, without symbolic links. */
  readonly path: string;
  /** Removes it with all in it. */
  remove(): void;
}

/**
 * Creates a folder for temporary files, which only its owner can open, whatever the umask is. It is removed at the latest when
 * this process exits.
 * @param name the beginning of its name
 */
export function scratchFolder(name: string): ScratchFolder {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), `${name}-`)));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  return {
    path: folder,
    remove: () => {
      process.off("exit", remove);
      remove();
    },
  };
}
